"""What can be refused of a token translation before PyTorch and a model are loaded."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dlfa_adapters.analysis.translation.scores import check_units, units_of
from dlfa_adapters.data.places import check_encoder_name, check_there
from dlfa_adapters.encoders.means_record import read_record
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.plots import check_plot
from dlfa_adapters.heads.schema import check_decoder
from dlfa_adapters.scores.groups import check_each_once


def check_translation(
    model: str,
    language_adapter: str | None,
    languages: tuple[str, str],
    *,
    units: str | None,
    means: Path | None,
    text: Mapping[str, Sequence[str | Path]],
    plot: Path | None,
) -> None:
    """Refuse a translation that cannot work; for the arguments see `translate_tokens`.

    Raises:
        ConfigError: If an option has a value that cannot work, or a language has no mean or text.
        DataError: If a file is not there.
        MissingExtraError: If sacrebleu, or for a plot matplotlib, is not installed.
    """
    if languages[0] == languages[1]:
        raise ConfigError(f"expected two languages, got {languages[0]} twice; type e.g. --parallel en-de=FILE.")
    check_each_once(languages, "--parallel")
    check_units(units or units_of(languages[1]))
    check_encoder_name(model)
    if language_adapter is not None:
        check_decoder(language_adapter.removeprefix("unchecked:"))
    elif model == "offline":
        raise ConfigError(
            "The offline encoder has no decoder, which writes pieces; train one with dlfa train-language mul --text "
            "FILE for each language, and add --language-adapter adapters/mul."
        )
    if means is not None:
        read_record(means).check_languages(languages, means)
    check_text(text, languages)
    for path in (path for paths in text.values() for path in paths):
        check_there(path)
    if plot is not None:
        check_plot(plot)


def check_text(text: Collection[str], languages: tuple[str, str]) -> None:
    """Refuse text of other languages, or of one of two.

    Raises:
        ConfigError: Naming the one that is missing, or too many.
    """
    if text and set(text) != set(languages):
        given, (source, target) = ", ".join(text), languages
        raise ConfigError(f"expected text of {source} and {target}, got that of {given}; type --text {source}=FILE.")


def check_layers(layers: Sequence[int], depth: int) -> list[int]:
    """The layers in their order.

    Raises:
        ConfigError: If one of them is none of those that states are shifted at, or there is none.
    """
    for layer in layers:
        if not 1 <= layer <= depth:
            raise ConfigError(f"A shift is at a layer from 1 to {depth} of this encoder, got {layer}; type 1-{depth}.")
    if not layers:
        raise ConfigError(f"Name a layer to shift at, or several; type e.g. 1-{depth}.")
    return sorted(set(layers))


def check_alphas(alphas: Sequence[float]) -> list[float]:
    """The weights in their order, without 0, which is no shift and always measured.

    Raises:
        ConfigError: If there is none, or one is no finite number.
    """
    chosen = sorted({float(alpha) for alpha in alphas} - {0.0})
    if not chosen or not all(abs(alpha) < float("inf") for alpha in chosen):
        given = ", ".join(f"{alpha:g}" for alpha in alphas) or "none"
        raise ConfigError(f"expected finite weights other than 0, got {given}; type 1,2,3.")
    return chosen
