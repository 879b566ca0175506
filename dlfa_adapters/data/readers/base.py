"""What a reader gives back: items, and with them everything that was left out or looked odd.

A reader runs in one of two ways. Strict (the default): the first line that breaks the format raises `DataError` with
file, line, what was expected and what came. Not strict (`dlfa data check`): every such line is recorded and reading
goes on. Nothing is ever left out without being counted.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import KindOfTask, Task

if TYPE_CHECKING:
    import datasets

Item = TypeVar("Item")


@dataclass(slots=True)
class Sentence:
    """A sentence with a tag for each word.

    Attributes:
        words: The words, exactly as in the file; a word may be empty or hold blanks.
        tags: One tag a word, entity tags in IOB2; None where the file has no tags (XTREME's test files).
        id: The sentence's own id, or its number in the file, from 0.
        lines: Line number of each word, from 1; empty where they come from no file.
        language: Language named by the words themselves (WikiANN's prefix), or None.
        columns: Every column of every row as it was read, where words and tags alone would lose some of it.
        own_id: Whether `id` is the sentence's own, and no number that the reader gave it.
    """

    words: list[str]
    tags: list[str] | None
    id: str
    lines: list[int] = field(default_factory=list)
    language: str | None = None
    columns: list[list[str]] | None = None
    own_id: bool = field(default=False, compare=False)

    @property
    def line(self) -> int:
        """Line of the first word, or 0."""
        return self.lines[0] if self.lines else 0


@dataclass(slots=True)
class Example:
    """A text, or a pair of texts, with its label.

    Attributes:
        text: The text, or the first of a pair (the premise).
        text_pair: The second of a pair (the hypothesis), or None.
        label: The label's name, or None where the file has no labels.
        id: The item's own id, or its row number from 0, counted before anything is left out.
        line: Its line in the file, from 1.
        language: Language named in the row, or None.
        flaw: `placeholder` (a sentence that is only "NS") or `blank`: no real pair, as PAWS-X has some; else None.
        own_id: Whether `id` is the item's own, and no number that the reader gave it.
    """

    text: str
    text_pair: str | None
    label: str | None
    id: str
    line: int = 0
    language: str | None = None
    flaw: str | None = None
    own_id: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to know about a file.

    Attributes:
        line: Line number from 1, or None where it concerns the file.
        level: `error` (the line breaks the format) or `warning` (it is odd, and was read).
        kind: A short name to group by, e.g. `columns`, `encoding`, `orphan_inside`.
        message: A sentence, without file and line.
        count: How many lines it stands for.
    """

    line: int | None
    level: Literal["error", "warning"]
    kind: str
    message: str
    count: int = 1


@dataclass
class Notes:
    """Collects the problems of one file while it is read.

    Attributes:
        path: The file, for error texts.
        strict: Whether an error raises at once.
        problems: Errors and warnings so far.
        dropped: Reason -> number of rows or items left out.
    """

    path: str | Path
    strict: bool = True
    problems: list[Problem] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    _collected: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def collect(self, kind: str, line: int, what: str) -> None:
        """Record one of many places with the same oddity; `warn_collected` tells of all of them at once."""
        self._collected.setdefault(kind, []).append((line, what))

    def warn_collected(self, kind: str, meaning: str) -> None:
        """One warning about what was collected: how often, on which lines, and the first one."""
        places = self._collected.pop(kind, [])
        if places:
            lines = ", ".join(str(line) for line, _ in places[:5]) + (", …" if len(places) > 5 else "")
            first = f"; the first is {shown(places[0][1])}" if places[0][1] else ""
            self.warn(places[0][0], kind, f"{meaning}: {len(places)} (lines {lines}{first})")

    def error(self, line: int | None, kind: str, message: str) -> None:
        """Record a line that breaks the format.

        Raises:
            DataError: When strict.
        """
        if self.strict:
            raise DataError(f"{self.path}, line {line}: {message}" if line else f"{self.path}: {message}")
        self.problems.append(Problem(line, "error", kind, message))

    def bad_row(self, line: int | None, kind: str, message: str) -> None:
        """Record a row that breaks the format, as `error` does, and count it as left out."""
        self.error(line, kind, message)
        self.drop("bad_row")

    def warn(self, line: int | None, kind: str, message: str) -> None:
        """Record something odd that was read all the same."""
        self.problems.append(Problem(line, "warning", kind, message))

    def drop(self, reason: str, count: int = 1) -> None:
        """Count something left out."""
        self.dropped[reason] += count


@dataclass
class Read(Generic[Item]):
    """The result of reading one file.

    Attributes:
        items: Sentences, examples, or plain lines, in file order.
        format: Name of the format, as in `dlfa_adapters.data.readers.READERS`.
        path: The file.
        problems: Errors (only when not strict) and warnings.
        dropped: Reason -> number of rows or items left out.
        scheme: Tag scheme seen in the file (`IOB1`, `IOB2`, `BILOU`, `BIOES`), or None where tags are not of entities.
        word_column: Column of the words, from 0 (tagging in columns only).
        tag_column: Column of the tags, from 0 (tagging in columns only).
        separator: What stands between columns: TAB or a blank (tagging in columns only).
        layout: What was taken for what, e.g. `3 columns: number, word, tag`; empty where the format says it all.
        why: Why it was read so: `as told`, `by its content`, `for the task ner`...
    """

    items: list[Item]
    format: str
    path: str | Path
    problems: list[Problem] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    scheme: str | None = None
    word_column: int | None = None
    tag_column: int | None = None
    separator: str = "\t"
    layout: str = ""
    why: str = ""

    def __str__(self) -> str:
        """In one line what the file was taken for, and why."""
        sentences = [item for item in self.items if isinstance(item, Sentence)]
        parts = [self.layout or self.format]
        if sentences or self.scheme:
            tags = {tag for item in sentences for tag in item.tags or ()}
            types = counted(len({tag[2:] for tag in tags if tag[1:2] == "-"}), "type")
            parts += [f"{self.scheme}; {types}"] if self.scheme else [counted(len(tags), "tag")] if tags else []
            parts += [counted(len(self.items), "sentence")]
        else:
            labels = {getattr(item, "label", None) for item in self.items} - {None}
            parts += [counted(len(labels), "label")] if labels else []
            parts += [counted(len(self.items), "example")]
        return "; ".join(parts) + (f" ({self.why})" if self.why else "")


def counted(number: int, what: str) -> str:
    """A number with what it counts: `1 type`, `14,987 sentences`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shown(text: str) -> str:
    """A piece of a file for an error text: quoted, escaped and short."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


class KindOfData(KindOfTask):
    """What data ask of a kind of task; `dlfa_adapters.kinds.Kind` has all that a kind is.

    Attributes:
        item: Class of the items of readers that such tasks take.
        of_words: Whether an item is a sentence of words rather than a text.
        unit: What an item of a file is called: `sentences` or `examples`.
        format: Format of a file of which nothing else is known than that it is for such a task.
        metrics_in_words: What metrics are called, where it is not their name.
    """

    item: ClassVar[type]
    of_words: ClassVar[bool]
    unit: ClassVar[str]
    format: ClassVar[str]
    metrics_in_words: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def features(self) -> "datasets.Features":
        """The columns of a dataset beside `id` and `language`."""

    @abstractmethod
    def usable(
        self, rows: list[tuple[str, Any]], task: Task | None, split: str, notes: Notes
    ) -> tuple[list[tuple[str, Any]], Counter[str]]:
        """Leave out what a split cannot use, of rows of language and item, and count labels.

        Returns:
            Rows, and how often each label occurs.

        Raises:
            DataError: If an item has no gold.
        """

    def labels_in(self, items: Sequence[Any]) -> Counter[str]:
        """How often each label occurs in a file that is first of all for another kind; none by default."""
        return Counter()

    @abstractmethod
    def columns(self, items: Sequence[Any]) -> dict[str, list[Any]]:
        """The values of the columns of `features`."""

    @abstractmethod
    def to_learn(self, counts: Mapping[str, int]) -> tuple[list[str], str]:
        """What a task of one's own with these labels learns of them, and by which metric it is scored."""
