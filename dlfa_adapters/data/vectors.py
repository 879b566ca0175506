"""Vectors of words: those of a list, by word and state; and the text files of fastText, word2vec and GloVe."""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.data.dictionary import Claims, Matcher
from dlfa_adapters.ground.errors import DataError

STATE = "vector"
"""The one state of vectors that come from no layer."""


@dataclass(frozen=True)
class WordVectors:
    """Vectors of words of a language.

    Attributes:
        rows: Where the vector of each word stands; a word that has none is not in it.
        states: Vectors by state, (words, width) each.
    """

    rows: dict[str, int]
    states: dict[str, Tensor]

    def of(self, words: Sequence[str], state: str) -> Tensor:
        """The vectors of some words, (words, width)."""
        return self.states[state][[self.rows[word] for word in words]]


def read_vectors(path: str | Path, words: Sequence[str], language: str | None = None) -> WordVectors:
    """Read vectors from a text file: a word and its numbers a line, with or without a first line of their counts.

    The file is read line by line, and only the vectors of the words are kept.

    Args:
        path: The file, plain or packed by gzip.
        words: The words that are needed.
        language: Their language; see `Matcher`, which says what is a word of the list.

    Returns:
        Their vectors, of those that the file has.

    Raises:
        DataError: If the file cannot be read, or a line has another number of numbers than those before it, or none.
    """
    claims = Claims(Matcher(words, language))
    found: dict[int, np.ndarray] = {}
    width = 0
    with _opened(Path(path)) as file:
        for number, line in enumerate(file, 1):
            cells = line.rstrip().split(b" ")
            if number == 1 and len(cells) == 2 and all(cell.isdigit() for cell in cells):
                width = int(cells[1])
                continue
            width = width or len(cells) - 1
            try:  # GloVe has words with blanks in them
                word = b" ".join(cells[: len(cells) - width]).decode("utf-8")
            except UnicodeDecodeError:
                word = ""  # fastText cuts long words in the middle of a character; no dictionary has these
            if len(cells) <= width or width < 2:
                numbers = f"a word and {width if width > 1 else 'its'} numbers"
                raise DataError(f"{path}, line {number}: expected {numbers}, got {len(cells)} columns")
            if claimed := claims(word):
                found |= dict.fromkeys(claimed, _numbers(path, number, cells[-width:]))
    rows = {words[place]: row for row, place in enumerate(found)}
    vectors = np.stack(list(found.values())) if found else np.empty((0, width), np.float32)
    return WordVectors(rows, {STATE: torch.from_numpy(vectors)})


def _numbers(path: str | Path, line: int, cells: Sequence[bytes]) -> np.ndarray:
    try:
        vector = np.array([float(cell) for cell in cells], np.float32)
    except ValueError:
        raise DataError(f"{path}, line {line}: expected {len(cells)} numbers behind the word") from None
    if not np.isfinite(vector).all():
        raise DataError(f"{path}, line {line}: expected finite numbers, got NaN or infinity")
    return vector


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, unpacked where gzip packed it."""
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: expected a text file of word vectors, but it cannot be read: {error}") from error
