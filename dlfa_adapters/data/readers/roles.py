"""What the columns of a tagging file hold: word, tag, number; a header row; comments. Found from the content."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dlfa_adapters.data.readers.rows import find_shape, is_blank, is_comment, is_marker, split_row
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks import POS
from dlfa_adapters.tasks.span_tags import bare, find_span_tags, read_tag

Column = int | str
"""A column by its place, from 0 or negative from the end, or by its name in the header row."""

UPOS = frozenset((*POS.labels, "_"))
_EMPTY = frozenset(("_", "-", ""))
_CHUNKS = frozenset("NP VP PP ADVP ADJP SBAR PRT CONJP INTJ LST UCP".split())
_WORD_NAMES = frozenset("word words token tokens form text surface wordform".split())
_TAG_NAMES = frozenset(
    "tag tags label labels ner ner_tag ner_tags ner-tag ne entity entities bio iob iob2 pos pos_tag pos_tags upos "
    "upostag".split()
)
_MAJORITY, _MOST, _FAR_MORE = 0.6, 0.9, 4


@dataclass(frozen=True)
class Roles:
    """The columns of a file.

    Attributes:
        separator: TAB or a blank.
        width: Number of columns.
        word: Column of the words, from 0.
        tag: Column of the tags.
        numbers: Columns of numbers before the word.
        header: The cells of the header row, () where there is none.
        tags: The different tags.
        tagged: Whether the tags are entity tags or universal parts of speech, so that there is no doubt about them.
    """

    separator: str
    width: int
    word: int
    tag: int
    numbers: tuple[int, ...] = ()
    header: tuple[str, ...] = ()
    tags: frozenset[str] = field(default=frozenset(), repr=False)
    tagged: bool = False

    def is_comment(self, line: str, fields: Sequence[str]) -> bool:
        """Whether a line is none of the rows: `#` begins a word wherever the line is a row like the others."""
        if not line.startswith("#"):
            return False
        if len(fields) != self.width:
            return is_comment(line, fields, self.width, self.separator) or 0 in self.numbers
        if 0 in self.numbers:
            return not fields[0].isdecimal()
        tag = bare(fields[self.tag])
        alone = self.separator == " " or (self.tagged and bare(fields[0]) == "#")
        return alone and tag not in self.tags | UPOS and read_tag(tag) is None

    def __str__(self) -> str:
        names = []
        for column in range(self.width):
            role = {self.word: "word", self.tag: "tag"}.get(column, "number" if column in self.numbers else "-")
            named = self.header and role in ("word", "tag") and self.header[column].lower() != role
            names.append(f"{role} ({self.header[column]})" if named else role)
        return f"{self.width} columns: {', '.join(names)}" + (" (with a header row)" if self.header else "")


def find_roles(
    path: str | Path,
    lines: Sequence[str],
    *,
    word_column: Column | None = None,
    tag_column: Column | None = None,
    labels: Sequence[str] = (),
) -> Roles:
    """The columns of a file.

    Args:
        path: The file, for error texts.
        lines: Its lines.
        word_column: Column of the words; default: the first one that holds neither numbers nor tags.
        tag_column: Column of the tags; default: the one with entity tags or parts of speech, wherever it stands, else
            the last one that is not all `_` or `-`.
        labels: Labels of the task, where it is known: a column that holds these is preferred.

    Raises:
        DataError: A column is named that there is not, or one is both; or two hold tags, and nothing says which counts.
    """
    separator, width = find_shape(lines)
    width = max(width, 2)
    counts = {line: n for line, n in Counter(lines).items() if not is_blank(line) and not is_marker(line)}
    rows = [(row, n) for line, n in counts.items() if len(row := split_row(line, separator)) == width]
    header = tuple(rows[0][0]) if rows and _is_header(rows[0][0]) else ()
    rows = [(row, n) for row, n in rows if not row[0].startswith("#")] or rows
    if header:
        rows = [(row, n) for row, n in rows if tuple(row) != header]
    values = [_without_blanks((row[column], n) for row, n in rows) for column in range(width)]
    word = None if word_column is None else resolve_column(path, word_column, "word_column", header, width)
    tag = None if tag_column is None else resolve_column(path, tag_column, "tag_column", header, width)
    if word is not None and word == tag:
        raise DataError(f"{path}: expected word_column and tag_column to be two columns, but both are {word}")
    if tag is None:
        tag = _find_tag(path, values, word, header, labels)
    numbers = tuple(i for i in range(width) if width > 2 and i not in (word, tag) and _is_number(values[i]))
    if word is None:
        word = _find_word(values, tag, numbers, header)
    numbers = tuple(i for i in numbers if i < word)
    tagged = _kind(values[tag]) != ""
    return Roles(separator, width, word, tag, numbers, header, frozenset(values[tag]), tagged)


def _is_header(row: Sequence[str]) -> bool:
    """Whether a row names a column of words and one of tags."""
    names = [cell.strip().lstrip("#").strip().lower() for cell in row]
    is_tag = [name in _TAG_NAMES or name.startswith("ne-") for name in names]
    return any(name in _WORD_NAMES for name in names) and any(is_tag)


def resolve_column(path: str | Path, column: Column, name: str, header: Sequence[str], width: int = 0) -> int:
    """The place of a column, from 0, by its place or its name in a header row; `name` is the option that it is for.

    Raises:
        DataError: There is no such column.
    """
    width = width or len(header)
    if isinstance(column, str) and not column.removeprefix("-").isdecimal():
        names = [cell.strip().lower() for cell in header]
        if column.lower() not in names:
            there = f"are named {', '.join(header)}" if header else "have no names: there is no header row"
            raise DataError(f"{path}: expected {name} among the columns, but got {column!r}, and they {there}")
        return names.index(column.lower())
    place = int(column)
    if not -width <= place < width:
        raise DataError(f"{path}: expected {name} in 0..{width - 1}, the file's columns, but got {place}")
    return place % width


def _without_blanks(cells: Iterable[tuple[str, int]]) -> Counter[str]:
    """How often each cell occurs, without the blanks beside it."""
    written: Counter[str] = Counter()
    for cell, n in cells:
        written[cell] += n
    counts: Counter[str] = Counter()
    for cell, n in written.items():
        counts[bare(cell)] += n
    return counts


def _find_word(values: Sequence[Counter[str]], tag: int, numbers: Sequence[int], header: Sequence[str]) -> int:
    """The first column of words; where the tag stands before all others, the one with the most different values."""
    others = [i for i in range(len(values)) if i != tag]
    named = [i for i in others if header and header[i].strip().lower() in _WORD_NAMES]
    filled = [i for i in others if i not in numbers and not _EMPTY >= values[i].keys()]
    words = named or [i for i in filled if not _kind(values[i])] or filled or others
    return words[0] if tag > words[0] else max(words, key=lambda i: (len(values[i]), -i))


def _find_tag(
    path: str | Path, values: Sequence[Counter[str]], word: int | None, header: Sequence[str], labels: Sequence[str]
) -> int:
    columns = [i for i in range(len(values)) if i != word]
    kinds = {i: _kind(values[i]) for i in columns}
    wanted = {label.split("-", 1)[-1] for label in labels} - {"O"}
    after = [i for i in columns if i > 0]
    if after and all(kinds[i] == "outside" for i in after):  # else the words would all be O
        return after[-1]
    for fitting in (
        [i for i in columns if wanted and _share(values[i], wanted) >= _MAJORITY],
        [i for i in columns if kinds[i] == "entity"],
        [i for i in columns if kinds[i] == "chunk"],
        [i for i in columns if kinds[i] == "upos"],
        [i for i in columns if kinds[i] == "outside"][-1:],
    ):
        later = [i for i in fitting if i > 0] or fitting  # the first column is the word's unless it alone holds tags
        if later:
            return later[0] if len(later) == 1 else _most_tags(path, values, later, header)
    named = [i for i in columns if header and header[i].strip().lower() in _TAG_NAMES]
    if len(named) == 1:
        return named[0]
    filled = [i for i in columns if i > 0 and not _EMPTY >= values[i].keys()]
    return max(filled or columns)


def _most_tags(path: str | Path, values: Sequence[Counter[str]], columns: Sequence[int], header: Sequence[str]) -> int:
    """The column with far more tags than the others, e.g. the outer of two layers of entities (GermEval)."""
    counts = {i: sum(n for tag, n in values[i].items() if tag not in _EMPTY and tag != "O") for i in columns}
    first, second = sorted(columns, key=lambda i: -counts[i])[:2]
    if counts[first] >= _FAR_MORE * counts[second]:
        return first
    names = [header[i] if header else str(i) for i in sorted(columns)]
    raise DataError(
        f"{path}: {len(columns)} columns hold tags; name the right one with --tag-column (tag_column=): "
        f"{', '.join(names[:-1])} or {names[-1]}"
    )


def _share(values: Counter[str], wanted: set[str]) -> float:
    """How many of the tags besides O, in one scheme or another, are of the wanted types or labels."""
    tags = {tag: n for tag, n in values.items() if tag != "O" and tag not in _EMPTY}
    read = {tag: read_tag(tag) for tag in tags}
    known = sum(n for tag, n in tags.items() if tag in wanted or ((each := read[tag]) and each.kind in wanted))
    return known / max(1, sum(tags.values()))


def _kind(values: Counter[str]) -> str:
    """`entity`, `chunk` (entity tags of the types of phrases), `upos`, `outside` (O alone); empty if none of these."""
    filled = {value: n for value, n in values.items() if value not in _EMPTY}
    if filled.keys() == {"O"}:
        return "outside"
    if find_span_tags(filled) is not None:
        kinds = [(reading.kind, n) for tag, n in filled.items() if (reading := read_tag(tag)) and reading.prefix != "O"]
        chunks = sum(n for kind, n in kinds if kind in _CHUNKS)
        return "chunk" if chunks >= _MOST * sum(n for _, n in kinds) else "entity"
    upos = sum(n for value, n in values.items() if value in UPOS and value not in _EMPTY)
    return "upos" if filled and upos >= _MOST * sum(filled.values()) else ""


def _is_number(values: Counter[str]) -> bool:
    total = sum(values.values())
    return total > 0 and sum(n for value, n in values.items() if value.isdecimal()) >= _MOST * total
