"""Checkpoints of masked language models have no pooler: none is drawn, so the encoder is the same at every load."""

import pytest
import torch
import transformers
from adapters import AutoAdapterModel
from tiny_masked import save_masked_encoder
from tiny_tokenizer import character_tokenizer

import dlfa_adapters
from dlfa_adapters.encoders.load import load_encoder
from dlfa_adapters.learning import train, train_language

CLASSES = ("AlbertForMaskedLM", "BertForMaskedLM", "RobertaForMaskedLM", "XLMRobertaForMaskedLM", "XmodForMaskedLM")
ITEMS = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 4


@pytest.fixture
def masked(tmp_path):
    """masked("BertForMaskedLM"): the folder of a tiny checkpoint of that class, as pretraining saves it."""

    def save(name):
        cls, tokenizer = getattr(transformers, name), character_tokenizer()
        own = {"Albert": {"embedding_size": 8}, "Xmod": {"languages": ["en_XX"], "default_language": "en_XX"}}
        config = cls.config_class(
            vocab_size=len(tokenizer) + 1, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=60, **own.get(name.removesuffix("ForMaskedLM"), {}),
        )  # fmt: skip
        torch.manual_seed(0)
        cls(config).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        return str(tmp_path / name)

    return save


@pytest.mark.parametrize("name", CLASSES)
def test_the_fingerprint_is_the_same_at_every_load(name, masked):
    folder = masked(name)
    assert len({load_encoder(folder).describe()["fingerprint"] for _ in range(3)}) == 1


@pytest.mark.parametrize("name", CLASSES)
def test_a_run_on_it_loads_again(name, masked, tmp_path):
    for tuning in ("features", "full"):
        train(
            "ner", train_data=ITEMS, dev_data=ITEMS[:2], language="en", model=masked(name), tuning=tuning,
            out=tmp_path / tuning, max_length=32, context=8, epochs=1, batch_size=4, fuse_layer=1,
        )  # fmt: skip
        words = [words for words, _ in ITEMS]
        first, again = (dlfa_adapters.load_run(tmp_path / tuning).predict(words) for _ in range(2))
        assert first == again


def test_a_language_adapter_for_it_goes_onto_a_model_of_adapters(tmp_path):
    save_masked_encoder(tmp_path / "encoder")
    text = tmp_path / "xx.txt"
    text.write_text("\n".join(f"anna met bob {'abcdefg'[i % 7] * (i // 7 + 1)}" for i in range(100)), "utf-8")
    train_language(
        "xx", text, model=str(tmp_path / "encoder"), out=tmp_path / "xx", steps=1, batch_size=2, max_length=32
    )
    assert AutoAdapterModel.from_pretrained(tmp_path / "encoder").load_language_adapter(tmp_path / "xx") == "xx"
