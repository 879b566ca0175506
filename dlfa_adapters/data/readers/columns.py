"""CoNLL columns: a word a row, its tag in one of the columns, a blank line between sentences.

Two columns or more, with TABs (XTREME, WikiANN without prefixes) or blanks between them (CoNLL-2003, MasakhaNER).
Nothing is quoted, and `#Rome` is a word wherever it stands in a row like the others.
"""

from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.roles import Column, find_roles
from dlfa_adapters.data.readers.rows import find_shape, finish_tagging, is_blank, read_blocks, write_rows
from dlfa_adapters.ground.errors import DataError


def read_columns(
    path: str | Path,
    *,
    word_column: Column | None = None,
    tag_column: Column | None = None,
    scheme: str | None = None,
    labels: Sequence[str] = (),
    strict: bool = True,
) -> Read[Sentence]:
    """Read a file of columns.

    Args:
        path: The file.
        word_column: Column of the words, from 0, or its name in the header row. Default: the first one that holds
            neither numbers nor tags.
        tag_column: Column of the tags, from 0 or negative from the end, or its name in the header row. Default: the
            one with entity tags or parts of speech, else the last one that is not all `_` or `-`.
        scheme: Scheme of entity tags in the file (`IOB1`, `IOB2`, `BILOU`, `BIOES`); default: found from the tags.
        labels: Labels of the task, where it is known: of several columns with tags the one that holds these is taken.
        strict: Whether the first bad row raises.

    Returns:
        The sentences, tags in IOB2.

    Raises:
        DataError: The file cannot be read, has one column only, lacks a column that is named, two columns hold tags,
            or (when strict) a row has another number of columns.
    """
    notes = Notes(path, strict)
    lines = read_lines(path, notes)
    _, width = find_shape(lines)
    first = next((number for number, line in enumerate(lines, 1) if not is_blank(line)), None)
    if first is not None and width < 2:
        raise DataError(
            f"{path}, line {first}: expected at least two columns (word and tag, a TAB between them), but got "
            f"{shown(lines[first - 1])}; a file of words without tags is read with format='words'"
        )
    roles = find_roles(path, lines, word_column=word_column, tag_column=tag_column, labels=labels)
    word, tag = roles.word, roles.tag
    blocks = read_blocks(
        lines, notes, roles.separator, roles.width, comment=roles.is_comment, header=roles.header, word=word
    )
    items = []
    for index, block in enumerate(blocks):
        words, tags = [row[word] for row in block.rows], block.tags(tag, notes)
        same = (roles.width, word, tag) == (2, 0, 1) and tags == [row[1] for row in block.rows]
        items.append(Sentence(words, tags, str(index), block.lines, None, None if same else block.rows))
    notes.warn_collected("blank_beside_tag", "tags with blanks beside them, which are left out")
    read = Read(items, "columns", path, notes.problems, notes.dropped, None, word, tag, roles.separator, str(roles))
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
