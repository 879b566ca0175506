"""Text as rows of pieces that know their words: a pair in a row, texts one after the other; what is hidden of them.

Whole words are hidden as in the later release of BERT by Devlin et al. 2019 (arXiv 1810.04805): words are drawn, and
all pieces of a word are hidden or none, until there are as many pieces as would be hidden one by one. What a word is
says `split_words` for running text, so that a sentence in Chinese or Thai is not one word; sentences of words have
theirs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dlfa_adapters.data.backend import Specials, clean, plain_backend, special_tokens
from dlfa_adapters.data.words import split_words, word_offsets
from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.learning.adapt.text import Text
from dlfa_adapters.learning.language.masking import Masking

_AT_ONCE = 1024  # texts that are in memory as encodings


class Pieces(NamedTuple):
    """A row before anything is hidden.

    Attributes:
        ids: The pieces, special ones included.
        words: Number of the word of each piece, distinct within the row; -1 for special pieces.
        types: 0 for the first text and 1 for the second; None where the encoder takes none, or there are no pairs.
    """

    ids: np.ndarray
    words: np.ndarray
    types: list[int] | None


class RowMasking:
    """Hides 15 % of the pieces of a row: one by one, or `whole_words`, all pieces of a word or none."""

    def __init__(self, tokenizer: Any, whole_words: bool) -> None:
        self.pieces, self.whole_words = Masking(tokenizer), whole_words

    def has_candidates(self, row: Pieces) -> bool:
        """Whether there is a piece that can be hidden."""
        return self.pieces.has_candidates(row.ids)

    def __call__(self, row: Pieces, random: np.random.Generator) -> Row:
        """A row with some pieces hidden, and these as its labels."""
        hidden = self._words(row, random) if self.whole_words else self.pieces.choose(row.ids, random)
        shown = self.pieces.hide(row.ids, hidden, random)
        return Row(shown.input_ids, row.types, shown.labels)

    def _words(self, row: Pieces, random: np.random.Generator) -> np.ndarray:
        """The pieces of words that are drawn; a word that is more than what is left is passed over."""
        candidates, left = self.pieces.candidates(row.ids)
        words = row.words[candidates]
        drawn = random.permutation(np.unique(words))
        sizes = dict(zip(*np.unique(words, return_counts=True), strict=True))
        chosen = []
        for word in drawn:
            if sizes[word] <= left:
                chosen.append(word)
                left -= sizes[word]
        return candidates[np.isin(words, chosen or [min(drawn, key=sizes.__getitem__)])]


class RowMaker:
    """Makes rows, of at most `max_length` pieces, of texts.

    Attributes:
        dropped: What was cut off, by reason.
    """

    def __init__(self, tokenizer: Any, max_length: int) -> None:
        self.backend, self.max_length = plain_backend(tokenizer), max_length
        self.specials: Specials = special_tokens(self.backend)
        self.of_pair: int = tokenizer.num_special_tokens_to_add(pair=True)
        self.takes_types = "token_type_ids" in tokenizer.model_input_names
        self.dropped: Counter[str] = Counter()

    @property
    def least_length(self) -> int:
        """The shortest `max_length` that has room for a pair."""
        return max(len(self.specials), self.of_pair) + 2

    def rows(self, texts: Sequence[Text], language: str, are_words: bool, with_types: bool) -> Iterator[Pieces]:
        """Rows of texts of one language, in their order.

        Complete single texts fill a row as far as they fit, with the end token behind each, and one that is too long
        goes on in the next row. A pair is a row; where it is too long, the longer text is cut first.

        Texts are running text, or words with a blank between them (`are_words`). Rows have token types `with_types`, as
        all must where some are pairs.
        """
        has_types = self.takes_types and with_types
        code = None if language == "und" else language
        single: list[str] = []
        for text in texts:
            if isinstance(text, str):
                single.append(text)
            else:
                yield self._pair(text, code, has_types)
        ids, words = list(self.specials.before), [-1] * len(self.specials.before)
        end, room = list(self.specials.after), self.max_length - len(self.specials)
        for pieces, numbers in self._encoded(single, code, are_words):
            for start in range(0, len(pieces), room):
                part = pieces[start : start + room]
                if len(ids) + len(part) + len(end) > self.max_length:
                    yield _row(ids, words, has_types)
                    ids, words = list(self.specials.before), [-1] * len(self.specials.before)
                first = max(words, default=-1) + 1
                words += [first + n - numbers[start] for n in numbers[start : start + room]] + [-1] * len(end)
                ids += part + end
        if len(ids) > len(self.specials.before):
            yield _row(ids, words, has_types)

    def _encoded(
        self, texts: Sequence[str], language: str | None, are_words: bool
    ) -> Iterator[tuple[list[int], list[int]]]:
        """Pieces of each text and the numbers of their words."""
        for start in range(0, len(texts), _AT_ONCE):
            some = [clean(text) for text in texts[start : start + _AT_ONCE]]
            for text, found in zip(some, self.backend.encode_batch(some, add_special_tokens=False), strict=True):
                if found.ids:
                    yield found.ids, numbers_of(text, _words(text, language, are_words), found.offsets)

    def _pair(self, pair: tuple[str, str], language: str | None, has_types: bool) -> Pieces:
        texts = [clean(text) for text in pair]
        sides = self.backend.encode_batch(texts, add_special_tokens=False)
        lengths, room = [len(side.ids) for side in sides], self.max_length - self.of_pair
        if sum(lengths) > room:
            longer = int(lengths[1] > lengths[0])
            kept = max(room - lengths[1 - longer], (room + 1) // 2)
            self.dropped["pieces_cut_off"] += sum(lengths) - room
            sides[longer].truncate(kept)
            sides[1 - longer].truncate(min(lengths[1 - longer], room - kept))
        numbers = [
            numbers_of(text, _words(text, language, False), side.offsets)
            for text, side in zip(texts, sides, strict=True)
        ]
        before = max(numbers[0], default=-1) + 1
        both = self.backend.post_process(*sides)
        of_text = iter([*numbers[0], *(before + number for number in numbers[1])])
        words = [-1 if special else next(of_text) for special in both.special_tokens_mask]
        return Pieces(np.array(both.ids), np.array(words), list(both.type_ids) if has_types else None)


def numbers_of(text: str, words: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The word that each piece of a text is of, or for a piece that is white space the next one.

    Of the words nothing but white space is missing; `offsets` are the characters of each piece, from the tokenizer.
    """
    of_character, number = [max(0, len(words) - 1)] * (len(text) + 1), 0
    place = 0
    for number, (_, end) in enumerate(word_offsets(text, words)):
        of_character[place:end] = [number] * (end - place)
        place = end
    return [of_character[max(start, end - 1)] for start, end in offsets]


def _words(text: str, language: str | None, are_words: bool) -> list[str]:
    return text.split(" ") if are_words else split_words(text, language)


def _row(ids: list[int], words: list[int], has_types: bool) -> Pieces:
    return Pieces(np.array(ids), np.array(words), [0] * len(ids) if has_types else None)
