"""Plain text as rows with masked pieces: for training, a new mask each time; held out, the same mask always."""

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.data.backend import Specials, check_fast, pieces_of, plain_backend, special_tokens
from dlfa_adapters.data.readers import Sentence, read_file
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds.encoded import Row, collate_rows
from dlfa_adapters.learning.language.masking import MaskedDraws, Masking

Text = TypeVar("Text", bound=Hashable)
HeldOut = TypeVar("HeldOut", list[Row], dict[str, list[Row]])

HELD_OUT_SHARE, HELD_OUT_MOST = 0.05, 500
LEAST = 20  # different paragraphs; fewer cannot be divided into some to learn from and some to measure on


@dataclass
class MaskedText(Generic[HeldOut]):
    """Text that is ready for training.

    Attributes:
        rows: What Trainer batches, in this order, a step after the other.
        ids: The pieces of each row that is learnt from.
        held_out: The rows that perplexity is measured on; of a domain, by language.
        about: What the record says of it.
    """

    rows: MaskedDraws
    ids: list[np.ndarray]
    held_out: HeldOut
    about: dict[str, Any]

    def collator(self, pad_token_id: int | None) -> Callable[[Sequence[Any]], dict[str, Tensor]]:
        """What pads rows to the longest of a batch."""
        return partial(collate_rows, pad_token_id=pad_token_id)

    def counts(self, pieces: int) -> Tensor:
        """How often each of so many pieces occurs in what is learnt from."""
        return torch.from_numpy(np.bincount(np.concatenate(self.ids), minlength=pieces))


def read_paragraphs(files: Sequence[str | Path], format: str) -> tuple[list[str], Counter[str]]:
    """The paragraphs of some files.

    Args:
        files: The files.
        format: Name of a reader: `text`, one paragraph a line; with others (`wikiann`, `conllu`...) the words of a
            sentence are joined by blanks, and the texts of a pair stand after each other.

    Returns:
        The paragraphs, and what was left out by reason.

    Raises:
        ConfigError: If there is no such format.
        DataError: If a file cannot be read.
    """
    paragraphs: list[str] = []
    dropped: Counter[str] = Counter()
    for file in files:
        read = read_file(file, format)
        dropped += read.dropped
        for item in read.items:
            texts = [" ".join(item.words)] if isinstance(item, Sentence) else [item.text, item.text_pair]
            paragraphs += [text for text in texts if text is not None and text.strip()]
    return paragraphs, dropped


def mask_text(
    files: Sequence[str | Path],
    format: str,
    tokenizer: Any,
    *,
    max_length: int,
    count: int,
    seed: int,
) -> MaskedText[list[Row]]:
    """Read text, hold some out, cut it into rows; see `read_paragraphs` and `mask_paragraphs`.

    Raises:
        ConfigError: If the tokenizer has no mask token, or is slow.
        DataError: If a file cannot be read, or holds too little.
    """
    check_masks(tokenizer)
    paragraphs, dropped = read_paragraphs(files, format)
    masked = mask_paragraphs(paragraphs, tokenizer, str(files[0]), max_length=max_length, count=count, seed=seed)
    dropped.update(masked.about["dropped"])
    about = {"files": [str(file) for file in files], "format": format, **masked.about, "dropped": dict(dropped)}
    return replace(masked, about=about)


def mask_paragraphs(
    paragraphs: Sequence[str], tokenizer: Any, place: str, *, max_length: int, count: int, seed: int
) -> MaskedText[list[Row]]:
    """Hold some paragraphs out, and cut the others into rows, which they fill in this order.

    Args:
        paragraphs: The paragraphs.
        tokenizer: A fast one, with a mask token.
        place: Where they are from, for an error's text.
        max_length: Most pieces of a row.
        count: How many rows training takes.
        seed: Of the choice, the order and the masks.

    Raises:
        ConfigError: If `max_length` leaves no room.
        DataError: If there is too little.
    """
    held, rest = hold_out(paragraphs, seed)
    backend = plain_backend(tokenizer)
    specials = special_tokens(backend)
    if max_length < len(specials) + 2:
        raise ConfigError(f"max_length must be at least {len(specials) + 2}, got {max_length}; type 128.")
    cut = [list(_rows(backend, part, specials, max_length)) for part in (rest, held)]
    masking = Masking(tokenizer)
    train, measured = ([row for row in rows if masking.has_candidates(row)] for rows in cut)
    unknown = sum(map(len, cut)) - len(train) - len(measured)
    if not train or not measured:
        raise DataError(f"{place}: the tokenizer knows no piece of this text; name another encoder with --model.")
    about = {
        "paragraphs": len(paragraphs),
        "held_out": len(held),
        "rows": len(train),
        "pieces": sum(map(len, train)),
        "dropped": {"row_without_known_piece": unknown} if unknown else {},
        "fingerprint": fingerprint_of(paragraphs),
    }
    fixed = [masking(row, np.random.default_rng((seed, 0, i))) for i, row in enumerate(measured)]
    return MaskedText(MaskedDraws(train, masking, count, seed), train, fixed, about)


def check_masks(tokenizer: Any) -> None:
    """Refuse, with a `ConfigError`, a tokenizer that is slow, or has no mask token."""
    check_fast(tokenizer)
    if tokenizer.mask_token_id is None:
        raise ConfigError(
            f"Masked language modelling needs a mask token, and {type(tokenizer).__name__} of this encoder has none; "
            "name another encoder with --model."
        )


def hold_out(paragraphs: Sequence[Text], seed: int) -> tuple[list[Text], list[Text]]:
    """Choose paragraphs to measure on; no copy of them stays among the others.

    Returns:
        Those held out, 5 % and at most 500 of the different ones, and the others, both in the order given.

    Raises:
        DataError: If there are too few.
    """
    different = list(dict.fromkeys(paragraphs))
    if len(different) < LEAST:
        raise DataError(f"expected text of at least {LEAST} different paragraphs, one a line, got {len(different)}")
    size = min(HELD_OUT_MOST, max(1, round(HELD_OUT_SHARE * len(different))))
    chosen = {different[i] for i in np.random.default_rng((seed, 2)).choice(len(different), size, replace=False)}
    return [text for text in different if text in chosen], [text for text in paragraphs if text not in chosen]


def _rows(backend: Any, paragraphs: Iterable[str], specials: Specials, max_length: int) -> Iterator[np.ndarray]:
    """Rows of as many complete paragraphs as fit, with the end token behind each; one that is too long is cut."""
    room = max_length - len(specials)
    row = list(specials.before)
    for ids in pieces_of(backend, paragraphs):
        for start in range(0, len(ids), room):
            part = [*ids[start : start + room], *specials.after]
            if len(row) + len(part) > max_length:
                yield np.array(row)
                row = list(specials.before)
            row += part
    if len(row) > len(specials.before):
        yield np.array(row)


def fingerprint_of(paragraphs: Iterable[str]) -> str:
    """A hash of some text."""
    digest = hashlib.sha256()
    for text in paragraphs:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]
