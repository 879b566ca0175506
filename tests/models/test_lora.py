"""C23: LoRA with PEFT. What is trained, saved, reloaded and merged, with and without gradient checkpointing."""

import json

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.models import (
    Card,
    DLFAForSequenceClassification,
    DLFAForTokenClassification,
    load_lora,
    lora_config,
    merge_lora,
    peft_modules_to_save,
    save_lora,
)


@pytest.fixture
def tuned(tagger, pieces, sgd):
    """A LoRA after 5 steps: (PEFT model, the plain model's weights before, gradients of the last step)."""

    def build(checkpointing=False, **options):
        plain = tagger(**options)
        before = {name: value.clone() for name, value in plain.state_dict().items()}
        torch.manual_seed(1)
        model = get_peft_model(plain, lora_config(plain))
        if checkpointing:
            model.gradient_checkpointing_enable()
        return model, before, sgd(model, pieces)

    return build


def statistics(model):
    return {name: value for name, value in model.state_dict().items() if "running_" in name or "_tracked" in name}


def test_five_steps_come_back(tuned, tagger, logits, tmp_path):
    model, _, _ = tuned()
    model.save_pretrained(tmp_path)
    assert (tmp_path / "adapter_model.safetensors").is_file()
    expected, kept = logits(model), statistics(model)
    for ignore_mismatched_sizes in (False, True):
        again = PeftModel.from_pretrained(tagger(seed=0), tmp_path, ignore_mismatched_sizes=ignore_mismatched_sizes)
        torch.testing.assert_close(logits(again), expected, atol=1e-5, rtol=0)
        assert all(torch.equal(kept[name], value) for name, value in statistics(again).items())
    fresh = logits(tagger(seed=0))
    assert (fresh - expected).abs().max() > 0.1  # five steps have moved something


def test_five_steps_are_five_batches(tuned):
    for checkpointing in (False, True):
        model, _, _ = tuned(checkpointing)
        counts = {v.item() for k, v in model.state_dict().items() if k.endswith("_tracked") and "to_save" in k}
        assert counts == {5}


def test_what_is_frozen_stays_to_the_bit(tuned):
    model, before, grads = tuned()
    base = model.get_base_model()
    encoder = {name.replace(".base_layer", ""): value for name, value in base.encoder.state_dict().items()}
    assert all(torch.equal(before[f"encoder.{name}"], value) for name, value in encoder.items() if "lora" not in name)
    original = base.classifier.original_module.state_dict()
    assert all(torch.equal(before[f"classifier.{name}"], value) for name, value in original.items())
    trained = {name.rpartition("lora_")[1] or "classifier.modules_to_save.default" for name in grads}
    assert trained == {"lora_", "classifier.modules_to_save.default"}


def test_checkpointing_gives_the_same_gradients(tuned):
    """The embeddings are frozen, so that a reentrant checkpoint would give no gradient at all."""
    plain, checkpointed = tuned(False)[2], tuned(True)[2]
    assert plain.keys() == checkpointed.keys()
    lora = [name for name in plain if "lora_" in name]
    assert len(lora) == 4 * 2 * 2  # layers, query and value, A and B
    for name, grad in plain.items():
        torch.testing.assert_close(checkpointed[name], grad, atol=1e-5, rtol=0)
        assert grad.abs().max() > 0 or "conv1.bias" in name or "conv2.bias" in name  # a bias in front of a batch norm


def test_checkpointing_really_recomputes(tagger, pieces):
    for checkpointing, runs in ((False, 1), (True, 2)):
        model, calls = tagger(), []
        if checkpointing:
            model.gradient_checkpointing_enable()
        model.encoder.encoder.layer[0].attention.self.query.register_forward_hook(lambda *_, seen=calls: seen.append(1))
        model.train()(**pieces).loss.backward()
        assert len(calls) == runs


def test_merged(tuned, logits, tmp_path):
    model, _, _ = tuned()
    expected, kept = logits(model), statistics(model.get_base_model().classifier.modules_to_save["default"])
    merged = merge_lora(model)
    assert type(merged) is DLFAForTokenClassification
    assert not [name for name in merged.state_dict() if "lora" in name or "to_save" in name]
    torch.testing.assert_close(logits(merged), expected, atol=1e-5, rtol=0)
    assert all(torch.equal(kept[name], value) for name, value in statistics(merged.classifier).items())
    merged.save_pretrained(tmp_path)
    again = DLFAForTokenClassification.from_pretrained(tmp_path)
    assert torch.equal(logits(again), logits(merged))


def test_a_merge_that_changes_scores_is_refused(tuned, monkeypatch):
    model, _, _ = tuned()
    merge = model.merge_and_unload

    def wrong(**options):
        merged = merge(**options)
        with torch.no_grad():
            merged.encoder.encoder.layer[0].attention.self.value.weight.mul_(1.1)
        return merged

    monkeypatch.setattr(model.base_model, "merge_and_unload", wrong)
    with pytest.raises(RunError, match=r"Merging changed the scores by .*, more than 1e-05; keep the LoRA apart"):
        merge_lora(model)


def test_merging_16_bits_is_done_in_float32(tuned, logits):
    model, _, _ = tuned()
    model = model.to(torch.bfloat16)
    merged = merge_lora(model)
    assert {p.dtype for p in merged.parameters()} == {torch.float32}


def test_without_the_helper_the_classifier_is_saved_all_the_same(tagger, pieces, sgd, logits, tmp_path):
    """PEFT saves a module called `classifier` whole, with its buffers, for these types of task."""
    model = get_peft_model(tagger(), LoraConfig(task_type="TOKEN_CLS", target_modules=["query", "value"]))
    sgd(model, pieces)
    model.save_pretrained(tmp_path)
    again = PeftModel.from_pretrained(tagger(), tmp_path)
    torch.testing.assert_close(logits(again), logits(model), atol=1e-5, rtol=0)


@pytest.mark.parametrize("given", [False, True])
def test_a_lora_folder_knows_its_encoder(given, tiny_folder, pieces, sgd, tmp_path):
    plain = DLFAForTokenClassification.from_encoder(tiny_folder, task="ner", classifier_dropout=0.0)
    torch.manual_seed(1)
    model = get_peft_model(plain, lora_config(plain, r=4))
    inputs = {**pieces, "input_ids": pieces["input_ids"] % 80}
    sgd(model, inputs)
    save_lora(model, tmp_path / "lora", Card(scores={"de": {"span_f1": 0.5}}))
    files = sorted(path.name for path in (tmp_path / "lora").iterdir())
    assert files == ["README.md", "adapter_config.json", "adapter_model.safetensors", "config.json"]
    assert "| de | 50.0 |" in (tmp_path / "lora" / "README.md").read_text("utf-8")
    torch.manual_seed(7)
    encoder = DLFAForTokenClassification.from_encoder(tiny_folder, task="ner").encoder if given else None
    again = load_lora(tmp_path / "lora", encoder)
    assert not [p for p in again.parameters() if p.requires_grad]
    torch.testing.assert_close(again(**inputs).logits, model(**inputs).logits, atol=1e-5, rtol=0)
    assert again.get_base_model().config.id2label == plain.config.id2label
    assert any(p.requires_grad for p in load_lora(tmp_path / "lora", is_trainable=True).parameters())


def test_a_lora_on_a_model_that_was_trained_before(tagger, pieces, sgd, logits, tmp_path):
    before = tagger()
    sgd(before, pieces, 3)
    before.save_pretrained(tmp_path / "before")
    plain = DLFAForTokenClassification.from_pretrained(tmp_path / "before")
    model = get_peft_model(plain, lora_config(plain))
    sgd(model, pieces)
    save_lora(model, tmp_path / "lora")
    torch.testing.assert_close(logits(load_lora(tmp_path / "lora")), logits(model), atol=1e-5, rtol=0)


def test_folders_and_encoders_that_do_not_fit(tagger, encoder, tuned, tmp_path):
    model, _, _ = tuned()
    model.save_pretrained(tmp_path / "peft alone")
    with pytest.raises(RunError, match=r"is not a folder of save_lora: it lacks config\.json"):
        load_lora(tmp_path / "peft alone")
    with pytest.raises(RunError, match="is not a folder of save_lora"):
        load_lora(tmp_path / "nothing")
    save_lora(model, tmp_path / "lora")
    with pytest.raises(RunError, match="does not say which encoder it is for; type load_lora"):
        load_lora(tmp_path / "lora")
    with pytest.raises(RunError, match="a bert encoder with 4 layers of width 16, but a roberta encoder with 2 layers"):
        load_lora(tmp_path / "lora", encoder("roberta", num_hidden_layers=2))


def test_the_configuration(tagger, classifier):
    assert peft_modules_to_save(tagger()) == ["classifier"]
    config = lora_config(tagger(), r=16, lora_dropout=0.2, use_rslora=True, modules_to_save=["pooler"])
    assert (config.r, config.lora_alpha, config.lora_dropout, config.use_rslora) == (16, 32, 0.2, True)
    assert config.modules_to_save == {"classifier", "pooler"} or config.modules_to_save == ["classifier", "pooler"]
    assert (config.task_type, lora_config(classifier()).task_type) == ("TOKEN_CLS", "SEQ_CLS")
    assert lora_config(tagger(), lora_alpha=3).lora_alpha == 3


def test_all_linear_maps_are_the_encoders(tagger, pieces, sgd):
    plain = tagger()
    model = get_peft_model(plain, lora_config(plain, target_modules="all-linear"))
    grads = sgd(model, pieces, 2)
    places = {name.split(".lora_")[0] for name in grads if "lora_" in name}
    assert len(places) == 4 * 6
    assert not [place for place in places if "classifier" in place]
    assert "conv1" not in json.dumps(sorted(places))


def test_maps_that_do_not_exist(tagger):
    with pytest.raises(ConfigError, match="no linear maps called qkv; target_modules can be dense, key, query, value"):
        lora_config(tagger(), target_modules=["query", "qkv"])


def test_models_that_are_none_of_ours(encoder, tagger):
    with pytest.raises(ConfigError, match=r"is needed, got BertModel; type DLFAForTokenClassification\.from_encoder"):
        lora_config(encoder())
    with pytest.raises(ConfigError, match="A PEFT model is needed, got DLFAForTokenClassification"):
        merge_lora(tagger())


def test_a_classifier_of_texts(classifier, pieces, sgd, tmp_path):
    batch = {**pieces, "labels": torch.tensor([0, 1, 2, 1])}
    model = get_peft_model(classifier(), lora_config(classifier()))
    sgd(model, batch)
    expected = model(**batch).logits
    merged = merge_lora(model)
    torch.testing.assert_close(merged(**batch).logits, expected, atol=1e-5, rtol=0)
    assert type(merged) is DLFAForSequenceClassification
