"""Encoders from scratch, of little text in several languages: a small BERT, and word vectors of the same text.

For Section 3 of Liu, Hsu, Chuang and Lee 2020, arXiv 2004.09205: how much text, and how wide a context, it takes until
words of different languages are alike. What is written is a folder that every command takes as `--model`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlfa_adapters.data.places import check_there
from dlfa_adapters.ground.environment import lazily
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.ground.files import write_json
from dlfa_adapters.ground.folders import check_writable, draft_beside, is_empty

if TYPE_CHECKING:
    from dlfa_adapters.learning.pretrain.bert import pretrain_bert
    from dlfa_adapters.learning.pretrain.word2vec import pretrain_word2vec

__all__ = ["Pretrained", "Shape", "pretrain_bert", "pretrain_word2vec"]

logger = logging.getLogger(__name__)

RECORD = "pretraining.json"
"""What the folder says of its training."""

__getattr__ = lazily(__name__, {"pretrain_bert": "bert", "pretrain_word2vec": "word2vec"})


@dataclass(frozen=True)
class Pretrained:
    """An encoder in its folder.

    Attributes:
        folder: Where it is.
        record: What `pretraining.json` holds.
    """

    folder: Path
    record: dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How large a BERT is.

    Attributes:
        width: Of a state.
        blocks: How many.
        heads: Attention heads of a block; the feed-forward part is four times as wide as a state.
        positions: Most pieces that it reads.

    Raises:
        ConfigError: If the heads do not divide the width.
    """

    width: int = 256
    blocks: int = 6
    heads: int = 4
    positions: int = 512

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ConfigError(f"{name} must be a whole number from 1 up, got {value!r}.")
        if self.width % self.heads:
            raise ConfigError(f"The width {self.width} cannot be divided by {self.heads} heads; type e.g. heads=1.")


def check_pretraining(text: Mapping[str, str | Path], out: Path, sentences: int | None) -> None:
    """Refuse text, a folder or a number of sentences that cannot be trained on, before anything is loaded.

    Raises:
        ConfigError: If the folder is there, or cannot be made, or the number of sentences is too small.
        DataError: If there is no text, or a file is missing.
    """
    if not text:
        raise DataError("expected a file of text for each language, got none")
    for file in text.values():
        check_there(file)
    if sentences is not None and sentences < 1:
        raise ConfigError(f"sentences must be a whole number from 1 up, got {sentences}.")
    check_writable(out)
    if not is_empty(out):
        raise ConfigError(f"{out} is there and not empty; give another folder.")


def read_sentences(text: Mapping[str, str | Path], sentences: int | None) -> dict[str, list[str]]:
    """The first sentences of each language, of its file with a sentence or paragraph a line.

    So many `sentences`, None for all; where there are fewer, those are taken, with a warning.

    Raises:
        DataError: If a file cannot be read or is empty.
    """
    from dlfa_adapters.learning.language.text import read_paragraphs

    read: dict[str, list[str]] = {}
    for language, file in text.items():
        found, _ = read_paragraphs([file], "text")
        if not found:
            raise DataError(f"{file}: expected text in {language}, a sentence a line, but there is none")
        if sentences is not None and len(found) < sentences:
            logger.warning("%s has %d sentences in %s, not %d.", file, len(found), language, sentences)
        read[language] = found[:sentences]
    return read


def write_encoder(out: Path, record: dict[str, Any], model: Any, tokenizer: Any) -> Pretrained:
    """Write the folder, complete or not at all: model, tokenizer and `pretraining.json`."""
    with draft_beside(out) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        write_json(draft / RECORD, record)
        if out.is_dir():
            out.rmdir()
        draft.rename(out)
    return Pretrained(out, record)
