"""Encoders by name that cannot be loaded: each is told in a sentence."""

import pytest
import transformers
from tiny_tokenizer import character_tokenizer

from dlfa_adapters.encoders.load import load_encoder, load_tokenizer
from dlfa_adapters.ground.errors import ConfigError


def test_a_family_that_adapters_has_no_class_for(tmp_path):
    tokenizer = character_tokenizer()
    config = transformers.ModernBertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        pad_token_id=0,
    )  # fmt: skip
    transformers.ModernBertModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        ConfigError, match="of the family ModernBert, for which adapters has no class; give one of BERT"
    ):
        load_encoder(str(tmp_path))


def test_a_tokenizer_that_is_not_there(tmp_path):
    for load in (load_tokenizer, load_encoder):
        with pytest.raises(ConfigError, match=r"nothing' cannot be loaded .*; give a folder") as told:
            load(str(tmp_path / "nothing"))
        assert str(told.value).count("cannot be loaded") == 1
