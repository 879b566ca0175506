"""Every encoder of equal states works; the others are refused, with the reason."""

import pytest
import torch
import transformers
from peft import get_peft_model

from dlfa_adapters.encoders.plain import build_encoder
from dlfa_adapters.fusion import select_states
from dlfa_adapters.ground.errors import UnsupportedModelError
from dlfa_adapters.models import (
    DLFAConfig,
    DLFAForSequenceClassification,
    DLFAForTokenClassification,
    lora_config,
)

from .conftest import FAMILIES

each = pytest.mark.parametrize("kind", FAMILIES)


@each
def test_scores_are_those_of_fusion_and_classifier_by_hand(kind, encoder, pieces):
    bare = encoder(kind)
    before = {name: value.clone() for name, value in bare.state_dict().items()}
    model = DLFAForTokenClassification.from_encoder(bare, (1, 3), num_labels=3)
    assert all(torch.equal(before[name], value) for name, value in model.encoder.state_dict().items())
    inputs = {name: pieces[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        states = model.encoder(**inputs, output_hidden_states=True)
        picked = select_states((1, 3, 4), states.hidden_states, states.last_hidden_state)
        fused = model.classifier.fusion(*picked, attention_mask=inputs["attention_mask"])
        expected = model.classifier.out(fused)
        output = model(**inputs)
    assert list(output) == ["logits"]
    assert torch.equal(output.logits, expected)


@each
def test_a_folder_comes_back_to_the_bit(kind, tagger, pieces, sgd, logits, tmp_path):
    model = tagger(kind)
    sgd(model, pieces, 2)
    model.save_pretrained(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    again, info = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info.values())
    assert type(again) is DLFAForTokenClassification
    assert type(again.encoder) is type(model.encoder)
    assert torch.equal(logits(again), logits(model))


@each
def test_lora_finds_the_attention(kind, tagger, pieces, sgd):
    model = get_peft_model(tagger(kind), lora_config(tagger(kind)))
    grads = sgd(model, pieces, 2)
    lora = {name: grad for name, grad in grads.items() if "lora_" in name}
    assert len(lora) >= (2 if kind == "albert" else 8)  # ALBERT's layers share their weights
    # in the upper layers at least: those between the fuse layer and the last one always matter
    assert all(grad.abs().max() > 0 for grad in lora.values())
    assert not [name for name in grads if "lora_" not in name and "classifier.modules_to_save" not in name]


def test_no_encoder_keeps_a_pooler(encoder):
    bare = encoder("bert")
    assert bare.pooler is not None
    model = DLFAForSequenceClassification.from_encoder(bare, 2, num_labels=2)
    assert not [name for name in model.state_dict() if "pooler" in name]
    assert build_encoder(bare.config).pooler is None


def test_funnel_is_refused_for_its_two_lengths():
    config = transformers.FunnelConfig(vocab_size=100, d_model=16, block_sizes=[2, 2], n_head=2, d_head=8, d_inner=32)
    reason = r"'funnel' cannot be fused.*needs 5 states of one length and width, and got 8.*\(7, 16\), \(4, 16\)"
    with pytest.raises(UnsupportedModelError, match=reason):
        DLFAForTokenClassification.from_encoder(transformers.FunnelModel(config), 2, num_labels=3)
    model = DLFAForTokenClassification(DLFAConfig(config, 2, num_labels=3))  # nothing has run yet
    with pytest.raises(UnsupportedModelError, match=reason):
        model(input_ids=torch.ones(1, 7, dtype=torch.long))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (transformers.GPT2Config(vocab_size=100, n_embd=16, n_layer=2, n_head=2), "'gpt2' reads from left to right"),
        (
            transformers.ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=8),
            "'vit' does not run on token ids alone",
        ),
    ],
)
def test_models_that_are_no_text_encoders_are_refused(config, reason):
    with pytest.raises(UnsupportedModelError, match=reason):
        DLFAForTokenClassification.from_encoder(transformers.AutoModel.from_config(config), 1, num_labels=3)


def test_an_encoder_decoder_without_a_class_for_its_encoder_is_refused():
    config = transformers.BartConfig(vocab_size=100, d_model=16, encoder_layers=2, decoder_layers=2)
    with pytest.raises(UnsupportedModelError, match="no class for the encoder alone of 'bart'"):
        DLFAForTokenClassification(DLFAConfig(config, 1, num_labels=3))


def test_a_configuration_without_width_is_refused():
    with pytest.raises(UnsupportedModelError, match="of clip does not give one number of layers"):
        DLFAConfig(transformers.CLIPConfig(), 1)


def test_mt5_is_its_encoder_alone(tagger):
    model = tagger("mt5")
    assert type(model.encoder) is transformers.MT5EncoderModel
    assert not [name for name in model.state_dict() if "decoder" in name]
    assert model.config.num_hidden_layers == 4
