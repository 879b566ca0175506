"""CoNLL columns: a word a row, its tag in one of the columns, a blank line between sentences.

Two columns or more, with TABs (XTREME, WikiANN without prefixes) or blanks between them (CoNLL-2003, MasakhaNER).
Nothing is quoted and nothing is a comment in two columns: `#Rome` is a word.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.rows import Block, find_shape, finish_tagging, is_blank, read_blocks, write_rows
from dlfa_adapters.errors import DataError

_EMPTY_VALUES = frozenset(("_", "-", ""))


def read_columns(
    path: str | Path,
    *,
    word_column: int | None = None,
    tag_column: int | None = None,
    scheme: str | None = None,
    strict: bool = True,
) -> Read[Sentence]:
    """Read a file of columns.

    Args:
        path: The file.
        word_column: Column of the words, from 0. Default: the first, or the second where the first only numbers the
            words of each sentence.
        tag_column: Column of the tags, from 0 or negative from the end. Default: the last one that is not all `_` or
            `-`.
        scheme: Scheme of entity tags in the file (`IOB1`, `IOB2`, `BILOU`, `BIOES`); default: found from the tags.
        strict: Whether the first bad row raises.

    Returns:
        The sentences, tags in IOB2.

    Raises:
        DataError: The file cannot be read, has one column only, or (when strict) a row with another number of columns.
    """
    notes = Notes(path, strict)
    lines = read_lines(path, notes)
    separator, width = find_shape(lines)
    first = next((number for number, line in enumerate(lines, 1) if not is_blank(line)), None)
    if first is not None and width < 2:
        raise DataError(
            f"{path}, line {first}: expected at least two columns (word and tag, a TAB between them), but got "
            f"{shown(lines[first - 1])}; a file of words without tags is read with format='words'"
        )
    blocks: Iterable[Block] = read_blocks(lines, notes, separator, width)
    if width > 2:
        blocks = list(blocks)
        word = _word_column(blocks) if word_column is None else _resolve(path, word_column, width, "word_column")
        tag = _tag_column(blocks, word) if tag_column is None else _resolve(path, tag_column, width, "tag_column")
        notes.warn(None, "which_columns", f"column {word + 1} of {width} is taken as the word, {tag + 1} as the tag")
    else:
        word = _resolve(path, word_column or 0, 2, "word_column")
        tag = _resolve(path, 1 if tag_column is None else tag_column, 2, "tag_column")
    items = []
    for index, block in enumerate(blocks):
        words = [row[word] for row in block.rows]
        columns = block.rows if width > 2 or (word, tag) != (0, 1) else None
        items.append(Sentence(words, block.tags(tag, notes), str(index), block.lines, None, columns))
        if block.comments:
            notes.drop("comment_line", len(block.comments))
    read = Read(items, "columns", path, notes.problems, notes.dropped, None, word, tag, separator)
    if lines and not items:
        notes.warn(None, "empty", "there is no sentence in the file")
    return finish_tagging(read, scheme)


def write_columns(path: str | Path, sentences: Sequence[Sentence], separator: str = "\t") -> None:
    """Write sentences as columns: all columns where the reader kept them, otherwise word and tag.

    Args:
        path: The file to write.
        sentences: Sentences with tags.
        separator: TAB, or a blank.

    Raises:
        DataError: A word or tag holds the separator or a line end, or a sentence is empty.
    """
    rows = []
    for item in sentences:
        if item.tags is None or not all(tag.strip() for tag in item.tags):
            raise DataError(f"{path}: sentence {item.id} has a word without a tag; write_words writes words alone")
        rows.append(item.columns or [[word, tag] for word, tag in zip(item.words, item.tags, strict=True)])
    write_rows(str(path), rows, separator)


def _resolve(path: str | Path, column: int, width: int, name: str) -> int:
    if not -width <= column < width:
        raise DataError(f"{path}: expected {name} in 0..{width - 1}, the file's columns, but got {column}")
    return column % width


def _word_column(blocks: Sequence[Block]) -> int:
    if not blocks or len(blocks[0].rows[0]) < 3:
        return 0
    numbered = all(
        [row[0] for row in block.rows] == [str(first + i) for i in range(len(block.rows))]
        for block in blocks
        for first in (1 if block.rows[0][0] == "1" else 0,)
    )
    return 1 if numbered else 0


def _tag_column(blocks: Sequence[Block], word: int) -> int:
    if not blocks:
        return 1
    for column in range(len(blocks[0].rows[0]) - 1, word, -1):
        if any(row[column] not in _EMPTY_VALUES for block in blocks for row in block.rows):
            return column
    return len(blocks[0].rows[0]) - 1
