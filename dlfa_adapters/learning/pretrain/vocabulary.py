"""A WordPiece vocabulary of some text, as multilingual BERT has one: cased, Chinese characters each a word."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dlfa_adapters.data.backend import clean
from dlfa_adapters.ground.errors import ConfigError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = 16_000
"""Of a new vocabulary, at most."""


def train_tokenizer(sentences: Iterable[str], pieces: int = PIECES, positions: int = 512) -> Any:
    """Learn a vocabulary (Schuster and Nakajima 2012, as the library tokenizers trains it).

    Args:
        sentences: The text.
        pieces: How many pieces at most, special ones included; every character of the text is one.
        positions: Most pieces that the encoder reads.

    Returns:
        A `BertTokenizerFast`.

    Raises:
        ConfigError: If `pieces` is too small.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertTokenizerFast

    if pieces <= len(SPECIAL):
        raise ConfigError(f"A vocabulary needs more than {len(SPECIAL)} pieces, got {pieces}; type {PIECES}.")
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=pieces, special_tokens=list(SPECIAL), show_progress=False)
    backend.train_from_iterator(map(clean, sentences), trainer)
    ends = [(name, backend.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return BertTokenizerFast(
        tokenizer_object=backend, do_lower_case=False, strip_accents=False, model_max_length=positions
    )


def tokenizer_for(sentences: Iterable[str], pieces: int, positions: int, taken_from: str | Path | None) -> Any:
    """A new tokenizer, or that of another encoder, so that several are trained on the same pieces."""
    if taken_from is None:
        return train_tokenizer(sentences, pieces, positions)
    from dlfa_adapters.encoders.load import load_tokenizer, told_if_not_loaded

    with told_if_not_loaded(str(taken_from), local=False):
        return load_tokenizer(str(taken_from))
