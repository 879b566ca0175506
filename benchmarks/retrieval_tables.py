"""The tables of docs/results/retrieval.md, from rows that are made of the JSON of `dlfa analyze`.

    python benchmarks/retrieval_tables.py sentences.json retrieval-sentences.jsonl
    python benchmarks/retrieval_tables.py en-de.json en-sw.json centred-cosine.jsonl

writes the rows of files of `dlfa analyze sentences`, `words` or `cosine` with `--json`: each score with the ends of its
interval, in percent but for cosines.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from measuring import table

RAW = Path(__file__).parents[1] / "docs" / "results" / "raw"


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a result: retrievals, differences and coverage, or the states of models."""
    rows: list[dict[str, Any]] = []
    for model in result.get("models", ()):
        about = {"text": Path(result["parallel"]).stem, "model": model["name"], "pairs": model["pairs"]}
        for state in model["states"]:
            scores = {name: [round(x, 4) for x in each.values()] for name, each in state["scores"].items()}
            rows.append({**about, "state": state["state"], **scores})
    if rows:
        return rows
    for retrieval in result["retrievals"]:
        about = {"text": retrieval["name"], "items": retrieval["items"]}
        rows += [about | {name: _short(value) for name, value in row.items()} for row in retrieval["scores"]]
    for row in result["differences"]:
        told = {"p": row["p_value"], "adjusted_p": row["adjusted_p"]}
        value = _short({"value": row["difference"], "low": row["low"], "high": row["high"]})
        rows.append({"difference": value, "of": list(row["of"].values()), "minus": list(row["minus"].values()), **told})
    return rows + [{"coverage": each} for each in result.get("coverage", ())]


def _short(value: Any) -> Any:
    """A score as its value and interval, in percent."""
    if not isinstance(value, dict):
        return value
    return [round(100 * value[part], 2) for part in ("value", "low", "high")]


class Retrieval:
    """The rows of a file.

    Args:
        name: The file.
        main: The measure that tables show.
        read: Gives the rows of a file of docs/results/raw.
    """

    ORDERS = ("cosine", "csls", "centred cosine", "centred csls", "mapped cosine", "mapped csls")

    def __init__(self, name: str, main: str, read: Callable[[str], Any]) -> None:
        self._name, self.main, self._read = name, main, read

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows."""
        return self._read(self._name)

    def score(
        self, text: str, order: str, state: str | int = "vector", system: str = "offline", measure: str | None = None,
        part: int = 0,
    ) -> float:  # fmt: skip
        """A score in percent, or the lower (`part=1`) or upper end of its interval."""
        wanted = {"text": text, "order": order, "state": str(state), "system": system}
        [row] = [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]
        return float(row[measure or self.main][part])

    def texts(self) -> list[str]:
        """Pairs of languages, without the mean."""
        return [text for text in dict.fromkeys(row["text"] for row in self.rows if "text" in row) if text != "mean"]

    def states(self, system: str = "offline") -> list[str]:
        """Layers."""
        return list(dict.fromkeys(row["state"] for row in self.rows if row.get("system") == system))

    def orders(self, system: str = "offline") -> list[str]:
        """Orders that a system has."""
        there = {row["order"] for row in self.rows if row.get("system") == system}
        return [order for order in self.ORDERS if order in there]

    def best(self, text: str, order: str, system: str = "offline", states: Iterable[str] | None = None) -> str:
        """The layer with the highest score."""
        return max(states or self.states(system), key=lambda state: self.score(text, order, state, system))

    def top(self, text: str, order: str, system: str = "offline", measure: str | None = None, part: int = 0) -> float:
        """The score in the layer that is best in the mean, or where there is no mean, in this text."""
        where = "mean" if any(row.get("text") == "mean" for row in self.rows) else text
        return self.score(text, order, self.best(where, order, system), system, measure, part)

    def gain(self, text: str, order: str, state: str | int, other: str = "cosine", system: str = "offline") -> float:
        """How much higher the score of an order is than that of another in the same layer."""
        return self.score(text, order, state, system) - self.score(text, other, state, system)

    def gains(self, order: str, state: str | int, other: str = "cosine") -> list[float]:
        """The same in each text."""
        return [self.gain(text, order, state, other) for text in self.texts()]

    def layers(self, system: str = "offline", text: str = "mean") -> list[str]:
        """A line for each layer, a column for each order."""
        orders = self.orders(system)
        lines = [
            [state, *(f"{self.score(text, order, state, system):.1f}" for order in orders)]
            for state in self.states(system)
        ]
        return table(["layer", *orders], lines).splitlines()

    def ways(self, state: str | int = 12) -> list[str]:
        """A line for each text, both ways in a layer."""
        lines = []
        for text in [*self.texts(), "mean"]:
            items = next(row["items"] for row in self.rows if row.get("text") == text)
            cells = [
                f"{self.score(text, order, state, measure=way):.1f}"
                for order in self.orders()
                for way in ("forward", "backward")
            ]
            lines.append([text, f"{items:,}", *cells])
        header = ["", "pairs", *(f"{order} {arrow}" for order in self.orders() for arrow in ("→", "←"))]
        return table(header, lines).splitlines()

    def systems(self, texts: Sequence[str], measures: Sequence[str] = ("mrr", "p@1", "p@10")) -> list[str]:
        """A line for each system and order in the layer that is best in the mean, a column for each text."""
        lines = []
        for system in dict.fromkeys(row["system"] for row in self.rows if "system" in row):
            for order in self.orders(system):
                state = self.best("mean", order, system)
                low, high = (self.score("mean", order, state, system, part=part) for part in (1, 2))
                means = [f"{self.score('mean', order, state, system, measure):.1f}" for measure in measures]
                cells = [f"{self.score(text, order, state, system):.1f}" for text in texts]
                layer = state if state.isdecimal() else ""
                lines.append([system, order, layer, means[0], f"{low:.1f} to {high:.1f}", *means[1:], *cells])
        names = {"mrr": "MRR", "p@1": "P@1", "p@5": "P@5", "p@10": "P@10"}
        header = ["", "order", "layer", names[measures[0]], "95 %", *(names[each] for each in measures[1:]), *texts]
        return table(header, lines).splitlines()

    def covered(self) -> list[str]:
        """A line for each dictionary and system: what was out of vocabulary."""
        names = ("pairs", "sources_missing", "targets_missing", "covered", "measured", "learnt_on")
        lines = [
            [each["languages"], each["system"], *(f"{each[name] or 0:,}" for name in names)]
            for each in (row["coverage"] for row in self.rows if "coverage" in row)
        ]
        header = ["", "", "pairs", "words without", "translations without", "pairs with", "measured", "map from"]
        return table(header, lines).splitlines()

    def coverage(self, languages: str, system: str, name: str) -> int:
        """A count of `covered`."""
        return next(
            row["coverage"][name]
            for row in self.rows
            if "coverage" in row and (row["coverage"]["languages"], row["coverage"]["system"]) == (languages, system)
        )


class Centred:
    """The rows of `dlfa analyze cosine` with the centred value, by language and layer."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self._name, self._read = name, read

    def texts(self) -> list[str]:
        """Pairs of languages."""
        return list(dict.fromkeys(row["text"] for row in self._read(self._name)))

    def value(self, text: str, measure: str, state: str | int) -> float:
        """A measure in a layer."""
        return next(r[measure][0] for r in self._read(self._name) if (r["text"], r["state"]) == (text, str(state)))

    def picks(self, measure: str, layers: Iterable[int] = range(1, 12)) -> list[int]:
        """The layer below the last one that has the highest value, in each text."""
        return [max(layers, key=lambda k: self.value(text, measure, k)) for text in self.texts()]

    def mean(self, measure: str, state: str | int) -> float:
        """Mean over texts."""
        return fmean(self.value(text, measure, state) for text in self.texts())

    def table(self) -> list[str]:
        """A line for each layer, cosine and centred of each text."""
        header = ["layer", *(f"{text} {measure}" for text in self.texts() for measure in ("cosine", "centred"))]
        lines = [
            [str(k), *(f"{self.value(text, m, k):.3f}" for text in self.texts() for m in ("cosine", "centred"))]
            for k in range(13)
        ]
        return table(header, lines).splitlines()


def main() -> None:
    """Write rows."""
    *sources, target = map(Path, sys.argv[1:])
    rows = [row for source in sources for row in rows_of(json.loads(source.read_text("utf-8")))]
    target.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
