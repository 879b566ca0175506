"""What is translated, and what is counted of an output: by sentence, in numbers whose sums make every score."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlfa_adapters.analysis.translation.scores import PIECES, Bleu1, TokenSets, bleu_1, convert_rate, token_set
from dlfa_adapters.data.backend import pieces_of, plain_backend, special_tokens
from dlfa_adapters.data.pairs import EncodedText, TruncationCounts, encode_texts
from dlfa_adapters.encoders.means import some_at_once
from dlfa_adapters.scores.intervals import Estimate

MEASURES = ("bleu_1", "others", "gap", "convert_rate", "neither", "kept")
"""`bleu_1`: against the translation; `others`: against the translation of the next sentence, which is what frequent
words and full stops alone give; `gap`: the first minus the second; `convert_rate`: see `scores.convert_rate`;
`neither`: the share of tokens of neither language; `kept`: the share of tokens that are those of the input."""

_AT_ONCE = 1000  # texts in memory as pieces
_KINDS, _BLEU, _OTHERS, _KEPT, _TOKENS = slice(0, 4), slice(4, 7), slice(7, 10), 10, 11


@dataclass(frozen=True)
class Translated:
    """Sentences, encoded, and their translations.

    Attributes:
        tokenizer: Of the encoder.
        rows: The sentences for the encoder.
        own: [start, stop) of what is theirs in every row: special tokens stand before and behind.
        references: The translations, as BLEU-1 counts them.
        sets: The pieces of both languages.
        units: What BLEU-1 counts.
        cut: What the length limit did to the sentences.
    """

    tokenizer: Any
    rows: list[EncodedText]
    own: list[tuple[int, int]]
    references: list[str]
    sets: TokenSets
    units: str
    cut: TruncationCounts

    @classmethod
    def of(
        cls, tokenizer: Any, pairs: Sequence[tuple[str, str]], units: str, max_length: int, sets: TokenSets | None
    ) -> "Translated":
        """From the texts; for the arguments see `measure_translation`."""
        rows, cut = encode_texts(tokenizer, [source for source, _ in pairs], max_length=max_length)
        around = special_tokens(plain_backend(tokenizer))
        own = [(len(around.before), len(row.input_ids) - len(around.after)) for row in rows]
        translations = [translation for _, translation in pairs]
        if units == PIECES:
            references = [_joined(pieces) for pieces in pieces_of(plain_backend(tokenizer), translations)]
        else:
            references = translations
        if sets is None:
            sets = token_sets(tokenizer, [source for source, _ in pairs], translations)
        return cls(tokenizer, rows, own, references, sets, units, cut)

    def inputs(self) -> list[list[int]]:
        """The pieces of every sentence without special tokens."""
        return [row.input_ids[start:stop] for row, (start, stop) in zip(self.rows, self.own, strict=True)]

    def words(self, pieces: Sequence[int]) -> str:
        """An output as text; special tokens in it are left out."""
        return str(self.tokenizer.decode(pieces, skip_special_tokens=True))

    def counts(self, outputs: Sequence[Sequence[int]]) -> np.ndarray:
        """What `estimates` makes scores of.

        Args:
            outputs: The pieces that were written for every sentence, one for each of its own.

        Returns:
            (sentences, 12).
        """
        written = [_joined(output) if self.units == PIECES else self.words(output) for output in outputs]
        bleu, others = Bleu1(self.units), [*self.references[1:], self.references[0]]
        kept = [sum(map(int.__eq__, output, given)) for output, given in zip(outputs, self.inputs(), strict=True)]
        return np.concatenate(
            [
                np.array([self.sets.counts(output) for output in outputs]),
                bleu.counts(written, self.references),
                bleu.counts(written, others),
                np.array([kept, [len(output) for output in outputs]]).T,
            ],
            axis=1,
        )


def measures(sums: np.ndarray) -> np.ndarray:
    """Every one of `MEASURES` from sums of what `Translated.counts` gives, (..., 12) to (..., 6)."""
    own, others = bleu_1(sums[..., _BLEU]), bleu_1(sums[..., _OTHERS])
    tokens = np.maximum(sums[..., _TOKENS], 1)
    neither, kept = sums[..., _KINDS][..., 3] / tokens, sums[..., _KEPT] / tokens
    return np.stack([own, others, own - others, convert_rate(sums[..., _KINDS]), neither, kept], axis=-1)


def estimates(sums: np.ndarray, drawn: np.ndarray, sentences: int) -> dict[str, Estimate]:
    """The measures with their intervals, from sums of all sentences, (12,), and of each resample, (resamples, 12)."""
    values = zip(MEASURES, measures(sums), measures(drawn).T, strict=True)
    return {name: Estimate.of(value, samples, sentences) for name, value, samples in values}


def token_sets(tokenizer: Any, source: Iterable[str], target: Iterable[str], least: int = 1) -> TokenSets:
    """The pieces of two languages from text of both, which may be longer than the memory; see `scores.token_set`."""
    special, backend = tokenizer.all_special_ids, plain_backend(tokenizer)

    def rows(texts: Iterable[str]) -> Iterator[list[int]]:
        for some in some_at_once(texts, _AT_ONCE):
            yield from pieces_of(backend, some)

    return TokenSets(*(token_set(rows(texts), special, least) for texts in (source, target)))


def _joined(pieces: Sequence[int]) -> str:
    return " ".join(map(str, pieces))
