"""Texts and pairs of texts for classification; what the length limit cuts off is counted, never silent."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from dlfa_adapters.data.alignment import stand_in
from dlfa_adapters.data.backend import check_fast, clean
from dlfa_adapters.data.readers.base import shown
from dlfa_adapters.errors import ConfigError, DataError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

logger = logging.getLogger(__name__)


class EncodedText(NamedTuple):
    """A text or a pair of texts for the encoder.

    Attributes:
        input_ids: The pieces, special tokens included.
        token_type_ids: 0 for the first text and 1 for the second, or None where the encoder takes none.
    """

    input_ids: list[int]
    token_type_ids: list[int] | None


@dataclass(frozen=True, kw_only=True)
class TruncationCounts:
    """What the length limit did; the sum of two is taken with `+`.

    Attributes:
        items_total: Items.
        n_truncated: Items that were longer than the limit.
        pieces_total: Pieces before truncation, special tokens included.
        pieces_dropped: Pieces cut off.
    """

    items_total: int = 0
    n_truncated: int = 0
    pieces_total: int = 0
    pieces_dropped: int = 0

    def __add__(self, other: "TruncationCounts") -> "TruncationCounts":
        return TruncationCounts(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )


def split_pairs(texts: Sequence[str], pair: bool | None = None) -> tuple[list[str], list[str] | None]:
    """Lines as texts, or as pairs of texts with a TAB between the two.

    Args:
        texts: The lines.
        pair: Whether they are pairs; None: they are if one of them has a TAB.

    Returns:
        First or only texts, and second texts; None for single texts, which keep their TABs.

    Raises:
        DataError: If one of the pairs is none.
    """
    if not (any("\t" in text for text in texts) if pair is None else pair):
        return list(texts), None
    rows = [text.split("\t") for text in texts]
    for number, row in enumerate(rows, 1):
        if len(row) != 2:
            text = shown("\t".join(row))
            raise DataError(
                f"text {number}: expected a pair: two texts with a TAB between them, but got {len(row)}: {text}"
            )
    return [first for first, _ in rows], [second for _, second in rows]


def encode_texts(
    tokenizer: "PreTrainedTokenizerFast",
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int = 128,
) -> tuple[list[EncodedText], TruncationCounts]:
    """Encodes texts or pairs; of a pair that is too long, the longer text is cut first.

    Args:
        tokenizer: A fast tokenizer.
        texts: First or only texts.
        text_pairs: Second texts, as many; None for single texts.
        max_length: Most pieces of an item, special tokens included.

    Returns:
        The items, in order, and what was cut off; the latter is also logged as one warning. Where a tokenizer without
        special tokens leaves nothing of a text, UNK stands for it.

    Raises:
        ConfigError: If the tokenizer is slow or `max_length` leaves no room.
        DataError: If there are not as many second texts as first ones.
    """
    check_fast(tokenizer)
    if text_pairs is not None and len(text_pairs) != len(texts):
        raise DataError(f"expected a second text for each of {len(texts)} texts, got {len(text_pairs)}.")
    needed = tokenizer.num_special_tokens_to_add(pair=text_pairs is not None) + (1 if text_pairs is None else 2)
    if max_length < needed:
        raise ConfigError(f"expected max_length of at least {needed}, got {max_length}; type max_length=128.")
    if not texts:
        return [], TruncationCounts()
    first = [clean(text) for text in texts]
    second = None if text_pairs is None else [clean(text) for text in text_pairs]
    encoded = tokenizer(first, second, padding=False, truncation=False, verbose=False)
    lengths = [len(ids) for ids in encoded["input_ids"]]
    type_ids = encoded.get("token_type_ids") or [None] * len(first)
    rows = zip(encoded["input_ids"], type_ids, strict=True)
    items = [EncodedText(ids, types) if ids else _empty(tokenizer, types) for ids, types in rows]
    long = [i for i, length in enumerate(lengths) if length > max_length]
    if long:
        cut = tokenizer(
            [first[i] for i in long],
            None if second is None else [second[i] for i in long],
            padding=False,
            truncation="longest_first",
            max_length=max_length,
        )
        types = cut.get("token_type_ids") or [None] * len(long)
        for i, ids, row in zip(long, cut["input_ids"], types, strict=True):
            items[i] = EncodedText(ids, row)
    dropped = sum(lengths[i] - len(items[i].input_ids) for i in long)
    counts = TruncationCounts(
        items_total=len(items), n_truncated=len(long), pieces_total=sum(lengths), pieces_dropped=dropped
    )
    if long:
        logger.warning(
            "%d of %d items are longer than max_length=%d: %d of %d pieces were cut off.",
            len(long), len(items), max_length, dropped, counts.pieces_total,
        )  # fmt: skip
    return items, counts


def _empty(tokenizer: "PreTrainedTokenizerFast", types: list[int] | None) -> EncodedText:
    """What the encoder sees of a text of which the tokenizer leaves nothing."""
    return EncodedText([stand_in(tokenizer)], None if types is None else [0])
