"""Sentences of words in columns: a word a row, its tag in one of the columns, a blank line between sentences.

CoNLL columns: two or more, with TABs (XTREME, WikiANN without prefixes) or blanks between them (CoNLL-2003,
MasakhaNER). Nothing is quoted, and `#Rome` is a word wherever it stands in a row like the others.

WikiANN (PAN-X) as its authors ship it (Pan et al. 2017, "Cross-lingual Name Tagging and Linking for 282 Languages"):
`en:Rome TAB B-LOC`, a language before every word. The prefix ends at the first colon and is a Wikipedia code (`en`,
`simple`, `zh-min-nan`, `be-x-old`), so `en:12:30` is the word `12:30` and `en:` an empty word.

Words alone are XTREME's test files, whose tags it withholds.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
        scheme: Scheme of entity tags in the file (`IOB1`, `IOB2`, `BILOU`, `BIOES`); default: detected from the tags.
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
    """Write sentences with tags as columns: all columns where the reader stored them, otherwise word and tag.

    Raises:
        DataError: A word or tag holds the separator or a line end, or a sentence is empty.
    """
    rows = []
    for item in sentences:
        if item.tags is None or not all(tag.strip() for tag in item.tags):
            raise DataError(f"{path}: sentence {item.id} has a word without a tag; write_words writes words alone")
        rows.append(item.columns or [[word, tag] for word, tag in zip(item.words, item.tags, strict=True)])
    write_rows(str(path), rows, separator)


_PREFIX = re.compile(r"((?:[a-z]{2,3}|simple|tokipona)(?:-[a-z]{1,10})*):")


def has_prefixes(lines: Sequence[str]) -> bool:
    """Whether most rows begin with a language code and a colon."""
    rows = [line for line in lines[:2000] if not is_blank(line)]
    return bool(rows) and 2 * sum(_PREFIX.match(line) is not None for line in rows) > len(rows)


def read_wikiann(
    path: str | Path, *, prefix: bool | None = None, scheme: str | None = None, strict: bool = True
) -> Read[Sentence]:
    """Read a WikiANN file, with or without language prefixes.

    Args:
        path: The file.
        prefix: Whether words carry a language prefix; default: whether most of them do. In a file with prefixes a word
            without one stays as it is, and there is one warning for all of them.
        scheme: Tag scheme; default: detected from the tags.
        strict: Whether the first bad row raises.

    Returns:
        The sentences; `language` is the prefix where all words of the sentence have the same.

    Raises:
        DataError: The file cannot be read, or (when strict) a row has not two columns.
    """
    notes = Notes(path, strict)
    lines = read_lines(path, notes)
    separator, _ = find_shape(lines)
    cut = has_prefixes(lines) if prefix is None else prefix
    items = []
    without: list[int] = []
    for index, block in enumerate(read_blocks(lines, notes, separator, 2)):
        words = [row[0] for row in block.rows]
        language = None
        if cut:
            matches = [_PREFIX.match(word) for word in words]
            without += [line for line, match in zip(block.lines, matches, strict=True) if match is None]
            languages = Counter(match[1] for match in matches if match)
            language = next(iter(languages)) if list(languages.values()) == [len(words)] else None
            words = [word[match.end() :] if match else word for word, match in zip(words, matches, strict=True)]
        tags = block.tags(1, notes)
        columns = block.rows if cut or tags != [row[1] for row in block.rows] else None
        items.append(Sentence(words, tags, str(index), block.lines, language, columns))
    notes.warn_collected("blank_beside_tag", "tags with blanks beside them, which are left out")
    if without:
        word = shown(lines[without[0] - 1])
        notes.warn(without[0], "prefix", f"{len(without)} words have no language prefix; the first is {word}")
    if lines and not items:
        notes.warn(None, "empty", "there is no sentence in the file")
    layout = "2 columns: language:word, tag" if cut else ""
    read = Read(items, "wikiann", path, notes.problems, notes.dropped, None, 0, 1, separator, layout)
    return finish_tagging(read, scheme)


def write_wikiann(path: str | Path, sentences: Sequence[Sentence]) -> None:
    """Write sentences as WikiANN has them, with the language of each sentence as prefix where it has one.

    Raises:
        DataError: A row would not be read back as it is.
    """
    with_prefix = [
        replace(item, words=[f"{item.language}:{word}" for word in item.words]) if item.language else item
        for item in sentences
    ]
    write_columns(path, with_prefix)


def read_words(path: str | Path, *, strict: bool = True) -> Read[Sentence]:
    """Read sentences of words without tags.

    Returns:
        Sentences whose `tags` are None.

    Raises:
        DataError: The file cannot be read, or (when strict) a row has more than one column.
    """
    notes = Notes(path, strict)
    lines = read_lines(path, notes)
    items = [
        Sentence([row[0] for row in block.rows], None, str(index), block.lines)
        for index, block in enumerate(read_blocks(lines, notes, "\t", 1))
    ]
    if lines and not items:
        notes.warn(None, "empty", "there is no sentence in the file")
    return Read(items, "words", path, notes.problems, notes.dropped, None, 0)


def write_words(path: str | Path, sentences: Sequence[Sentence]) -> None:
    """Write words alone, one a line; tags are not written.

    Raises:
        DataError: A word is empty or holds a TAB or a line end, or a sentence is empty.
    """
    write_rows(str(path), [[[word] for word in item.words] for item in sentences])
