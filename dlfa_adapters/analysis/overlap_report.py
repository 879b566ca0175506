"""Sub-word overlap and transfer scores: tables, what to know about them, a scatter plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlfa_adapters.analysis.correlation import MEASURES, Correlation, needed
from dlfa_adapters.analysis.overlap import LanguageOverlap
from dlfa_adapters.analysis.transfer_scores import Scores
from dlfa_adapters.data.languages import main_code
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.show import INTERVAL, NO_VALUE, TextTable, between, in_form

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 10
"""Fewer languages than this: r has to be very high before it says anything."""


def overlap_tables(
    overlaps: Sequence[LanguageOverlap], scores: Scores, found: Sequence[Correlation]
) -> list[TextTable]:
    """A table of the languages with their scores, and one of the correlations."""
    header = ["", "family", "items", "types", "tokens", *(f"% {title}" for title in MEASURES.values()), "% unknown"]
    rows = [
        [
            f"{each.language}{' (source)' * each.is_source}",
            each.family or NO_VALUE,
            f"{each.items:,}",
            f"{each.types:,}",
            f"{each.tokens:,}",
            *(f"{getattr(each, measure):.1f}" for measure in MEASURES),
            f"{each.unknown:.1f}",
            *(in_form(by_language.get(main_code(each.language)), ".1f") for by_language in scores.values()),
        ]
        for each in overlaps
    ]
    tables = [TextTable([*header, *scores], rows, "Sub-words of the test data that are in the training data")]
    if found:
        lines = [
            [
                each.scores,
                MEASURES[each.measure],
                "with" if each.with_source else "without",
                str(len(each.languages)),
                in_form(each.r, "+.2f"),
                between(each.low, each.high, "+.2f"),
                _p(each.p_value),
            ]
            for each in found
        ]
        header = ["scores", "overlap", "source", "languages", "r", INTERVAL, "p"]
        tables.append(TextTable(header, lines, "Pearson's r of overlap and score over languages"))
    return tables


def _p(value: float | None) -> str:
    return "< 0.001" if value is not None and value < 0.0005 else in_form(value, ".3f")


def overlap_notes(overlaps: Sequence[LanguageOverlap], scores: Scores, found: Sequence[Correlation]) -> list[str]:
    """What a reader of the tables has to know."""
    sentences = [
        "% of types: of the different sub-words; % of tokens: of all, so that frequent ones count more. Special tokens "
        "and bare marks of a word's beginning do not count; unknown pieces count as not shared.",
    ]
    sizes = [each.tokens for each in overlaps]
    if len(sizes) > 1 and max(sizes) > 2 * min(sizes):
        sentences.append(
            f"The test data have {min(sizes):,} to {max(sizes):,} sub-words; more text has more rare ones, so % of "
            "types is lower there; --limit takes as many items of each language."
        )
    there = {main_code(each.language) for each in overlaps}
    for name, by_language in scores.items():
        without = [each.language for each in overlaps if main_code(each.language) not in by_language]
        if without:
            sentences.append(f"{name} has no score in {', '.join(without)}.")
        if beyond := sorted(set(by_language) - there):
            sentences.append(f"{name} has scores in {', '.join(beyond)}, of which there are no test data.")
    if found:
        sentences.append(
            f"{INTERVAL}: by Fisher's transformation; p: two-sided, for one row alone. Languages are taken for "
            "independent of each other, which those of one family are not, so both say more than they know."
        )
    for each in dict.fromkeys(len(each.languages) for each in found):
        if each < 3:
            sentences.append(f"Over {each} language{'s' * (each != 1)} there is no correlation to speak of.")
        elif each < FEW:
            sentences.append(f"Over {each} languages |r| must be above {needed(each):.{2 + (each < 4)}f} for p < 0.05.")
    if any(each.r is None and len(each.languages) > 2 for each in found):
        sentences.append(f"{NO_VALUE}: overlap or score is the same in all languages, so that r is not defined.")
    return sentences


def plot_overlap(
    overlaps: Sequence[LanguageOverlap], scores: Scores, found: Sequence[Correlation], path: str | Path
) -> None:
    """Draw overlap against score into a file, a dot a language, as Figure 3 of Wu and Dredze 2019.

    Args:
        overlaps: The languages.
        scores: A row of panels for each model's.
        found: The correlations, which stand above the panels.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    with plotted(path, (9, 4 * len(scores))) as figure:
        panels = figure.subplots(len(scores), len(MEASURES), squeeze=False)
        families = {each.family for each in overlaps if each.is_source and each.family is not None}
        for (name, by_language), row in zip(scores.items(), panels, strict=True):
            shown = [each for each in overlaps if main_code(each.language) in by_language]
            for measure, axes in zip(MEASURES, row, strict=True):
                _panel(axes, shown, measure, by_language, families)
                titles = [_title(each) for each in found if (each.scores, each.measure) == (name, measure)]
                axes.set_title("\n".join([name, *titles]), fontsize=8)
        if families:
            source = f"{' and '.join(sorted(families))}, as the source (ring)"
            for colour, what in (("C1", source), ("C0", "others")):
                panels[0, 0].plot([], [], "o", ms=4, color=colour, label=what)
            panels[0, 0].legend(fontsize=7)


def _panel(
    axes: "Axes",
    overlaps: Sequence[LanguageOverlap],
    measure: str,
    scores: Mapping[str, float],
    families: set[str],
) -> None:
    for each in overlaps:
        at = (getattr(each, measure), scores[main_code(each.language)])
        colour = "C1" if each.family in families else "C0"
        axes.plot(*at, "o", ms=4, color=colour, mfc="white" if each.is_source else colour)
        axes.annotate(each.language, at, textcoords="offset points", xytext=(3, 3), fontsize=6)
    axes.set(xlabel=f"sub-words in the training data, % {MEASURES[measure]}", ylabel="score")


def _title(each: Correlation) -> str:
    source = "with" if each.with_source else "without"
    p = f"p = {_p(each.p_value)}".replace("= <", "<")
    return f"{source} source: r = {in_form(each.r, '+.2f')}, {p}, {len(each.languages)} languages"
