"""How well languages are told apart in each state: accuracies with intervals, who is mixed up with whom, a plot."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlfa_adapters.analysis.language_id_options import POOLINGS
from dlfa_adapters.analysis.states import FUSED
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.intervals import Difference, Estimate, few_items
from dlfa_adapters.scores.show import INTERVAL, TextTable, ends, in_form, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCORE = "accuracy"
_MOST_PAIRS = 10


@dataclass(frozen=True, kw_only=True)
class StateAccuracy:
    """How well a linear classifier tells the language from one kind of state.

    Attributes:
        state: `0`..`L` or `fused`.
        accuracy: The mean over languages of the share of test sentences whose language is found.
        languages: That share, by language.
        against: The mean minus that of the last layer, on the same resamples; None for the last layer.
        mixed_up: Language and the one that was taken for it -> test sentences.
        learning_rate: The first rate; of several, the one that dev chose.
        epoch: The epoch that dev chose.
        dev: The share of all dev sentences that were right after it.
        at_end: Whether the rate came to its end before the epochs did.
    """

    state: str
    accuracy: Estimate
    languages: dict[str, Estimate]
    against: Difference | None
    mixed_up: Counter[tuple[str, str]]
    learning_rate: float
    epoch: int
    dev: float
    at_end: bool

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        pairs = [[*pair, times] for pair, times in self.mixed_up.most_common()]
        return {**asdict(self), "mixed_up": pairs}


@dataclass(frozen=True, kw_only=True)
class LanguageIdReport:
    """How well the language is told from every state of one model.

    Attributes:
        name: The run folder, or the encoder.
        fusion: What makes the fused state, such as `dlfa of layer 7`; None for an encoder alone.
        pooling: What stands for a sentence.
        sizes: By language, how many sentences there are in each part.
        truncated: Sentences that were longer than the model takes.
        resamples: Bootstrap resamples.
        seed: Of training and bootstrap.
        states: The layers 0..L, and the fused state.
    """

    name: str
    fusion: str | None
    pooling: str
    sizes: dict[str, dict[str, int]]
    truncated: int
    resamples: int
    seed: int
    states: list[StateAccuracy]

    @property
    def layers(self) -> list[StateAccuracy]:
        """Those without the fused state."""
        return [state for state in self.states if state.state != FUSED]

    @property
    def fused(self) -> StateAccuracy | None:
        """The fused state, if there is one."""
        return next((state for state in self.states if state.state == FUSED), None)

    def pairs(self, most: int = _MOST_PAIRS) -> list[tuple[str, str]]:
        """Languages that are mixed up most often with each other, over all states and in both directions."""
        times: Counter[tuple[str, str]] = Counter()
        for state in self.states:
            for (a, b), number in state.mixed_up.items():
                times[min(a, b), max(a, b)] += number
        return [pair for pair, _ in sorted(times.items(), key=lambda each: (-each[1], each[0]))[:most]]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        about = {name: value for name, value in vars(self).items() if name != "states"}
        return {**about, "states": [state.to_dict() for state in self.states]}


def language_id_tables(reports: Sequence[LanguageIdReport]) -> list[TextTable]:
    """For each model: its states, its languages by state, and the pairs that are mixed up most often."""
    return [table for report in reports for table in (_states(report), _languages(report), _pairs(report))]


def _states(report: LanguageIdReport) -> TextTable:
    header = ["layer", SCORE, INTERVAL, "lowest", "", "− last", INTERVAL, "adjusted p", "dev", "rate", "epoch"]
    rows = []
    for state in report.states:
        lowest = min(state.languages, key=lambda language: state.languages[language].value or 0.0)
        rows.append(
            [
                state.state,
                percent(state.accuracy.value),
                ends(state.accuracy.low, state.accuracy.high),
                lowest,
                percent(state.languages[lowest].value),
                *_against(state.against),
                percent(state.dev),
                f"{state.learning_rate:g}",
                str(state.epoch),
            ]
        )
    fusion = f" ({report.fusion})" if report.fusion else ""
    tested = sum(sizes["test"] for sizes in report.sizes.values())
    title = f"{report.name}{fusion}: {len(report.sizes)} languages, {tested:,} sentences of test"
    return TextTable(header, rows, title)


def _against(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["", "", ""]
    p = difference.p_value if difference.adjusted_p is None else difference.adjusted_p
    return [percent(difference.difference, "+"), ends(*difference.ends, "+"), in_form(p, ".3f")]


def _languages(report: LanguageIdReport) -> TextTable:
    rows = [
        [language, f"{sizes['test']:,}", *(percent(state.languages[language].value) for state in report.states)]
        for language, sizes in report.sizes.items()
    ]
    return TextTable(["", "test", *(state.state for state in report.states)], rows, "Accuracy by language and layer")


def _pairs(report: LanguageIdReport) -> TextTable:
    rows = [
        [f"{a}, {b}", *(str(state.mixed_up[a, b] + state.mixed_up[b, a]) for state in report.states)]
        for a, b in report.pairs()
    ]
    return TextTable(["", *(state.state for state in report.states)], rows, "Most often mixed up, sentences of test")


def language_id_notes(reports: Sequence[LanguageIdReport], limit: int | None) -> list[str]:
    """What a reader of the tables has to know."""
    [first, *_] = reports
    parts = {part: sum(sizes[part] for sizes in first.sizes.values()) for part in ("train", "dev", "test")}
    sentences = [
        "A hash of the text puts one sentence of ten into test, one into dev and eight into train: "
        + ", ".join(f"{number:,} {part}" for part, number in parts.items())
        + ".",
        "accuracy: mean over languages; lowest: the language that is found least often; − last: against the last layer "
        f"of the same model, all at once. A sentence is the {POOLINGS[first.pooling]}, special ones included.",
    ]
    if limit is not None:
        sentences.append(f"At most {limit:,} sentences of a language were taken, by their hash.")
    tested = parts["test"]
    if any(state.accuracy.value == 1 for report in reports for state in report.states):
        sentences.append(
            f"Where no sentence of {tested:,} is wrong the bootstrap sees no spread: up to {300 / tested:.1f} % may be "
            "wrong all the same (three of them, at 95 %)."
        )
    for report in reports:
        if report.truncated:
            sentences.append(f"{report.name}: {report.truncated:,} sentences were cut, since it takes no longer ones.")
        if going := [state.state for state in report.states if not state.at_end]:
            sentences.append(
                f"{report.name}: the rate had not come to its end in {', '.join(going)}; more --epochs may raise these."
            )
    return [*sentences, *few_items((language, sizes["test"]) for language, sizes in first.sizes.items())]


def plot_language_id(reports: Sequence[LanguageIdReport], path: str | Path) -> None:
    """Draw the accuracy by layer of one model or several into a file, as Figure 2 of Wu and Dredze 2019.

    Args:
        reports: One a model.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    with plotted(path, (7.5, 4.5)) as figure:
        axes: Axes = figure.subplots()
        deepest = max(len(report.layers) for report in reports)
        for number, report in enumerate(reports):
            colour = f"C{number}"
            low, high, value = (
                [100 * (getattr(layer.accuracy, end) or 0.0) for layer in report.layers]
                for end in ("low", "high", "value")
            )
            axes.plot(value, color=colour, marker="o", ms=4, label=report.name)
            axes.fill_between(range(len(value)), low, high, color=colour, alpha=0.15, lw=0)
            if report.fused is not None:
                place, fused = deepest + 0.25 * number, report.fused.accuracy
                axes.plot(place, 100 * (fused.value or 0.0), "o", color=colour)
                axes.vlines(place, 100 * (fused.low or 0.0), 100 * (fused.high or 0.0), color=colour, lw=1)
        has_fused = any(report.fused is not None for report in reports)
        axes.set_xticks(range(deepest + has_fused), [*map(str, range(deepest)), *[FUSED] * has_fused])
        axes.set(xlabel="layer", ylabel="languages identified, %")
        languages = len(reports[0].sizes)
        axes.set_title(f"{languages} languages; bands are {INTERVAL} bootstrap intervals", fontsize=9)
        axes.legend(fontsize=8)
