"""Blocks of rows between blank lines: what CoNLL columns, WikiANN and XTREME's tagging files have in common."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.iob import converted_to_iob2, detect_scheme
from dlfa_adapters.data.readers.lines import write_lines
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.tasks.span_tags import bare, find_span_tags

DOCSTART = "-DOCSTART-"
_COMMENT = re.compile(r"#( |$)|#\s*[\w.:-]+\s*=|#(begin|end) document")
_SHAPE_SAMPLE = 2000  # rows looked at to find separator and number of columns


@dataclass(slots=True)
class Block:
    """Rows of one sentence: the line number and the fields of each."""

    lines: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def tags(self, column: int, notes: Notes) -> list[str]:
        """One column without blanks around its tags, counted, and with an error for every row where it is empty."""
        raw = [row[column] for row in self.rows]
        short = {tag: bare(tag) for tag in set(raw)}
        if all(tag == cut and cut.strip() for tag, cut in short.items()):  # as nearly everywhere
            return raw
        tags = [short[tag] for tag in raw]
        for line, tag, cut in zip(self.lines, raw, tags, strict=True):
            if cut and tag != cut:
                notes.collect("blank_beside_tag", line, tag)
        if not all(map(str.strip, tags)):
            for line, tag in zip(self.lines, tags, strict=True):
                if not tag.strip():
                    notes.error(line, "tag", f"expected a tag in column {column + 1}, but it is empty")
        return tags


def is_blank(line: str) -> bool:
    """Whether a line separates sentences: nothing in it but blanks and TABs."""
    return not line.strip(" \t")


def split_row(line: str, separator: str) -> list[str]:
    """Fields of a row: at every TAB, or at every run of blanks where the file has no TABs."""
    return line.split("\t") if separator == "\t" else [part for part in line.split(" ") if part]


def find_shape(lines: Sequence[str]) -> tuple[str, int]:
    r"""Separator and number of columns of a file: what most of its first rows have.

    Returns:
        `("\t", n)` where most rows have a TAB, else `(" ", n)`; `("\t", 1)` where neither separates anything.
    """
    sample = [line for line in lines[: 2 * _SHAPE_SAMPLE] if not is_blank(line)][:_SHAPE_SAMPLE]
    sample = [line for line in sample if not line.startswith("#")] or sample
    for separator in ("\t", " "):
        widths = Counter(len(split_row(line, separator)) for line in sample if not is_marker(line))
        if widths:
            width = widths.most_common(1)[0][0]
            if width > 1:
                return separator, width
    return "\t", 1


def is_comment(line: str, fields: Sequence[str], width: int, separator: str) -> bool:
    """Whether a line that has not the columns of a row is a comment: `# text`, `# key = value`, `#begin document`.

    In files of three and more columns with TABs a line with `#` and without a TAB is one, too (UNER, HIPE).
    """
    if len(fields) == width or not line.startswith("#"):
        return False
    return _COMMENT.match(line) is not None or (separator == "\t" and width > 2 and "\t" not in line)


def read_blocks(
    lines: Sequence[str],
    notes: Notes,
    separator: str,
    width: int,
    *,
    comment: Callable[[str, Sequence[str]], bool] | None = None,
    header: Sequence[str] = (),
    word: int = 0,
) -> Iterator[Block]:
    """The sentences of a file, as blocks of rows that all have the same number of columns.

    A `-DOCSTART-` row at the start of a block is left out and counted, whether it stands alone or is glued to a
    sentence; so are comments and header rows.

    Args:
        lines: The lines of the file.
        notes: Where problems go.
        separator: TAB or a blank.
        width: Number of columns expected.
        comment: Says of a line that begins with `#` and its fields whether it is a comment; default: `is_comment`.
        header: The cells of the header row, which may stand again where files were joined.
        word: Column of the words.

    Yields:
        One block a sentence; never an empty one.
    """
    is_it = comment or (lambda line, fields: is_comment(line, fields, width, separator))
    block = Block()
    for number, line in enumerate(lines, 1):
        if not line or is_blank(line):
            if block.rows:
                yield block
                block = Block()
            continue
        fields = split_row(line, separator)
        if not block.rows and (is_marker(line) or (len(fields) == width and fields[word] == DOCSTART)):
            notes.drop("docstart_marker")
        elif line.startswith("#") and is_it(line, fields):
            notes.drop("comment_line")
        elif header and fields == list(header):
            notes.drop("header_row")
        elif len(fields) != width:
            between = "TAB" if separator == "\t" else "blank"
            notes.bad_row(
                number,
                "columns",
                f"expected {width} columns with a {between} between them, but got {len(fields)}: {shown(line)}",
            )
        else:
            block.lines.append(number)
            block.rows.append(fields)
    if block.rows:
        yield block


def finish_tagging(read: Read[Sentence], scheme: str | None) -> Read[Sentence]:
    """Turn the tags of a file into IOB2 and note the scheme and what changed; other tags stay as they are.

    Args:
        read: Sentences with tags as in the file.
        scheme: The scheme they are in, written `B-TYPE`, or None to find out both.

    Returns:
        The same object.
    """
    notes = Notes(read.path, strict=False, problems=read.problems)
    span_tags = None if scheme else find_span_tags(Counter(tag for item in read.items for tag in item.tags or ()))
    if span_tags is not None and span_tags.rewritten:
        changed = _rewrite(read.items, lambda tags: [span_tags.rewritten.get(tag, tag) for tag in tags])
        pairs = list(span_tags.rewritten.items())
        how = ", ".join(f"{shown(old)} as {shown(new)}" for old, new in pairs[:3]) + (", ..." if len(pairs) > 3 else "")
        notes.warn(None, "notation", f"{changed} tags are in another notation than B-TYPE and were read so: {how}")
    read.scheme = scheme or detect_scheme(item.tags for item in read.items if item.tags)
    if read.scheme not in (None, "IOB2"):
        changed = _rewrite(read.items, lambda tags: converted_to_iob2(tags, read.scheme))
        notes.warn(None, "scheme", f"tags are in {read.scheme}; {changed} of them were rewritten to make them IOB2")
    return read


def _rewrite(items: Sequence[Sentence], change: Callable[[Sequence[str]], list[str]]) -> int:
    """Change the tags of sentences, keep what the file had in their columns, and count."""
    changed = 0
    for item in items:
        if item.tags is None:
            continue
        tags = change(item.tags)
        if tags != item.tags:
            changed += sum(new != old for new, old in zip(tags, item.tags, strict=True))
            if item.columns is None:
                item.columns = [list(row) for row in zip(item.words, item.tags, strict=True)]
            item.tags = tags
    return changed


def write_rows(path: str, sentences: Sequence[Sequence[Sequence[str]]], separator: str = "\t") -> None:
    """Write sentences, each a list of rows of fields, with a blank line after each.

    Raises:
        DataError: A field cannot be written so that it is read back as it is.
    """
    lines: list[str] = []
    for index, rows in enumerate(sentences):
        if not rows:
            raise DataError(f"{path}: sentence {index} has no words; a file of columns cannot hold it")
        for row in rows:
            line = separator.join(row)
            same = split_row(line, separator) == list(row) and len(row) == len(sentences[0][0])
            if (
                not same
                or is_blank(line)
                or (row is rows[0] and is_marker(line))
                or "\t" in line.replace(separator, "")
            ):
                raise DataError(f"{path}: sentence {index}: this row would not be read back as it is: {list(row)!r}")
            lines.append(line)
        lines.append("")
    write_lines(path, lines)


def is_marker(line: str) -> bool:
    """Whether a line is a mark of CoNLL's between documents, `-DOCSTART-`."""
    return line.startswith(DOCSTART) and line[len(DOCSTART) : len(DOCSTART) + 1] in ("", "\t", " ")
