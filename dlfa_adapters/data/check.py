"""Look a data file over before training or evaluating on it: counts, labels, oddities, and every problem at once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers import TAGGING_FORMATS, Problem, read_file
from dlfa_adapters.data.readers.iob import split_tag
from dlfa_adapters.data.readers.oddities import find_oddities
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import KINDS

_MOST_OF_A_KIND, _SHOWN_OF_A_KIND = 10, 3


@dataclass(frozen=True)
class DataCheck:
    """What a file holds.

    Attributes:
        path: The file.
        format: Its format, a name of `dlfa_adapters.data.readers.READERS`.
        kind: `tagging`, `classification` or `text` (no labels in the format).
        items: Number of sentences or examples.
        words: Words of a tagging file; white-space separated pieces of the texts otherwise.
        labels: Label -> count, most frequent first; entity tags in IOB2.
        entities: Entity type -> number of entities (B- tags, and I- tags that start one), where tags are of entities.
        scheme: Tag scheme of the file, or None.
        metric: By what a task of one's own with these labels is scored: `span_f1`, `accuracy`; None without labels.
        also: Another kind of task that the file can be used for -> label -> count, most frequent first.
        dropped: Reason -> number of rows or items that are left out.
        problems: Errors and warnings in the order of their lines, those about the file first; of many errors with
            one cause the first three, and one that counts the others.
        taken: What was taken for what, and why.
    """

    path: str
    format: str
    kind: str
    items: int
    words: int
    labels: dict[str, int]
    entities: dict[str, int] = field(default_factory=dict)
    scheme: str | None = None
    metric: str | None = None
    also: dict[str, dict[str, int]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    taken: str = ""

    @property
    def unit(self) -> str:
        """What `items` counts: `sentences` or `examples`."""
        return KINDS[self.kind].unit if self.kind in KINDS else "examples"

    @property
    def errors(self) -> list[Problem]:
        """The problems that keep the file from being used."""
        return [problem for problem in self.problems if problem.level == "error"]

    def raise_for_errors(self) -> None:
        """Raise one sentence about all errors.

        Raises:
            DataError: There is an error.
        """
        if self.errors:
            first = self.errors[0]
            where = f"{self.path}, line {first.line}" if first.line else self.path
            count = sum(error.count for error in self.errors)
            more = f" (the first of {count:,} errors)" if count > 1 else ""
            raise DataError(f"{where}: {first.message}{more}")

    def to_dict(self) -> dict[str, Any]:
        """The check as plain values, for JSON."""
        return {
            "path": self.path,
            "format": self.format,
            "read": self.taken,
            "kind": self.kind,
            self.unit: self.items,
            "words": self.words,
            "labels": self.labels,
            "entities": self.entities,
            "scheme": self.scheme,
            "metric": self.metric,
            "also": self.also,
            "dropped": self.dropped,
            "problems": list(map(asdict, self.problems)),
        }


def check_data(path: str | Path, format: str | None = None, **options: Any) -> DataCheck:
    """Read a file to its end whatever is wrong in it, and tell everything.

    Args:
        path: A file.
        format: Its format; default: detected from content and name.
        options: Further arguments of the format's reader.

    Returns:
        Counts, labels and problems. Bad rows are among the problems, each with its line.

    Raises:
        ConfigError: There is no such format.
        DataError: There is nothing to read: no such file, a folder, one column where two are needed.
    """
    read = read_file(path, format, strict=False, **options)
    problems = _by_cause(read.problems)
    labels: Counter[str] = Counter()
    entities: Counter[str] = Counter()
    words = 0
    tagging = read.format in TAGGING_FORMATS
    for item in read.items:
        if tagging:
            words += len(item.words)
            labels.update(item.tags or ())
            if read.scheme is not None and item.tags is not None:
                entities.update(_entity_types(item.tags))
        else:
            words += len(item.text.split()) + len((item.text_pair or "").split())
            if item.label is not None:
                labels[item.label] += 1
    kind = "tagging" if tagging else "text" if read.format in ("text", "pairs") else "classification"
    odd = find_oddities(read.items, read.scheme)
    problems += [p for p in odd if kind != "text" or p.kind not in ("no_label", "blank_text")]
    if not read.items:
        problems = [p for p in problems if p.kind != "empty"]
        problems.append(Problem(None, "error", "empty", "expected sentences or examples, but there are none"))
    return DataCheck(
        path=str(path),
        format=read.format,
        kind=kind,
        items=len(read.items),
        words=words,
        labels=dict(labels.most_common()),
        entities=dict(entities.most_common()),
        scheme=read.scheme,
        metric=KINDS[kind].to_learn(labels)[1] if labels else None,
        also=_also(kind, read.items),
        dropped=dict(read.dropped),
        problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)),
        taken=str(read),
    )


def _also(kind: str, items: Sequence[Any]) -> dict[str, dict[str, int]]:
    """What else items are for, and the labels that they have there."""
    others = (each for each in KINDS.values() if each.name != kind and all(isinstance(x, each.item) for x in items))
    found = {other.name: dict(other.labels_in(items).most_common()) for other in others}
    return {name: labels for name, labels in found.items() if labels}


def _by_cause(problems: Sequence[Problem]) -> list[Problem]:
    """The problems, but of many errors of one kind the first three and one for all others."""
    errors: dict[str, list[Problem]] = {}
    for problem in problems:
        if problem.level == "error":
            errors.setdefault(problem.kind, []).append(problem)
    out = [problem for problem in problems if problem.level != "error"]
    for kind, group in errors.items():
        if len(group) <= _MOST_OF_A_KIND:
            out += group
            continue
        out += group[:_SHOWN_OF_A_KIND]
        rest = group[_SHOWN_OF_A_KIND:]
        message = f"{len(rest):,} more lines with this cause, up to line {rest[-1].line}; the next: {rest[0].message}"
        out.append(Problem(rest[0].line, "error", kind, message, len(rest)))
    return out


def _entity_types(tags: Sequence[str]) -> list[str]:
    """Types of the entities of a sentence, an I- after O or another type starting one (conlleval's reading).

    The type of `B` alone is called `_`.
    """
    types = []
    last: str | None = None
    for tag in tags:
        prefix, kind = split_tag(tag) or ("O", "")
        if prefix != "O" and (prefix == "B" or kind != last):
            types.append(kind or "_")
        last = None if prefix == "O" else kind
    return types
