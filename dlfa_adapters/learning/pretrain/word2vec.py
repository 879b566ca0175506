"""Word vectors in the place of an encoder: word2vec on the pieces of the same text, as the embeddings of a BERT."""

import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel

from dlfa_adapters.data.backend import pieces_of, plain_backend
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.learning.pretrain import Pretrained, check_pretraining, read_sentences, write_encoder
from dlfa_adapters.learning.pretrain.skip_gram import train_skip_gram
from dlfa_adapters.learning.pretrain.vocabulary import PIECES, tokenizer_for

_POSITIONS = 512


def pretrain_word2vec(
    text: Mapping[str, str | Path],
    out: str | Path,
    *,
    sentences: int | None = None,
    vocabulary: int = PIECES,
    tokenizer: str | Path | None = None,
    width: int = 256,
    window: int = 5,
    epochs: int = 10,
    negative: int = 5,
    workers: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Pretrained:
    """Train word2vec on the pieces of some sentences of each language, and save it as an encoder.

    Skip-gram with negative samples (Mikolov et al. 2013, arXiv 1310.4546), all languages together, on the pieces that a
    BERT of the same text reads, as Liu et al. 2020, arXiv 2004.09205, Section 3, have it. What is saved is a BERT whose
    embeddings are the vectors, each with mean 0 and variance 1 over its numbers as that architecture has it, and whose
    one block hands them on: every layer is the vectors, whatever stands around a piece.

    Args:
        text: A file of each language, a sentence or paragraph a line.
        out: The folder; it must be empty or not there.
        sentences: How many of each language, the first ones; default: all.
        vocabulary: Pieces of the tokenizer, which is learnt from the same sentences.
        tokenizer: Take that of this encoder instead.
        width: Of the vectors.
        window: Pieces on each side that count as context.
        epochs: Passes over the text.
        negative: Negative samples a piece.
        workers: Threads; with more than one the vectors are not the same again.
        seed: Of first vectors and samples.
        progress: Called after each epoch.

    Raises:
        MissingExtraError: If gensim is not installed.
        ConfigError: If an option has a value that cannot work, or the folder is there.
        DataError: If a file cannot be read, or has no text.
    """
    if find_spec("gensim") is None:
        raise MissingExtraError("word2vec needs gensim; type pip install 'dlfa-adapters[static]'.")
    out = Path(out)
    check_pretraining(text, out, sentences)
    for name, value in {"width": width, "window": window, "epochs": epochs, "workers": workers}.items():
        if value < 1:
            raise ConfigError(f"{name} must be a whole number from 1 up, got {value!r}.")
    read = read_sentences(text, sentences)
    lines = [line for of_one in read.values() for line in of_one]
    pieces, began = tokenizer_for(lines, vocabulary, _POSITIONS, tokenizer), time.monotonic()

    vectors = train_skip_gram(
        [list(map(str, ids)) for ids in pieces_of(plain_backend(pieces), lines)], "word2vec", size=width, window=window,
        epochs=epochs, negative=negative, seed=seed, workers=workers, progress=progress,
    )  # fmt: skip
    model = _encoder(vectors, pieces)
    record = {
        "kind": "word2vec",
        "languages": {language: len(of_one) for language, of_one in read.items()},
        "files": {language: str(file) for language, file in text.items()},
        "vocabulary": len(pieces),
        "training": {
            "width": width, "window": window, "epochs": epochs, "negative": negative, "seed": seed,
            "seconds": round(time.monotonic() - began, 1),
        },
    }  # fmt: skip
    return write_encoder(out, record, model, pieces)


def _encoder(vectors: Any, tokenizer: Any) -> BertModel:
    """A BERT whose only weights that are not 0 or 1 are the embeddings of the pieces that occur."""
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=vectors.vector_size, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=1, max_position_embeddings=_POSITIONS, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        pieces = torch.tensor([int(piece) for piece in vectors.index_to_key])
        model.embeddings.word_embeddings.weight[pieces] = torch.from_numpy(vectors.vectors.copy())
    return model
