"""4 bits: what is missing is said; where bitsandbytes and a GPU are, a LoRA is trained on a 4-bit encoder."""

import importlib.util

import pytest
import torch
import transformers
from peft import get_peft_model

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.models import DLFAForTokenClassification, construct, load_lora, lora_config, merge_lora, save_lora

four_bits = pytest.mark.skipif(
    importlib.util.find_spec("bitsandbytes") is None or not torch.cuda.is_available(),
    reason="needs bitsandbytes and a GPU",
)


def test_without_bitsandbytes(tiny_folder, monkeypatch):
    monkeypatch.setattr(construct, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="needs bitsandbytes; type: pip install bitsandbytes"):
        DLFAForTokenClassification.from_encoder(tiny_folder, task="ner", load_in_4bit=True)


def test_without_a_gpu(tiny_folder, monkeypatch):
    monkeypatch.setattr(construct, "find_spec", lambda name: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="needs a GPU, and torch finds none"):
        DLFAForTokenClassification.from_encoder(tiny_folder, task="ner", load_in_4bit=True)


def test_a_loaded_model_is_not_put_into_4_bits(encoder, monkeypatch):
    monkeypatch.setattr(construct, "find_spec", lambda name: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(transformers, "BitsAndBytesConfig", lambda **options: options)
    with pytest.raises(ConfigError, match="quantization_config, dtype, device_map: for loading by name"):
        DLFAForTokenClassification.from_encoder(encoder(), task="ner", load_in_4bit=True)


@four_bits
def test_a_lora_on_4_bits(tiny_folder, pieces, sgd, tmp_path):
    import bitsandbytes

    model = DLFAForTokenClassification.from_encoder(tiny_folder, task="ner", load_in_4bit=True, classifier_dropout=0.0)
    linear = [module for module in model.encoder.modules() if isinstance(module, bitsandbytes.nn.Linear4bit)]
    assert len(linear) == 3 * 6
    assert {p.dtype for p in model.classifier.parameters()} == {torch.float32}
    tuned = get_peft_model(model, lora_config(model))
    batch = {name: value.to(model.device) for name, value in pieces.items()}
    batch["input_ids"] %= 80
    grads = sgd(tuned, batch)
    assert all(grad.isfinite().all() for grad in grads.values())
    assert len([name for name in grads if "lora_" in name]) == 3 * 2 * 2
    save_lora(tuned, tmp_path)
    again = load_lora(tmp_path, load_in_4bit=True)
    torch.testing.assert_close(again(**batch).logits, tuned(**batch).logits, atol=1e-3, rtol=1e-3)
    with pytest.raises(ConfigError, match="4-bit weights would round the LoRA away"):
        merge_lora(again)
    with pytest.raises(ConfigError, match="is in 4 bits and is not saved; type save_lora"):
        model.save_pretrained(tmp_path / "whole")
    merged = merge_lora(load_lora(tmp_path))
    assert {p.dtype for p in merged.parameters()} == {torch.float32}


@four_bits
def test_a_lora_on_4_bits_of_a_model_that_was_trained_before(tiny_folder, pieces, sgd, tmp_path):
    before = DLFAForTokenClassification.from_encoder(tiny_folder, task="ner", classifier_dropout=0.0)
    before.save_pretrained(tmp_path / "before")
    whole = DLFAForTokenClassification.from_pretrained(tmp_path / "before")
    tuned = get_peft_model(whole, lora_config(whole))
    batch = {**pieces, "input_ids": pieces["input_ids"] % 80}
    sgd(tuned, batch)
    save_lora(tuned, tmp_path / "lora")
    again = load_lora(tmp_path / "lora", load_in_4bit=True)
    base = again.get_base_model()
    assert base.is_loaded_in_4bit
    assert {p.dtype for p in base.classifier.parameters()} == {torch.float32}
    expected = tuned(**batch).logits
    scores = again(**{name: value.to(base.device) for name, value in batch.items()}).logits.cpu()
    assert (scores - expected).abs().mean() < 0.2 * expected.abs().mean()  # 4 bits are not 32
