"""WikiANN (PAN-X) as its authors ship it: `en:Rome TAB B-LOC`, a language before every word.

Pan et al. 2017, "Cross-lingual Name Tagging and Linking for 282 Languages". The prefix ends at the first colon and is
a Wikipedia code (`en`, `simple`, `zh-min-nan`, `be-x-old`), so `en:12:30` is the word `12:30` and `en:` an empty word.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.data.readers.base import Notes, Read, Sentence, shown
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.readers.rows import find_shape, finish_tagging, is_blank, read_blocks, write_rows
from dlfa_adapters.ground.errors import DataError

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
            without one is kept as it is, and there is one warning for all of them.
        scheme: Tag scheme; default: found from the tags.
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
    read = Read(
        items,
        "wikiann",
        path,
        notes.problems,
        notes.dropped,
        None,
        0,
        1,
        separator,
        "2 columns: language:word, tag" if cut else "",
    )
    return finish_tagging(read, scheme)


def write_wikiann(path: str | Path, sentences: Sequence[Sentence]) -> None:
    """Write sentences as WikiANN has them, with the language of each sentence as prefix where it has one.

    Args:
        path: The file to write.
        sentences: Sentences with tags.

    Raises:
        DataError: A row would not be read back as it is.
    """
    rows = []
    for item in sentences:
        if item.tags is None or not all(tag.strip() for tag in item.tags):
            raise DataError(f"{path}: sentence {item.id} has a word without a tag; write_words writes words alone")
        start = f"{item.language}:" if item.language else ""
        rows.append(item.columns or [[start + word, tag] for word, tag in zip(item.words, item.tags, strict=True)])
    write_rows(str(path), rows)
