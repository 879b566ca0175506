"""Texts and pairs of texts for classification; what the length limit cuts off is counted, never silent."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dlfa_adapters.data.alignment import check_texts, ids_of_texts
from dlfa_adapters.data.backend import check_fast, clean, plain_backend
from dlfa_adapters.data.readers.base import shown
from dlfa_adapters.data.readers.labelled_text import read_pairs
from dlfa_adapters.ground.errors import ConfigError, DataError

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
    """Lines as texts, or as pairs with a TAB between the two; where that is not told, if one of them has a TAB.

    Returns:
        First or only texts, and second texts; None for single texts, which keep their TABs.

    Raises:
        DataError: If one of the pairs is none, or the lines are a single string.
    """
    check_texts(texts)
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


def check_pairs(trained_on_pairs: bool | None, given: bool) -> None:
    """Refuse pairs where a model was trained on single texts, and single texts where on pairs; None: not known.

    Raises:
        DataError: If they are not what it was trained on.
    """
    if trained_on_pairs and not given:
        raise DataError(
            "expected pairs, which this model was trained on, got single texts; give the second texts too: text_pairs, "
            'or {"text": ..., "text_pair": ...} in a pipeline.'
        )
    if trained_on_pairs is False and given:
        raise DataError("expected single texts, which this model was trained on, got pairs; leave the second ones out.")


def encode_texts(
    tokenizer: "PreTrainedTokenizerFast",
    texts: Sequence[str],
    text_pairs: Sequence[str | None] | None = None,
    *,
    max_length: int = 128,
) -> tuple[list[EncodedText], TruncationCounts]:
    """Encodes texts or pairs; of a pair that is too long, the longer text is cut first.

    Args:
        tokenizer: A fast tokenizer.
        texts: First or only texts.
        text_pairs: Second texts, as many, None where one has none; None for single texts.
        max_length: Most pieces of an item, special tokens included.

    Returns:
        The items, in order, and what was cut off; the latter is also logged as one warning. UNK stands for special
        tokens such as `</s>` that a text has in it, and for a text of which a tokenizer leaves nothing.

    Raises:
        ConfigError: If the tokenizer is slow or `max_length` leaves no room.
        DataError: If there are not as many second texts as first ones, or a string comes in the place of a list.
    """
    check_fast(tokenizer)
    check_texts(texts)
    if text_pairs is not None:
        check_texts(text_pairs if isinstance(text_pairs, str) else [text for text in text_pairs if text is not None])
    if text_pairs is not None and len(text_pairs) != len(texts):
        raise DataError(f"expected a second text for each of {len(texts)} texts, got {len(text_pairs)}.")
    needed = tokenizer.num_special_tokens_to_add(pair=text_pairs is not None) + (1 if text_pairs is None else 2)
    if max_length < needed:
        raise ConfigError(f"expected max_length of at least {needed}, got {max_length}; type max_length=128.")
    if not texts:
        return [], TruncationCounts()
    first = [clean(text) for text in texts]
    rows: list[str | tuple[str, str]] = [
        text if pair is None else (text, clean(pair))
        for text, pair in zip(first, [None] * len(first) if text_pairs is None else text_pairs, strict=True)
    ]
    backend = plain_backend(tokenizer)
    encodings = backend.encode_batch(rows)
    lengths = [len(encoding.ids) for encoding in encodings]
    long = [i for i, length in enumerate(lengths) if length > max_length]
    if long:
        side = getattr(tokenizer, "truncation_side", "right")
        backend.enable_truncation(max_length, strategy="longest_first", direction=side)
        for i, cut in zip(long, backend.encode_batch([rows[i] for i in long]), strict=True):
            encodings[i] = cut
    takes_types = "token_type_ids" in tokenizer.model_input_names
    types = [(encoding.type_ids or [0]) if takes_types else None for encoding in encodings]
    items = list(map(EncodedText, ids_of_texts(tokenizer, encodings), types))
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


def read_parallel(path: str | Path, limit: int | None = None) -> list[tuple[str, str]]:
    """Sentences and their translations, each of them once.

    Args:
        path: A UTF-8 file with a sentence, a TAB and its translation a line, as `dlfa train -k auto --parallel` takes.
        limit: Take the first of them.

    Returns:
        The pairs. Where a side is blank or stood in an earlier pair, the pair is left out: of two translations of one
        sentence only one can be the nearest.

    Raises:
        DataError: If the file cannot be read, or there are not two pairs.
    """
    pairs, _ = each_once((item.text, item.text_pair or "") for item in read_pairs(path).items)
    if len(pairs) < 2:
        raise DataError(
            f"{path}: expected two or more lines of a sentence, a TAB and its translation, none of them twice; "
            f"got {len(pairs)}"
        )
    return pairs[:limit]


def each_once(rows: Iterable[tuple[str, str]]) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Sentences and their translations without those of which a side is blank, or stood in an earlier pair.

    Returns:
        The pairs, without white space around a side, and how many were left out by reason: `blank`, `repeated`.
    """
    pairs: list[tuple[str, str]] = []
    seen: set[tuple[int, str]] = set()
    left_out: Counter[str] = Counter()
    for row in rows:
        pair = (row[0].strip(), row[1].strip())
        if not all(pair):
            left_out["blank"] += 1
        elif not seen.isdisjoint(enumerate(pair)):
            left_out["repeated"] += 1
        else:
            pairs.append(pair)
            seen.update(enumerate(pair))
    return pairs, left_out
