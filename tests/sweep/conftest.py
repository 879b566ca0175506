"""A tiny encoder with a tokenizer of single characters, as objects and as a folder."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast


def character_tokenizer():
    """Letters of a few words as pieces, so that sentences in any script have pieces, most of them unknown."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{c}" for c in letters), *letters.upper()]
    tok = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A saved bare BERT without a pooler, and its tokenizer: what `--model FOLDER` takes."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = character_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128,
    )  # fmt: skip
    torch.manual_seed(0)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def encoder(tiny_folder):
    from dlfa_adapters.training import load_encoder

    return load_encoder(str(tiny_folder))


SENTENCES = [
    (["Anna", "met", "Bob", "in", "Rome"], ["B-PER", "O", "B-PER", "O", "B-LOC"]),
    (["Rome", "fell"], ["B-LOC", "O"]),
    ([], []),
    (["the", "Red", "Fox", "Club", "met", "in", "Oslo", "and", "in", "Bern"],
     ["O", "B-ORG", "I-ORG", "I-ORG", "O", "O", "B-LOC", "O", "O", "B-LOC"]),
    (["Bob"], ["B-PER"]),
    (["a" * 60, "saw", "Ann", "Lee"], ["O", "O", "B-PER", "I-PER"]),
    (["no", "name", "here"], ["O", "O", "O"]),
]  # fmt: skip


@pytest.fixture(scope="session")
def tagged(encoder):
    """The sentences above with their states; windows of 32 pieces, so that some have more than one."""
    from dlfa_adapters.sweep import encode_tagged

    words, tags = ([list(part) for part in column] for column in zip(*SENTENCES, strict=True))
    return encode_tagged(encoder.model, encoder.tokenizer, words, tags, max_length=32, context=16)
