"""Runs that were trained on centred languages: they read a language without its mean, and must know which it is."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dlfa_adapters.encoders.means_record import read_record
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.runs import Run

if TYPE_CHECKING:
    from dlfa_adapters.kinds.encoded import Predictor

CENTER = "center.safetensors"
"""The means in the run folder: `encoders.centre.CENTER`."""

NOT_TOLD = "its states cannot be analysed, which are of one language each; name its encoder with --model"


def centre(run: Run, predictor: "Predictor") -> None:
    """Take the mean of its `language` off what the encoder of a predictor hands out; without one it refuses to read."""
    from dlfa_adapters.encoders.centre import Centring
    from dlfa_adapters.encoders.means import LanguageMeans

    means, layers = LanguageMeans.read(run.folder / CENTER), tuple(run.config["center"]["layers"])
    Centring(means, layers, lambda: predictor.language).install(predictor.model)


def check_centred(run: Run, languages: Iterable[str | None]) -> None:
    """Refuse languages that a run cannot read, before it is loaded; a run that was not centred reads all.

    Raises:
        ConfigError: If one is not known, or has no mean.
    """
    if "center" not in run.config:
        return
    there = list(read_record(run.folder / CENTER).languages)
    if missing := [language for language in dict.fromkeys(languages) if language not in there]:
        told = "an unknown language" if missing[0] is None else ", ".join(map(str, missing))
        raise ConfigError(
            f"The run {run.folder} was trained on centred languages and has means of {', '.join(there)}, not of "
            f"{told}; name one of these with --language (--languages for data), or train with a file that has more."
        )


def check_not_centred(run: Run, what: str) -> None:
    """Refuse what would lose the means of a run; `what` says what cannot be done with it.

    Raises:
        ConfigError: If it was trained on centred languages.
    """
    if "center" in run.config:
        raise ConfigError(
            f"The run {run.folder} was trained on centred languages (--center), so {what}; train without --center."
        )
