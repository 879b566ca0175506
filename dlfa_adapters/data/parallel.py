"""Parallel text of several pairs of languages: files of two columns, two files line by line, and folders of either."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlfa_adapters.data.pairs import each_once
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.labelled_text import read_pairs
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.ground.errors import DataError

_LANGUAGE = "[a-z]{2,3}(?:_[A-Z][a-z]{3})?"
_LANGUAGES = re.compile(rf"(?:.*[_-])?({_LANGUAGE})-({_LANGUAGE})")
_NAMED = re.compile(r"([\w-]+)=(.+)")
_COLUMNS = (".tsv", ".txt")


@dataclass(frozen=True)
class ParallelFiles:
    """Where the parallel text of a pair of languages is.

    Attributes:
        name: What the pair is called, e.g. `deu-eng`.
        files: A file of sentence, TAB, translation, or two files whose lines belong together.
    """

    name: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class ParallelText:
    """The parallel text of a pair of languages.

    Attributes:
        name: What the pair is called.
        pairs: Sentences and translations, each once.
        left_out: How many pairs were left out by reason.
    """

    name: str
    pairs: list[tuple[str, str]]
    left_out: Counter[str]


def find_parallel(places: Sequence[str | Path]) -> list[ParallelFiles]:
    """The files that are meant by some places.

    Args:
        places: Each is a file of two columns; or what two files begin with that end in their languages, as Moses and
            LASER's Tatoeba have them (`tatoeba.deu-eng` for `tatoeba.deu-eng.deu` and `tatoeba.deu-eng.eng`); or a
            folder of either. `NAME=PLACE` gives a file a name; without one it is the pair of languages in the
            file's name, such as `en-de`, or that name.

    Returns:
        One a pair of languages.

    Raises:
        DataError: If a place holds none, or two have the same name.
    """
    found = [files for place in places for files in _at(str(place))]
    twice = [name for name, times in Counter(files.name for files in found).items() if times > 1]
    if twice:
        paths = " and ".join(str(files.files[0]) for files in found if files.name == twice[0])
        raise DataError(f"expected a name for each parallel text, but {paths} are both {twice[0]}; type NAME=FILE.")
    return found


def read_parallel_text(files: ParallelFiles, limit: int | None = None) -> ParallelText:
    """The pairs of a parallel text.

    Args:
        files: Where they are.
        limit: Take the first of them.

    Returns:
        The pairs. Where a side is blank or stood in an earlier pair, the pair is left out and counted: of two
        translations of one sentence only one can be the nearest.

    Raises:
        DataError: If a file cannot be read, two files have not as many lines, or there are not two pairs.
    """
    rows: Iterable[tuple[str, str]]
    if len(files.files) == 1:
        rows = [(item.text, item.text_pair or "") for item in read_pairs(files.files[0]).items]
    else:
        first, second = (read_lines(path, Notes(path)) for path in files.files)
        if len(first) != len(second):
            raise DataError(
                f"{files.files[1]}: expected a line for each of the {len(first)} of {files.files[0].name}, "
                f"got {len(second)}"
            )
        rows = zip(first, second, strict=True)
    pairs, left_out = each_once(rows)
    if len(pairs) < 2:
        raise DataError(
            f"{files.files[0]}: expected two or more pairs of sentences, none of them twice; got {len(pairs)}"
        )
    return ParallelText(files.name, pairs[:limit], left_out)


def languages_in(name: str) -> tuple[str, str] | None:
    """The pair of languages in the name of a file, without its ending: `tatoeba.deu-eng` has `deu` and `eng`."""
    for part in reversed(name.split(".")):
        if match := _LANGUAGES.fullmatch(part):
            return match[1], match[2]
    return None


def name_and_place(place: str) -> tuple[str | None, Path]:
    """What `NAME=FILE` says; None where there is no name, or a file is called so."""
    match = _NAMED.fullmatch(place)
    return (match[1], Path(match[2])) if match and not Path(place).exists() else (None, Path(place))


def _at(place: str) -> list[ParallelFiles]:
    name, path = name_and_place(place)
    if path.is_dir():
        inside = sorted({_stem(each) for each in path.iterdir() if each.is_file() and not each.name.startswith(".")})
        found = [files for stem in inside for files in (_file(stem), _two_files(stem)) if files]
        if not found:
            raise DataError(
                f"{path}: expected files of a sentence, a TAB and its translation, called en-de.tsv, or pairs of files "
                "such as x.en-de.en and x.en-de.de; there are none"
            )
        return found
    files = ParallelFiles(_named(path), (path,)) if path.is_file() else _two_files(path)
    if files is None:
        raise DataError(
            f"{path}: expected a file, a folder, or what two files such as x.en-de.en begin with; there is none of them"
        )
    return [ParallelFiles(name or files.name, files.files)]


def _file(path: Path) -> ParallelFiles | None:
    """A file of two columns in a folder."""
    return ParallelFiles(_named(path), (path,)) if path.is_file() and path.suffix in _COLUMNS else None


def _two_files(path: Path) -> ParallelFiles | None:
    """The two files that begin like this."""
    languages = languages_in(path.name)
    if languages is None:
        return None
    both = tuple(path.with_name(f"{path.name}.{language}") for language in languages)
    return ParallelFiles("-".join(languages), both) if all(each.is_file() for each in both) else None


def _named(path: Path) -> str:
    languages = languages_in(path.stem)
    return "-".join(languages) if languages else path.stem


def _stem(path: Path) -> Path:
    """A file of two columns itself, of another what is before its last point."""
    return path if path.suffix in _COLUMNS else path.with_suffix("")
