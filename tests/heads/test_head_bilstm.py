"""Heads with an LSTM: in front of every stock head, saved and loaded, and as a plain model."""

import pytest
import torch
from adapters import AutoAdapterModel
from peft import get_peft_model
from transformers.modeling_outputs import BaseModelOutput

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.models import (
    DLFAForSequenceClassification,
    DLFAForTokenClassification,
    load_lora,
    lora_config,
    save_lora,
)
from dlfa_adapters.tuning.convert import to_adapters, to_plain

LSTM = {"fusion": "scalar_mix", "classifier": "bilstm", "lstm_hidden": 5, "lstm_dropout": 0.2}
HEAD_TYPES = {
    "tagging": {"num_labels": 3},
    "classification": {"num_labels": 3},
    "multilabel_classification": {"num_labels": 3},
    "multiple_choice": {"num_choices": 2},
    "question_answering": {},
    "dependency_parsing": {"num_labels": 3},
}


@torch.no_grad()
def logits(model, batch):
    return model.eval()(**batch).logits


@pytest.mark.parametrize("head_type", HEAD_TYPES)
def test_in_front_of_every_stock_head(head_type, tiny_model, batch, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("x", head_type=head_type, **HEAD_TYPES[head_type], **LSTM)
    extra = {"word_starts": torch.tensor([[1, 2, 4, 5, 6, 0, 0], [1, 2, 3, 4, 0, 0, 0]])}
    extra = extra if head_type == "dependency_parsing" else {}
    expected = model(**batch, **extra)
    model.save_head(str(tmp_path / "head"), "x")
    model.save_pretrained(tmp_path / "model")
    fresh = tiny_model()
    fresh.load_head(str(tmp_path / "head"))
    for again in (fresh, AutoAdapterModel.from_pretrained(tmp_path / "model")):
        assert again.heads["x"].config == model.heads["x"].config
        output = again(**batch, **extra)
        assert all(torch.equal(output[key], expected[key]) for key in expected)


def test_it_stands_between_fusion_and_stock_head(tiny_model, batch):
    model = tiny_model()
    model.add_dlfa_head("ner", **LSTM)
    head, states = model.heads["ner"], model.base_model(**batch, output_hidden_states=True)
    fused = head.fusion(*states.hidden_states, attention_mask=batch["attention_mask"])
    for row, length in enumerate((7, 5)):
        read = head.bilstm.lstm(fused[row : row + 1, :length])[0]
        torch.testing.assert_close(model(**batch).logits[row, :length], head.inner[1](read)[0])


def test_padding_and_its_side_change_no_logit(tiny_model):
    model = tiny_model()
    model.add_dlfa_head("ner", 2, **{**LSTM, "fusion": "dlfa"})
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(5, 2, 6, 16, generator=generator)
    lengths, found = (6, 4), {}
    for side in ("right", "left"):
        padded, mask = torch.full((5, 2, 9, 16), 7.0), torch.zeros(2, 9, dtype=torch.long)
        for row, length in enumerate(lengths):
            place = slice(0, length) if side == "right" else slice(9 - length, 9)
            padded[:, row, place], mask[row, place] = states[:, row, :length], 1
        outputs = BaseModelOutput(last_hidden_state=padded[-1], hidden_states=tuple(padded))
        scores = model.heads["ner"](outputs, attention_mask=mask, return_dict=True).logits
        found[side] = [scores[row][mask[row].bool()] for row in range(2)]
    for right, left in zip(found["right"], found["left"], strict=True):
        torch.testing.assert_close(right, left)


def test_there_and_back(tiny_model, batch, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("ner", **LSTM)
    expected = logits(model, batch)
    plain = to_plain(model, "ner")
    plain.save_pretrained(tmp_path)
    for again in (plain, DLFAForTokenClassification.from_pretrained(tmp_path), to_adapters(plain, "ner")):
        assert torch.equal(logits(again, batch), expected)


def test_weights_survive_that_the_encoder_draws_its_own(tiny_model, tmp_path):
    """A bare encoder's checkpoint has no LSTM: it is drawn as torch draws it, not left as memory was."""
    encoder = tiny_model()
    encoder.base_model.save_pretrained(tmp_path)
    for build in (DLFAForTokenClassification, DLFAForSequenceClassification):
        model = build.from_encoder(str(tmp_path), num_labels=3, **LSTM)
        for parameter in model.classifier.bilstm.parameters():
            assert 0 < parameter.abs().max() <= 5**-0.5
            assert parameter.std() > 0.1


def test_peft_saves_all_of_it(tiny_model, batch, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("ner", **LSTM)
    plain = to_plain(model, "ner")
    tuned = get_peft_model(plain, lora_config(plain))
    before = {name: value.clone() for name, value in tuned.named_parameters() if ".default.bilstm." in name}
    optimizer = torch.optim.SGD([p for p in tuned.parameters() if p.requires_grad], lr=0.5)
    for _ in range(3):
        tuned.train()(**batch, labels=batch["input_ids"] % 7).loss.backward()
        optimizer.step()
    after = dict(tuned.named_parameters())
    assert len(before) == 16
    assert not any(torch.equal(after[name], value) for name, value in before.items())
    save_lora(tuned, tmp_path)
    torch.testing.assert_close(logits(load_lora(tmp_path, tiny_model()), batch), logits(tuned, batch))


@pytest.mark.parametrize("option", [{"classifier": "crf"}, {"classifier": "bilstm", "lstm_hidden": 0}])
def test_refusals(option, tiny_model):
    for add in (
        lambda: tiny_model().add_dlfa_head("ner", **option),
        lambda: DLFAForTokenClassification.from_encoder(tiny_model(), task="ner", **option),
    ):
        with pytest.raises(ConfigError, match=r"^(classifier|lstm_hidden) must be "):
            add()
