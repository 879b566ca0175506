"""What the aligner asks of a tokenizer: special tokens, marks of a word's beginning, whether words need a blank."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD: they have no UTF-8 form, so no tokenizer takes them."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def check_fast(tokenizer: "PreTrainedTokenizerFast") -> None:
    """Refuses slow tokenizers, which cannot say which piece belongs to which word.

    Raises:
        ConfigError: If the tokenizer is not a fast one.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigError(
            f"expected a fast tokenizer (its word_ids say which piece belongs to which word), got "
            f"{type(tokenizer).__name__}; type AutoTokenizer.from_pretrained(name, use_fast=True)."
        )


def plain_backend(tokenizer: "PreTrainedTokenizerFast") -> Tokenizer:
    """The Rust tokenizer without the truncation and padding that it may have from its file; one of one's own.

    The tokenizer that was given is not touched, so any number of threads may use it meanwhile. Vocabulary and all other
    parts are shared with it, so this takes microseconds; whoever gets it may set truncation.
    """
    given = tokenizer.backend_tokenizer
    own = Tokenizer(given.model)
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        part = getattr(given, name)
        if part is not None:
            setattr(own, name, part)
    added = given.get_added_tokens_decoder()
    own.add_tokens([added[token_id] for token_id in sorted(added)])  # in this order they get the ids that they had
    return own


def pieces_of(backend: Tokenizer, texts: Iterable[str]) -> list[list[int]]:
    """The pieces of complete texts, without special tokens; `backend` of `plain_backend`."""
    encoded = backend.encode_batch([clean(text) for text in texts], add_special_tokens=False)
    return [encoding.ids for encoding in encoded]


@dataclass(frozen=True)
class Specials:
    """The special tokens that a tokenizer puts around one sequence; either side may be empty."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


def special_tokens(backend: Any) -> Specials:
    """Finds the special tokens by encoding words, whatever the family: one on each side, one first or last, or none.

    Returns:
        The ids before and after the words.

    Raises:
        ConfigError: If the tokenizer makes no piece at all of any word tried.
    """
    encoding = backend.encode(["a", "1", "."], is_pretokenized=True)
    inside = [i for i, word in enumerate(encoding.word_ids) if word is not None]
    if not inside:
        raise ConfigError(
            "expected a tokenizer that makes pieces of words, got one that makes none of 'a', '1' and '.'."
        )
    return Specials(tuple(encoding.ids[: inside[0]]), tuple(encoding.ids[inside[-1] + 1 :]))


def marker_ids(backend: Any) -> frozenset[int]:
    """Ids of pieces that are only a mark of a word's beginning: a bare "▁" (SentencePiece) or "Ġ" (byte-level BPE).

    For WordPiece there is none: there "▁" is a character like any other.
    """
    ids, parts = set(), (backend.pre_tokenizer, backend.normalizer)
    for mark, sign in (("▁", "▁"), ("Ġ", '"ByteLevel"')):
        token_id = backend.token_to_id(mark)
        if token_id is not None and any(sign in _states(part) for part in parts):
            ids.add(token_id)
    return frozenset(ids)


def needs_blank(backend: Any) -> bool:
    """Whether a word has to be given with a blank before it to be read as it is inside a text.

    So it is for byte-level BPE with `add_prefix_space=False` and other tokenizers that mark a word by the blank before
    it: alone, a word looks to them like the inside of a longer one. Found by comparing the second word of a text with
    the same word given alone.
    """

    def ids(text: str | list[str]) -> list[int]:
        return list(backend.encode(text, is_pretokenized=isinstance(text, list), add_special_tokens=False).ids)

    in_text = ids("a a")[len(ids("a")) :]
    return in_text != ids(["a"]) and in_text == ids([" a"])


def _states(component: Any) -> str:
    """The JSON of one component of the tokenizer, which takes milliseconds of a normaliser with tables; "" for none."""
    return "" if component is None else bytes(component.__getstate__()).decode("utf-8")
