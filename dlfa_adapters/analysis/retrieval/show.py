"""Retrieval as tables, JSON and a plot: by layer, in the best layer of each system and order, and their differences."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlfa_adapters.analysis.retrieval.scored import Column, Retrieval, mean_over
from dlfa_adapters.analysis.states import FUSED
from dlfa_adapters.ground.plots import plotted
from dlfa_adapters.scores.intervals import Difference
from dlfa_adapters.scores.show import INTERVAL, TextTable, ends, percent

_STYLES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (1, 3)), (0, (5, 5)))

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Results:
    """What was measured between some pairs of languages.

    Attributes:
        retrievals: One a pair of languages.
        main: The measure by which layers are chosen and compared.
        others: Other measures, with their titles.
        title: What the main measure is called.
    """

    retrievals: list[Retrieval]
    main: str
    title: str
    others: dict[str, str]

    @property
    def complete(self) -> list[Retrieval]:
        """Those that have all that any of them has."""
        most = max((each.columns for each in self.retrievals), key=len)
        return [each for each in self.retrievals if each.columns == most]

    @cached_property
    def mean(self) -> Retrieval:
        """The mean over pairs of languages, those that are complete, or the only one."""
        return self.complete[0] if len(self.complete) == 1 else mean_over(self.complete)

    def chosen(self) -> list[Column]:
        """For each system and order the main measure in the state that is best in the mean."""
        mean = self.mean
        return [
            Column(system, mean.best(system, order, self.main), order, self.main)
            for system in mean.systems()
            for order in mean.orders(system)
        ]

    def differences(self) -> list[Difference]:
        """Each of the chosen but the first, minus the first."""
        first, *others = self.chosen()
        return self.mean.differences([(first, other) for other in others])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        chosen = self.chosen()
        compared = [
            {"of": other._asdict(), "minus": chosen[0]._asdict(), **asdict(difference)}
            for other, difference in zip(chosen[1:], self.differences(), strict=True)
        ]
        mean = [self.mean] if len(self.complete) > 1 else []
        return {"retrievals": [each.to_dict() for each in [*self.retrievals, *mean]], "differences": compared}


def retrieval_tables(results: Results) -> list[TextTable]:
    """A table of layers a system that has several, one of the chosen ones by language, and one of their differences."""
    mean, chosen = results.mean, results.chosen()
    number = len(results.complete)
    over = mean.name if number == 1 else f"mean over {number} pairs of languages"
    tables = []
    for system in mean.systems():
        states, orders = mean.states(system), mean.orders(system)
        if len(states) > 1:
            rows = [
                [state, *(percent(mean.value(Column(system, state, order, results.main))) for order in orders)]
                for state in states
            ]
            tables.append(TextTable(["layer", *orders], rows, f"{system}: {results.title}, {over}"))
    by_language = results.retrievals if len(results.retrievals) > 1 else []
    rows = []
    for column in chosen:
        score = mean.estimate(column)
        others = [percent(mean.value(column._replace(measure=other))) for other in results.others]
        values = [percent(each.value(column) if column in each.columns else None) for each in by_language]
        rows.append([_name(column), percent(score.value), ends(score.low, score.high), *others, *values])
    header = ["", results.title, INTERVAL, *results.others.values(), *(each.name for each in by_language)]
    tables.append(TextTable(header, rows, f"In the layer that is best, {over}"))
    compared = zip(chosen[1:], results.differences(), strict=True)
    rows = [[_name(column), *_difference(difference)] for column, difference in compared]
    if rows:
        header = ["", "difference", INTERVAL, "p", "adjusted p"]
        tables.append(TextTable(header, rows, f"Differences to {_name(chosen[0])}: {results.title}, {over}"))
    return tables


def plot_retrieval(results: Results, path: str | Path) -> None:
    """Draw the main measure by layer into a file: the mean of every system and order, and a line a pair of languages.

    Args:
        results: What was measured.
        path: The file; its end says which kind.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        ConfigError: If the file is of no kind that can be drawn, or cannot be written.
    """
    mean, several = results.mean, len(results.retrievals) > 1
    with plotted(path, (13 if several else 8.5, 4.5)) as figure:
        panels = figure.subplots(1, 1 + several, sharey=True, squeeze=False)[0]
        for column, label, colour, style in _drawn(results):
            _line(panels[0], mean, column, label, colour, style)
        panels[0].set_ylabel(results.title)
        panels[0].set_title("mean over pairs of languages" if several else mean.name, fontsize=9)
        if several:
            # Of the system with the most layers, the order that is best.
            system = max(mean.systems(), key=lambda system: len(mean.states(system)))
            of_system = [column for column in results.chosen() if column.system == system]
            column = max(of_system, key=mean.value)
            for number, each in enumerate(results.retrievals):
                _line(panels[1], each, column, each.name, f"C{number % 10}", "-" if number < 10 else "--")
            panels[1].set_title(f"{system}: {column.order}", fontsize=9)
        layers = [k for system in mean.systems() for k in mean.states(system) if k.isdecimal()]
        fused = any(FUSED in mean.states(system) for system in mean.systems())
        deepest = max(map(int, layers), default=0)
        for axes in panels:
            axes.set_xticks(range(deepest + 1 + fused), [*map(str, range(deepest + 1)), *[FUSED] * fused])
            axes.set_xlabel("layer")
            axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def _drawn(results: Results) -> Iterator[tuple[Column, str, str, Any]]:
    """What is drawn of the mean, with label, colour and style: of a single system all, of several what says most."""
    mean, chosen = results.mean, results.chosen()
    for number, system in enumerate(mean.systems()):
        of_system = [column for column in chosen if column.system == system]
        if len(mean.systems()) == 1:
            for place, column in enumerate(of_system):
                yield column, column.order, f"C{place}", _STYLES[place % len(_STYLES)]
            continue
        best = max(of_system, key=mean.value)
        if len(mean.states(system)) > 1 and best.order != of_system[0].order:
            yield of_system[0], f"{system}: {of_system[0].order}", f"C{number}", "--"
        yield best, f"{system}: {best.order}", f"C{number}", "-"


def _line(axes: "Axes", retrieval: Retrieval, column: Column, label: str, colour: str, style: Any) -> None:
    """A line over layers, with its interval; a dot for the fused state; a level for what has no layers."""
    states = retrieval.states(column.system)
    scores = {state: retrieval.estimate(column._replace(state=state)) for state in states}
    value, low, high = (
        {state: 100 * (getattr(score, part) or 0.0) for state, score in scores.items()}
        for part in ("value", "low", "high")
    )
    layers = [state for state in states if state.isdecimal()]
    for state in states:
        if state == FUSED:
            axes.plot(1 + max(map(int, layers), default=-1), value[state], "o", color=colour)
        elif not state.isdecimal():
            axes.axhline(value[state], ls=style, color=colour, lw=1, label=label)
    if layers:
        places = list(map(int, layers))
        axes.plot(places, [value[k] for k in layers], ls=style, color=colour, lw=1.3, label=label)
        axes.fill_between(places, [low[k] for k in layers], [high[k] for k in layers], color=colour, alpha=0.1, lw=0)


def _name(column: Column) -> str:
    layer = f"layer {column.state}, " if column.state.isdecimal() else f"{FUSED}, " if column.state == FUSED else ""
    return f"{column.system}: {layer}{column.order}"


def _difference(delta: Difference) -> list[str]:
    """In points, which are percent."""
    p = ["" if value is None else f"{value:.3f}" for value in (delta.p_value, delta.adjusted_p)]
    return [percent(delta.difference, "+"), ends(delta.low, delta.high, "+"), *p]
