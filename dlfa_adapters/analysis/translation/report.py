"""What token translation gave over layers and weights: scores with intervals, tables, samples, a plot."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlfa_adapters.data.pairs import TruncationCounts
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.intervals import Estimate, few_items
from dlfa_adapters.scores.show import INTERVAL, NO_VALUE, TextTable, between, ends, in_form, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scores = dict[str, Estimate]
"""Each of `text.MEASURES`; all of them are fractions."""


@dataclass(frozen=True)
class Cell:
    """The scores with a shift.

    Attributes:
        layer: Where.
        alpha: With which weight.
        scores: The scores.
    """

    layer: int
    alpha: float
    scores: Scores

    @property
    def bleu_1(self) -> float:
        """BLEU-1 against the translation, from 0 to 1."""
        return self.scores["bleu_1"].value or 0.0


@dataclass(frozen=True)
class Sample:
    """A sentence as it was translated, as in the paper's Table 1.

    Attributes:
        source: The sentence.
        reference: Its translation.
        outputs: By weight, 0 for none, what was written.
    """

    source: str
    reference: str
    outputs: dict[float, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TranslationReport:
    """Token translation of one model in one direction.

    Attributes:
        name: The encoder.
        languages: Codes of source and target language.
        sentences: How many pairs.
        depth: Number of blocks L.
        units: What BLEU-1 counts.
        cut: What the length limit did to the sentences.
        sets: How many pieces the languages have: `source`, `target`, `both`.
        means: Of what the means of the languages were made.
        copy: Scores of the input as it is.
        unshifted: Scores of what the model writes without a shift.
        cells: Scores by layer, and within it by weight.
        samples: The first sentences.
        shown_layer: Where they were shifted.
    """

    name: str
    languages: tuple[str, str]
    sentences: int
    depth: int
    units: str
    cut: TruncationCounts
    sets: dict[str, int]
    means: str
    copy: Scores
    unshifted: Scores
    cells: list[Cell]
    samples: list[Sample]
    shown_layer: int

    @property
    def best(self) -> Cell:
        """The shift with the highest BLEU-1 on these sentences, as the paper chooses its best."""
        return max(self.cells, key=lambda cell: cell.bleu_1)

    @property
    def layers(self) -> list[int]:
        """The layers of `cells`."""
        return sorted({cell.layer for cell in self.cells})

    @property
    def alphas(self) -> list[float]:
        """The weights of `cells`."""
        return sorted({cell.alpha for cell in self.cells})

    def grid(self, measure: str) -> np.ndarray:
        """A measure over layers and weights, (layers, alphas); NaN where it is not defined."""
        values = [cell.scores[measure].value for cell in self.cells]
        filled = [np.nan if value is None else value for value in values]
        return np.array(filled).reshape(len(self.layers), len(self.alphas))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = asdict(self)
        for sample in told["samples"]:
            sample["outputs"] = [{"alpha": alpha, "text": text} for alpha, text in sample["outputs"].items()]
        return {**told, "best": {"layer": self.best.layer, "alpha": self.best.alpha}}


def translation_tables(report: TranslationReport) -> list[TextTable]:
    """The best shift beside none; BLEU-1 and convert rate over layers and weights."""
    source, target = report.languages
    best = report.best
    lines = [("the input, copied", report.copy), ("no shift", report.unshifted)]
    lines.append((f"layer {best.layer}, alpha {best.alpha:g}: the best", best.scores))
    rows = []
    for title, scores in lines:
        bleu, gap, rate = (scores[name] for name in ("bleu_1", "gap", "convert_rate"))
        rows.append([
            title, percent(bleu.value), ends(bleu.low, bleu.high), percent(scores["others"].value),
            percent(gap.value, "+"), ends(gap.low, gap.high, "+"), in_form(rate.value, ".3f"),
            between(rate.low, rate.high, ".3f"), percent(scores["neither"].value), percent(scores["kept"].value),
        ])  # fmt: skip
    header = ["", "BLEU-1", INTERVAL, "others", "gap", INTERVAL, "convert rate", INTERVAL, "neither, %", "kept, %"]
    title = f"{source} → {target}, {report.name}: {report.sentences:,} sentences"
    grids = []
    for measure, name, scale, form in (("bleu_1", "BLEU-1", 100, ".1f"), ("convert_rate", "Convert rate", 1, ".3f")):
        lines_of = [
            [str(layer), *(NO_VALUE if np.isnan(value) else format(value, form) for value in row)]
            for layer, row in zip(report.layers, scale * report.grid(measure), strict=True)
        ]
        grids.append(TextTable(["layer", *(f"alpha {a:g}" for a in report.alphas)], lines_of, name))
    return [TextTable(header, rows, title), *grids]


def translation_notes(report: TranslationReport) -> list[str]:
    """What a reader of the tables has to know."""
    source, target = report.languages
    sets, cut = report.sets, report.cut
    return [
        f"BLEU-1 in %, of all sentences as one text, with brevity penalty ({report.units}); others: against the "
        "translation of the next sentence, which frequent words and full stops alone give; gap: the difference.",
        f"Convert rate: the share of tokens of {target} alone among those that are not of both; neither, kept: of no "
        f"language, and as in the input. Pieces: {sets['source']:,} of {source}, {sets['target']:,} of {target}, "
        f"{sets['both']:,} of both.",
        f"Means of the languages: {report.means}. The best is chosen on these sentences.",
        *(
            [f"{cut.n_truncated:,} sentences were cut: {cut.pieces_dropped:,} of {cut.pieces_total:,} pieces."]
            if cut.n_truncated
            else []
        ),
        *few_items([("the text", report.sentences)]),
    ]


def sample_lines(report: TranslationReport) -> list[str]:
    """The first sentences as they were translated, as the paper's Table 1 has them."""
    lines = []
    for sample in report.samples:
        lines += ["", f"input      {sample.source}", f"reference  {sample.reference}"]
        lines += [f"{'alpha ' + format(alpha, 'g'):11}{text}" for alpha, text in sample.outputs.items()]
    return [f"Translated at layer {report.shown_layer}", *lines[1:], ""] if lines else []


def plot_translation(report: TranslationReport, path: str | Path) -> None:
    """Draw the grid into a file: convert rate and BLEU-1 by weight, a line a layer, and by layer, a line a weight.

    Figures 7 and 8 of Liu et al. 2020, arXiv 2004.09205.

    Args:
        report: The report.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    with plotted(path, (9, 7)) as figure:
        from matplotlib import colormaps

        colours = colormaps["viridis"]
        for row, (measure, name, scale) in zip(
            figure.subplots(2, 2, sharey="row"), (("convert_rate", "convert rate", 1), ("bleu_1", "BLEU-1, %", 100)),
            strict=True,
        ):  # fmt: skip
            values, start = scale * report.grid(measure), report.unshifted[measure].value
            by_alpha: Axes
            by_layer: Axes
            by_alpha, by_layer = row
            order = np.argsort([0.0, *report.alphas])
            for number, layer in enumerate(report.layers):
                line = np.array([np.nan if start is None else scale * start, *values[number]])[order]
                colour = colours(layer / max(1, report.depth))
                by_alpha.plot(np.array([0.0, *report.alphas])[order], line, ".-", color=colour, label=f"layer {layer}")
            for number, alpha in enumerate(report.alphas):
                by_layer.plot(report.layers, values[:, number], ".-", color=f"C{number}", label=f"alpha {alpha:g}")
            if start is not None:
                by_layer.axhline(scale * start, color="grey", lw=1, ls="--", label="no shift")
            by_alpha.set(xlabel="alpha", ylabel=name)
            by_layer.set(xlabel="layer")
            by_layer.set_xticks(report.layers)
            for axes in row:
                axes.legend(fontsize=6, ncols=2)
        source, target = report.languages
        figure.suptitle(f"{report.name}, {source} → {target}, {report.sentences:,} sentences", fontsize=10)
