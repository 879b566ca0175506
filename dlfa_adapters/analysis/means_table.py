"""Language means for people: what each was made of, and how near it is to the others in each layer."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn.functional import cosine_similarity

from dlfa_adapters.data.assemble import left_out
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.show import TextTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def mean_cosines(means: LanguageMeans) -> dict[str, Tensor]:
    """The cosine of each language's mean with that of the first one, by layer, (layers,)."""
    first, *others = means.tensors
    return {language: cosine_similarity(means.tensors[first], means.tensors[language], dim=1) for language in others}


def means_tables(means: LanguageMeans) -> list[TextTable]:
    """What each mean was made of, and the cosines."""
    record = means.record
    made_of = [[language, f"{its.texts:,}", f"{its.count:,}"] for language, its in record.languages.items()]
    shown = [TextTable(["language", "texts", record.unit], made_of, f"Means of {record.encoder['name']}")]
    if cosines := mean_cosines(means):
        header = ["layer", *map(str, range(means.depth + 1))]
        rows = [[language, *(f"{value:.3f}" for value in values)] for language, values in cosines.items()]
        title = f"Cosine of the mean with that of {next(iter(means.tensors))}, by layer"
        shown.append(TextTable(header, rows, title))
    return shown


def means_notes(means: LanguageMeans) -> list[str]:
    """What counts, and what was left out."""
    dropped: Counter[str] = Counter()
    for its in means.record.languages.values():
        dropped.update(its.dropped)
    what = {
        "pieces": "Every piece counts alike but special ones.",
        "words": "Every word counts alike; its state is the mean of those of its pieces.",
    }[means.record.unit]
    return [what, *([f"Left out: {left_out(dropped)}."] if dropped else [])]


def plot_means(means: LanguageMeans, path: str | Path) -> None:
    """Draw the cosines by layer into a file.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    with plotted(path, (7.5, 4.5)) as figure:
        axes: Axes = figure.subplots()
        for language, values in mean_cosines(means).items():
            axes.plot(values.tolist(), label=language)
        axes.set_xticks(range(means.depth + 1))
        axes.set(xlabel="layer", ylabel="cosine")
        axes.set_title(f"Mean states of languages and of {next(iter(means.tensors))}", fontsize=9)
        axes.legend(fontsize=8, ncols=2)
