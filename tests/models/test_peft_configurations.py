"""PEFT's usual configurations, typed as for plain BERT: they work where BERT's do, or are refused in one sentence."""

import json

import pytest
import torch
import transformers
from peft import (
    AdaLoraConfig,
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    get_peft_model,
)
from safetensors.torch import load_file, save_file

from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.models import DLFAConfig, load_lora, lora_config, save_lora

QUERY_AND_VALUE = ["query", "value"]
CONFIGS = {
    "lora": lambda task: LoraConfig(task_type=task, r=2, target_modules=QUERY_AND_VALUE),
    "adalora": lambda task: AdaLoraConfig(task_type=task, total_step=10, target_modules=QUERY_AND_VALUE),
    "ia3": lambda task: IA3Config(
        task_type=task, target_modules=["key", "value", "output.dense"], feedforward_modules=["output.dense"]
    ),
    "prefix": lambda task: PrefixTuningConfig(task_type=task, num_virtual_tokens=3),
    "prefix, projected": lambda task: PrefixTuningConfig(
        task_type=task, num_virtual_tokens=3, prefix_projection=True, encoder_hidden_size=8
    ),
    "prompt": lambda task: PromptTuningConfig(task_type=task, num_virtual_tokens=3),
    "p-tuning": lambda task: PromptEncoderConfig(task_type=task, num_virtual_tokens=3, encoder_hidden_size=8),
    "all-linear": lambda task: LoraConfig(task_type=task, r=2, target_modules="all-linear"),
    "nothing named": lambda task: LoraConfig(task_type=task, r=2),
    "nothing named, ia3": lambda task: IA3Config(task_type=task),
}
REFUSED = {  # the words of the sentence
    ("TOKEN_CLS", "prompt"): r"a label for every token, \(4, 10\), and got \(4, 7\).*prompt tuning",
    ("TOKEN_CLS", "p-tuning"): r"a label for every token.*P-tuning.*type lora_config",
    ("TOKEN_CLS", "all-linear"): r"inside the classifier .*type get_peft_model\(model, lora_config",
    ("TOKEN_CLS", "nothing named"): "Please specify `target_modules`",
    ("TOKEN_CLS", "nothing named, ia3"): "Please specify `target_modules`",
    ("SEQ_CLS", "nothing named"): "Please specify `target_modules`",
    ("SEQ_CLS", "nothing named, ia3"): "Please specify `target_modules`",
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("task", ["TOKEN_CLS", "SEQ_CLS"])
def test_trained_saved_and_loaded(task, name, tagger, classifier, pieces, sgd, logits, tmp_path):
    def base():
        return tagger() if task == "TOKEN_CLS" else classifier()

    batch = pieces if task == "TOKEN_CLS" else {**pieces, "labels": pieces["labels"][:, 0]}

    def trained():
        model = get_peft_model(base(), CONFIGS[name](task))
        sgd(model, batch, 3)
        return model

    if (task, name) in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[task, name]) as error:
            trained()
        assert "\n" not in str(error.value)
        return
    model = trained()
    model.save_pretrained(tmp_path)
    again = PeftModel.from_pretrained(base(), tmp_path).eval()
    torch.testing.assert_close(logits(again), logits(model), atol=1e-5, rtol=0)
    assert (logits(model) - logits(base())).abs().max() > 1e-3
    moved = again.get_base_model().classifier.state_dict()
    assert logits(again).shape == ((4, 7, 3) if task == "TOKEN_CLS" else (4, 3))
    assert any("fusion" in key for key in moved)


def test_a_prefix_acts_and_its_mask_does_not_reach_the_fusion(tagger, pieces):
    """As without one where its keys are masked out, so that they get no weight; with padding in the batch."""
    inputs = {key: value for key, value in pieces.items() if key != "labels"}
    plain = tagger()
    expected = plain(**inputs).logits

    def with_prefix(mask_of_prefix):
        generator = torch.Generator().manual_seed(1)
        cache = transformers.DynamicCache.from_legacy_cache(
            tuple(tuple(torch.randn(4, 2, 3, 8, generator=generator) for _ in range(2)) for _ in range(4))
        )
        mask = torch.cat((torch.full((4, 3), mask_of_prefix), inputs["attention_mask"]), dim=1)
        places = {"position_ids": torch.arange(7)[None]}  # which BERT counts from the prefix on
        return plain(input_ids=inputs["input_ids"], attention_mask=mask, past_key_values=cache, **places).logits

    torch.testing.assert_close(with_prefix(0), expected, atol=1e-5, rtol=0)
    assert (with_prefix(1) - expected).abs().max() > 1e-3


def test_prefixes_in_every_family(family, tagger, pieces, sgd):
    model = get_peft_model(tagger(family), PrefixTuningConfig(task_type="TOKEN_CLS", num_virtual_tokens=3))
    if family in ("albert", "deberta", "deberta-v2", "distilbert"):
        with pytest.raises(UnsupportedModelError, match=f"'{family}' of Transformers takes none; type lora_config"):
            sgd(model, pieces, 1)
        return
    gradients = sgd(model, pieces, 1)
    assert {name.split(".")[0] for name, value in gradients.items() if value.any()} == {"prompt_encoder", "base_model"}
    assert any("modules_to_save.default.fusion" in name for name in gradients)


def test_sizes_are_told_and_not_saved(tagger, tmp_path):
    config = tagger().config
    told = config.to_dict()
    assert (told["hidden_size"], told["num_attention_heads"]) == (16, 2)
    config.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    assert not {"hidden_size", "num_attention_heads"} & set(saved)
    assert DLFAConfig(**told).hidden_size == DLFAConfig.from_pretrained(tmp_path).hidden_size == 16


def _cut(file):
    file.write_bytes(file.read_bytes()[:100])


def _without(part):
    def drop(file):
        weights = load_file(file)
        name = next(name for name in sorted(weights) if part in name)
        save_file({key: value for key, value in weights.items() if key != name}, file)

    return drop


def _wider(file):
    weights = load_file(file)
    name = next(name for name in sorted(weights) if "lora_A" in name)
    save_file({**weights, name: torch.zeros(8, 17)}, file)


DAMAGE = {
    "gone": (lambda file: file.unlink(), "lacks adapter_model.safetensors"),
    "a pickle instead": (lambda file: file.rename(file.with_suffix(".bin")), "lacks adapter_model.safetensors"),
    "cut": (_cut, "is damaged"),
    "no update": (_without("lora_B"), "lacks weights: .*lora_B"),
    "no running mean": (_without("running_mean"), "does not fit|lacks weights"),
    "another width": (_wider, "does not fit its configuration"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_lora_is_refused(case, tagger, tmp_path):
    damage, message = DAMAGE[case]
    plain = tagger()
    save_lora(get_peft_model(plain, lora_config(plain)), tmp_path)
    load_lora(tmp_path, encoder=tagger().encoder)
    damage(tmp_path / "adapter_model.safetensors")
    with pytest.raises(RunError, match=message) as error:
        load_lora(tmp_path, encoder=tagger().encoder)
    assert "\n" not in str(error.value)


def test_no_gradient_checkpointing_in_albert(tagger):
    with pytest.raises(UnsupportedModelError, match="'albert' of Transformers has no gradient checkpointing"):
        tagger("albert").gradient_checkpointing_enable()


def test_updates_inside_the_classifier_are_refused_whatever_asked_for_them(tagger, pieces, sgd):
    model = get_peft_model(tagger(), LoraConfig(r=2, target_modules="all-linear"))
    with pytest.raises(ConfigError, match="inside the classifier"):
        sgd(model, pieces, 1)
