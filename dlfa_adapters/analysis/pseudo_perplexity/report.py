"""Pseudo-perplexity of models by language: tables, what to know about them, a plot."""

from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.analysis.pseudo_perplexity.measure import PseudoPerplexity
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.intervals import few_items
from dlfa_adapters.scores.show import INTERVAL, TextTable, between, in_form

_FORM = ",.2f"


def pseudo_perplexity_tables(found: Sequence[PseudoPerplexity]) -> list[TextTable]:
    """Models by languages, as Table 5 of XMULTI; and every figure with its interval and what it was measured on."""
    models, languages = _names(found)
    values = {(each.model, each.language): each.value for each in found}
    rows = [[model, *(in_form(values.get((model, language)), _FORM) for language in languages)] for model in models]
    details = [
        [
            each.model, each.language, f"{each.texts:,}", f"{each.pieces:,}", f"{100 * each.unknown / each.pieces:.1f}",
            in_form(each.value, _FORM), between(each.low, each.high, _FORM),
        ]
        for each in found
    ]  # fmt: skip
    header = ["model", "language", "texts", "pieces", "% unknown", "pseudo-perplexity", INTERVAL]
    return [
        TextTable(["model", *languages], rows, "Pseudo-perplexity: lower is better"),
        TextTable(header, details, "What it was measured on"),
    ]


def pseudo_perplexity_notes(found: Sequence[PseudoPerplexity]) -> list[str]:
    """What a reader of the tables has to know."""
    models, languages = _names(found)
    sentences = [
        f"Every piece is hidden once, and read from all others of its text. {INTERVAL}: texts drawn anew (bootstrap)."
    ]
    pieces = {language: {each.pieces for each in found if each.language == language} for language in languages}
    if any(len(counts) > 1 for counts in pieces.values()):
        sentences.append(
            "The models cut the same text into different numbers of pieces, so their figures are not comparable: more "
            "pieces are easier ones."
        )
    if len(languages) > 1:
        sentences.append("Figures of two languages are not comparable, since their pieces are of different length.")
    if cut := [f"{each.cut} in {each.language} ({each.model})" for each in found if each.cut]:
        sentences.append(f"Longer than a row, and read in a window around each piece: {', '.join(cut)}.")
    if empty := [f"{each.empty} in {each.language} ({each.model})" for each in found if each.empty]:
        sentences.append(f"Without any piece, and left out: {', '.join(empty)}.")
    return sentences + few_items((each.language, each.texts) for each in found if each.model == models[0])


def plot_pseudo_perplexity(found: Sequence[PseudoPerplexity], path: str | Path) -> None:
    """Draw the figures into a file, a group of bars a language and a colour a model, on a logarithmic scale.

    Args:
        found: The figures.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    models, languages = _names(found)
    values = {(each.model, each.language): each for each in found}
    with plotted(path, (max(5.0, 1.2 * len(languages) + 2), 4)) as figure:
        axes = figure.subplots()
        width = 0.8 / len(models)
        for number, model in enumerate(models):
            there = [values[model, language] for language in languages if (model, language) in values]
            at = [languages.index(each.language) + (number - (len(models) - 1) / 2) * width for each in there]
            heights = [each.value for each in there]
            ends = [
                [each.value - (each.value if each.low is None else each.low) for each in there],
                [(each.value if each.high is None else each.high) - each.value for each in there],
            ]
            axes.bar(at, heights, width, yerr=ends, label=model, error_kw={"lw": 0.8})
        axes.set_yscale("log")
        axes.set_xticks(range(len(languages)), languages)
        axes.set_ylabel("pseudo-perplexity")
        axes.legend(fontsize=7)


def _names(found: Sequence[PseudoPerplexity]) -> tuple[list[str], list[str]]:
    return list(dict.fromkeys(each.model for each in found)), list(dict.fromkeys(each.language for each in found))
