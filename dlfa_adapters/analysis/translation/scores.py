"""What is said of translated tokens: which language they are of, the convert rate, BLEU-1.

Everything is counted by sentence and is a function of sums over sentences, so that it can be resampled.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError

KINDS = ("source", "target", "both", "neither")
"""Of an output token: it is in the token set of the source language alone, of the target language alone, of both, or of
neither."""

PIECES = "pieces"
UNITS = ("13a", "intl", "zh", "char", "none", PIECES)
"""What BLEU-1 counts: words by one of sacrebleu's tokenizers, characters, what has blanks around it (`none`), or the
pieces of the encoder's tokenizer."""

_CHINESE = frozenset("zh zho chi cmn yue wuu gan hak lzh".split())
_NO_BLANKS = frozenset("ja jpn th tha lo lao km khm my mya bo bod dz dzo".split())


@dataclass(frozen=True)
class TokenSets:
    """The pieces of two languages (the V_s and V_t of Liu et al. 2020, arXiv 2004.09205, their Table 3).

    Attributes:
        source: Those that occur in text of the source language.
        target: Those that occur in text of the target language; a piece may be in both.
    """

    source: frozenset[int]
    target: frozenset[int]

    def sizes(self) -> dict[str, int]:
        """How many there are: of each language, and of both."""
        return {
            "source": len(self.source),
            "target": len(self.target),
            "both": len(self.source & self.target),
        }

    def counts(self, pieces: Iterable[int]) -> list[int]:
        """How many of some output tokens are of each of `KINDS`."""
        kinds = Counter((piece in self.source, piece in self.target) for piece in pieces)
        return [kinds[True, False], kinds[False, True], kinds[True, True], kinds[False, False]]


def token_set(rows: Iterable[Iterable[int]], special: Iterable[int], least: int = 1) -> frozenset[int]:
    """The pieces that occur in the rows of some text, at least so often, without the special ones."""
    times = Counter(piece for row in rows for piece in row)
    return frozenset(piece for piece, count in times.items() if count >= least) - frozenset(special)


def convert_rate(kinds: np.ndarray) -> np.ndarray:
    r"""The share of output tokens that are of the target language alone (Liu et al. 2020, arXiv 2004.09205).

    $$ CR = \frac{\#\{y \in V_t - V_s\}}{\#\{y\} - \#\{y \in V_s \cap V_t\}} $$

    Tokens that both languages have are in neither count; those of no language are in the lower one. Sentences are
    pooled: what is summed are tokens, not rates.

    Args:
        kinds: Numbers of tokens of each of `KINDS`, (..., 4).

    Returns:
        (...); NaN where both languages have every token.
    """
    source, target, _, neither = np.moveaxis(np.asarray(kinds, dtype=np.float64), -1, 0)
    of_one = source + target + neither
    return np.divide(target, of_one, out=np.full(of_one.shape, np.nan), where=of_one > 0)


def bleu_1(counts: np.ndarray) -> np.ndarray:
    r"""Unigram precision with the brevity penalty (Papineni et al. 2002), as sacrebleu has it for one n-gram order.

    $$ \text{BLEU-1} = \min(1, e^{1 - r/o}) \, m / o $$

    Args:
        counts: Matches m, length of the output o and of the reference r, summed over sentences, (..., 3).

    Returns:
        (...), from 0 to 1; 0 where there is no output.
    """
    matches, output, reference = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    some = output > 0
    ratio = np.divide(reference, output, out=np.zeros(output.shape), where=some)
    precision = np.divide(matches, output, out=np.zeros(output.shape), where=some)
    return np.minimum(1.0, np.exp(1.0 - ratio)) * precision


class Bleu1:
    """Counts what `bleu_1` is a function of, with sacrebleu (Post 2018, "A Call for Clarity in Reporting BLEU Scores").

    Args:
        units: One of `UNITS`.

    Raises:
        ConfigError: If it is none of them.
        MissingExtraError: If sacrebleu is not installed.
    """

    def __init__(self, units: str) -> None:
        check_units(units)
        from sacrebleu.metrics.bleu import BLEU

        # For one order `effective_order` changes nothing but a warning.
        options: dict[str, Any] = {"smooth_method": "none", "effective_order": True}
        self._bleu = BLEU(max_ngram_order=1, tokenize="none" if units == PIECES else units, **options)

    def counts(self, outputs: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """Matches, length of the output, length of the reference: (sentences, 3).

        Args:
            outputs: What was written; pieces with blanks between them, where pieces are counted.
            references: The translation of each, likewise.
        """
        rows = []
        for output, reference in zip(outputs, references, strict=True):
            score = self._bleu.sentence_score(output, [reference])
            rows.append([score.counts[0], score.sys_len, score.ref_len])
        return np.array(rows, dtype=np.int64).reshape(len(rows), 3)


def units_of(language: str) -> str:
    """What BLEU-1 counts in a language where nothing is said: characters where words have no blanks between them."""
    code = language.replace("_", "-").partition("-")[0].lower()
    if code in _CHINESE:
        return "zh"
    return "char" if code in _NO_BLANKS else "13a"


def check_units(units: str) -> None:
    """Refuse units that cannot be counted.

    Raises:
        ConfigError: If they are none of `UNITS`.
        MissingExtraError: If sacrebleu is not installed.
    """
    if units not in UNITS:
        raise ConfigError(f"BLEU-1 counts one of {', '.join(UNITS)}, got {units!r}; type {UNITS[0]}.")
    if find_spec("sacrebleu") is None:
        raise MissingExtraError("BLEU-1 needs sacrebleu; type pip install 'dlfa-adapters[translate]'.")
