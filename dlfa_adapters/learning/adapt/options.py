"""The options of domain adaptation: which text, what is hidden of it, and what of the encoder learns from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.data.places import Reading, check_encoder_name, check_languages, check_source, each_place
from dlfa_adapters.fusion.options import Option, check_values, no_such_option, options_of
from dlfa_adapters.ground.errors import ConfigError, DataError, as_config_error
from dlfa_adapters.learning.checks import LANGUAGE_RECORD, check_training
from dlfa_adapters.learning.loops import LANGUAGE
from dlfa_adapters.learning.ranges import check_steps
from dlfa_adapters.learning.settings import Settings, make_settings
from dlfa_adapters.runs.lifecycle import check_training_place
from dlfa_adapters.scores.groups import check_each_once
from dlfa_adapters.tuning import get_tuning

ADAPTED = "adapted.json"
"""What an adapted encoder's folder is known by: `encoders.adapted.RECORD`."""

ADAPTER = "adapter"
"""What learns where the encoder stays as it is: an adapter for `--tuning stack`, in the form of a language's."""

SETTINGS = LANGUAGE.honours
"""The fields of `Settings` that an adaptation has; those of a language adapter's training."""


@dataclass(frozen=True, kw_only=True)
class AdaptOptions:
    """Text and what learns from it.

    Attributes:
        learns: What learns: `full`, `freeze:N`, `lora`, `lora:RANK` (added to the weights at the end), or `adapter`.
        languages: Languages of the text, such as en,de; default: all there are.
        split: The split of data that have some: `train`, `dev`, `test`.
        whole_words: Hide all pieces of a word or none of them.
        split_pairs: Read the two texts of a pair as two texts, as the paper did; default: pairs stay pairs.
        steps: Steps of the optimiser.
    """

    learns: str = "full"
    languages: str | None = None
    split: str = "train"
    whole_words: bool = False
    split_pairs: bool = False
    steps: int = 2000

    @property
    def is_adapter(self) -> bool:
        """Whether the encoder stays as it is."""
        return self.learns == ADAPTER

    @property
    def record(self) -> str:
        """The file by which its folder is known."""
        return LANGUAGE_RECORD if self.is_adapter else ADAPTED


def known_options() -> dict[str, Option]:
    """All options of an adaptation by name."""
    settings = Settings.known()
    return {**options_of(AdaptOptions), **{name: settings[name] for name in SETTINGS}}


def split_options(options: Mapping[str, Any]) -> tuple[AdaptOptions, dict[str, Any]]:
    """The options of adaptation, checked, and those of `Settings`, by name; None stands for what is left out.

    Raises:
        ConfigError: If there is no option of that name, or a value cannot work.
    """
    known = known_options()
    given = {name: value for name, value in options.items() if value is not None}
    if unknown := [name for name in given if name not in known]:
        raise ConfigError(no_such_option("An adaptation has no", unknown[0], known))
    own = {name: value for name, value in given.items() if name in options_of(AdaptOptions)}
    if isinstance(own.get("languages"), list | tuple):
        own["languages"] = ",".join(own["languages"])
    with as_config_error():
        check_values(AdaptOptions, own)
    adapt = AdaptOptions(**own)
    check_steps(adapt.steps)
    check_learns(adapt.learns)
    return adapt, {name: value for name, value in given.items() if name not in own}


def check_learns(learns: str) -> None:
    """Refuse, with a `ConfigError`, what cannot learn by masked language modelling and be an encoder afterwards."""
    if learns != ADAPTER and (learns.partition(":")[0] not in ("full", "freeze", "lora")):
        raise ConfigError(f"learns must be full, freeze:N, lora, lora:RANK or {ADAPTER}; got {learns!r}.")
    if learns != ADAPTER:
        get_tuning(learns)


def parse_options(given: list[str]) -> dict[str, Any]:
    """Options from `name=value`, as they are typed.

    Raises:
        ConfigError: If there is no such option, or a value cannot work.
    """
    known, options = known_options(), dict[str, Any]()
    for item in given:
        name, equals, text = item.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ConfigError(f"--adapt-option expects NAME=VALUE, got {item!r}; type e.g. --adapt-option steps=2000.")
        if name not in known:
            raise ConfigError(no_such_option("An adaptation has no", name, known))
        with as_config_error():
            options[name] = known[name].parse(text.strip())
    split_options(options)
    return options


def check_adaptation(
    source: Any, *, out: str | Path | None = None, model: str = "offline", **options: Any
) -> tuple[AdaptOptions, dict[str, Any]]:
    """Refuse what cannot work; see `adapt_encoder` for the arguments.

    Returns:
        As `split_options`.

    Raises:
        ConfigError: If an option has a value that cannot work, something stands where the encoder shall be, or there is
            no such encoder.
        DataError: If there is no such text.
    """
    task = options.pop("task", None)
    reading = Reading.taken_from(options)
    adapt, settings = split_options(options)
    make_settings(**settings)
    if source is None or not each_place(source):
        raise DataError("expected text to adapt to: a file, a folder, samples:NAME or hub:NAME")
    check_each_once(source if isinstance(source, Mapping) else (), "the text")
    for place in each_place(source):
        if not isinstance(place, str | Path):
            raise DataError("expected the place of some text: a file, a folder, samples:NAME or hub:NAME")
        check_source(place, adapt.split, reading.of(place).get("format"))
        if adapt.languages is not None:
            check_languages(place, task or "", adapt.split, [code.strip() for code in adapt.languages.split(",")])
    reading.check(each_place(source))
    check_encoder_name(model)
    if out is not None:
        check_training_place(Path(out), adapt.record)
    return adapt, settings


def check_adapted_training(
    task: str,
    *,
    adapt: Any,
    adapt_options: Mapping[str, Any],
    model: str = "offline",
    tuning: str | None = None,
    out: str | Path | None = None,
    **arguments: Any,
) -> None:
    """Refuse what cannot work; see `train_adapted` for the arguments.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If there are no such data.
    """
    check_training(task, model=model, tuning=tuning, out=out, **arguments)
    beside = None if out is None else Path(out).with_name(f"{Path(out).name}-adapted")
    options, _ = check_adaptation(adapt, task=task, model=model, out=beside, **adapt_options)
    if options.is_adapter and tuning is not None:
        raise ConfigError("--adapt-option learns=adapter is trained over with --tuning stack, so leave --tuning out.")
    if not options.is_adapter and re.match("stack:(?!unchecked:)", tuning or ""):
        raise ConfigError(
            f"The language adapter of --tuning {tuning} is of the encoder before --adapt, which changes it; adapt with "
            "--adapt-option learns=adapter and leave --tuning out, or train an adapter on what dlfa adapt wrote."
        )
