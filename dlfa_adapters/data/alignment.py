"""From words to sub-word pieces without losing a word.

Built on the word numbers (`word_ids`) that a fast tokenizer gives for words it did not have to split itself; offsets of
characters are never used, because SentencePiece normalises the text and its offsets overlap. A fast tokenizer encodes
such words one by one, so each distinct word is encoded once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenizers import Tokenizer

from dlfa_adapters.data.backend import check_fast, clean, marker_ids, needs_blank, plain_backend
from dlfa_adapters.ground.errors import ConfigError, DataError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_WORDS = "the text {!r:.80}; type split_words(text), which makes words of it."
_WORDS_A_ROW = 1000  # a call encodes all rows, several at a time where there are processor cores


@dataclass(frozen=True, kw_only=True)
class AlignmentCounts:
    """What happened to the words of a data set; the sum of two is taken with `+`.

    Attributes:
        words_total: Words, all of which get a score.
        n_vanished: Words of which the tokenizer leaves nothing (format characters, exotic blanks, ""); UNK stands for
            them.
        n_unk_only: Words of which the tokenizer knows no piece.
        n_giant: Words with more pieces than a window holds; they are scored from their first pieces.
        n_windows: Windows, that is, rows given to the encoder.
    """

    words_total: int = 0
    n_vanished: int = 0
    n_unk_only: int = 0
    n_giant: int = 0
    n_windows: int = 0

    def __add__(self, other: "AlignmentCounts") -> "AlignmentCounts":
        return AlignmentCounts(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )


class WordPieces(NamedTuple):
    """The pieces of one word.

    Attributes:
        ids: The pieces; at least one.
        marker: How many of the first ones only mark a word's beginning (a bare "▁" or "Ġ"). They are given to the
            encoder, but the word is never scored from them.
        vanished: Whether the tokenizer left nothing of the word, so that UNK stands for it.
        unk_only: Whether the tokenizer knows no piece of it.
    """

    ids: tuple[int, ...]
    marker: int = 0
    vanished: bool = False
    unk_only: bool = False

    def cut(self, room: int) -> "WordPieces":
        """The first pieces, at most `room`; the marker goes where it would leave no room for the word."""
        marker = self.marker if self.marker < room else 0
        return self._replace(ids=self.ids[self.marker - marker :][:room], marker=marker)


def check_sentences(sentences: Iterable[Iterable[str]]) -> None:
    """Refuse text where words are expected: letter by letter it would pass for words.

    Raises:
        DataError: If one of the sentences, or all of them, are a string, or a word is none.
    """
    if isinstance(sentences, str):
        raise DataError(f"expected a list of sentences, each a list of words, got {_WORDS.format(sentences)}")
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise DataError(f"expected sentence {number} to be a list of words, got {_WORDS.format(sentence)}")
        check_words(sentence)


def check_words(words: Iterable[str]) -> None:
    """Refuse what are no words; see `check_sentences`.

    Raises:
        DataError: If they are a string, or one of them is none.
    """
    if isinstance(words, str):
        raise DataError(f"expected a list of words, got {_WORDS.format(words)}")
    for word in words:
        if not isinstance(word, str):
            raise DataError(
                f"expected every word to be a string, got {word!r:.80}; type str(word), or split_words(text)."
            )


def check_texts(texts: Iterable[str]) -> None:
    """Refuse what are no texts, such as a single string, which would pass for as many texts as it has letters.

    Raises:
        DataError: If they are a string, or one of them is none.
    """
    if isinstance(texts, str):
        raise DataError(f"expected a list of texts, got the text {texts!r:.80}; put it in a list: [text].")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"expected text {number} to be a string, got {text!r:.80}; join words with blanks.")


def align_words(
    tokenizer: "PreTrainedTokenizerFast", words: Iterable[str], backend: Tokenizer | None = None
) -> dict[str, WordPieces]:
    """The pieces of every word.

    A tokenizer that marks words by the blank before them (byte-level BPE) is given the blank with every word, whether
    it was loaded with `add_prefix_space=True` or not. A word such as `</s>` is no special token: UNK stands for it.

    Args:
        tokenizer: A fast tokenizer.
        words: Any strings, "" too.
        backend: What `plain_backend` makes of the tokenizer, where it is at hand.

    Returns:
        The pieces of each distinct word.

    Raises:
        ConfigError: If the tokenizer is slow, or has no token to stand for words that vanish.
        DataError: If the words are a text, or one of them is no string.
    """
    check_fast(tokenizer)
    distinct = [] if isinstance(words, str) else list(dict.fromkeys(words))
    check_words(distinct or words)
    rows = [distinct[start : start + _WORDS_A_ROW] for start in range(0, len(distinct), _WORDS_A_ROW)]
    backend = plain_backend(tokenizer) if backend is None else backend
    markers = marker_ids(backend)
    prefix = " " if needs_blank(backend) else ""
    texts = [[prefix + clean(word) if word else "" for word in row] for row in rows]
    encodings = backend.encode_batch(texts, is_pretokenized=True, add_special_tokens=False)
    unk = stand_in(tokenizer)
    special = special_ids(tokenizer) - {unk}
    aligned: dict[str, WordPieces] = {}
    for row, encoding in zip(rows, encodings, strict=True):
        pieces: list[list[int]] = [[] for _ in row]
        for number, piece in zip(encoding.word_ids, encoding.ids, strict=True):
            pieces[number].append(unk if piece in special else piece)
        for word, ids in zip(row, pieces, strict=True):
            aligned[word] = _word_pieces(tuple(ids), markers, unk)
    return aligned


def _word_pieces(ids: tuple[int, ...], markers: frozenset[int], unk: int) -> WordPieces:
    """Puts UNK where a word vanished, and notes what is only a marker."""
    marker = next((i for i, piece in enumerate(ids) if piece not in markers), len(ids))
    if marker == len(ids):
        return WordPieces((unk,), vanished=True)
    return WordPieces(ids, marker, unk_only=all(piece == unk for piece in ids[marker:]))


def stand_in(tokenizer: "PreTrainedTokenizerFast") -> int:
    """The token that stands for a word or text of which nothing is left.

    Raises:
        ConfigError: If the tokenizer has none that could.
    """
    for name in ("unk", "mask", "pad", "eos"):
        token_id = getattr(tokenizer, f"{name}_token_id")
        if token_id is not None:
            return int(token_id)
    raise ConfigError(
        "expected a tokenizer with an UNK token, which stands for words of which it leaves no piece, got one without; "
        'type e.g. tokenizer.unk_token = "[UNK]" with a token of its vocabulary.'
    )


def ids_of_texts(tokenizer: "PreTrainedTokenizerFast", encodings: Iterable[Any]) -> list[list[int]]:
    """The pieces of texts or pairs of texts, in which nothing that stands in a text is a special token.

    A `</s>` that somebody wrote would end the text for the encoder. As for words, UNK stands for it, and for a text of
    which the tokenizer leaves nothing.
    """
    special, texts = special_ids(tokenizer), []
    for encoding in encodings:
        ids = list(encoding.ids) or [stand_in(tokenizer)]
        if not special.isdisjoint(ids):
            for i, around in enumerate(encoding.special_tokens_mask):
                if not around and ids[i] in special:
                    ids[i] = stand_in(tokenizer)
        texts.append(ids)
    return texts


def special_ids(tokenizer: "PreTrainedTokenizerFast") -> frozenset[int]:
    """Ids that tell the encoder where a text begins, ends, is padded or masked.

    What this library encodes has none of them in the place of a piece of text: UNK is not among them.
    """
    names = ("cls", "sep", "bos", "eos", "pad", "mask")
    return frozenset({getattr(tokenizer, f"{name}_token_id") for name in names} - {None})
