"""Several source languages: which are named, and how often each is drawn. Looked at before PyTorch is loaded."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from dlfa_adapters.learning.settings import StepOptions


_EMPTY = "source_weights must be weights by language, such as en=3,de=1; got {!r}."


def as_text(options: dict[str, Any]) -> dict[str, Any]:
    """Options in which `source_weights`, a text or a mapping from language to weight, is a text: `en=3,de=1`.

    Raises:
        ConfigError: If it is neither, a weight is no number above 0, or a language comes twice.
    """
    given = options.get("source_weights")
    if given is None:
        return options
    weights = dict(given) if isinstance(given, Mapping) else read_weights(given)
    if not weights:
        raise ConfigError(_EMPTY.format(given))
    return {
        **options,
        "source_weights": ",".join(f"{name}={_number(name, weight):.12g}" for name, weight in weights.items()),
    }


def read_weights(text: Any) -> dict[str, float]:
    """The weight of each language in `en=3,de=1`.

    Raises:
        ConfigError: If it is not of that form.
    """
    weights: dict[str, float] = {}
    for part in text.split(",") if isinstance(text, str) else ():
        name, _, weight = (each.strip() for each in part.partition("="))
        if name in weights:
            raise ConfigError(f"source_weights names {name} twice, got {text!r}.")
        weights[name] = _number(name, weight)
    if not weights:
        raise ConfigError(_EMPTY.format(text))
    return weights


def _number(name: str, weight: Any) -> float:
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = 0.0
    if not name or not 0 < number < float("inf"):
        raise ConfigError(
            f"source_weights must be numbers above 0 by language, such as en=3,de=1; got {name}={weight}."
        )
    return number


def named_languages(source: Any, language: str | None) -> list[str]:
    """The source languages that are named: those of a mapping, or with commas between them."""
    if isinstance(source, Mapping):
        return list(source)
    return list(dict.fromkeys(code for part in (language or "").split(",") if (code := part.strip())))


def check_sources(steps: "StepOptions", languages: Sequence[str]) -> None:
    """Refuse weights that are not those of the source languages that are named.

    Raises:
        ConfigError: If both weights and a temperature are given, there are no several sources, or a language has no
            weight or no data.
    """
    weights, temperature = steps.source_weights, steps.source_temperature
    if weights is None and temperature is None:
        return
    if weights is not None and temperature is not None:
        raise ConfigError("--source-weights and --source-temperature both say how often a source is drawn; give one.")
    option = "--source-temperature" if weights is None else "--source-weights"
    if len(languages) < 2:
        raise ConfigError(
            f"{option} needs several source languages; name them, e.g. --language en,de, or --train en=FILE "
            "--train de=FILE."
        )
    known = read_weights(weights) if weights else dict.fromkeys(languages, 1.0)
    if missing := [code for code in languages if code not in known]:
        raise ConfigError(f"--source-weights has no weight for {', '.join(missing)}; give one, e.g. {missing[0]}=1.")
    if others := [code for code in known if code not in languages]:
        raise ConfigError(
            f"--source-weights has a weight for {', '.join(others)}, but the source languages are "
            f"{', '.join(languages)}; leave it out, or name data for it with --train or --language."
        )
