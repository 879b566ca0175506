"""The biaffine head behind a fusion, on adapters: what it is handed, its inputs and labels, files, compositions."""

import datasets
import numpy as np
import pytest
import torch
from adapters import AutoAdapterModel
from safetensors.torch import load_file
from transformers import Trainer, TrainingArguments

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.heads import AdapterTrainer

WORDS = {
    "word_ids": torch.tensor([[0, 1, 1, 2, 3, 4, 0], [0, 1, 2, 2, 0, 0, 0]]),
    "word_mask": torch.tensor([[True] * 4, [True, True, False, False]]),
}
LABELS = {
    "labels_arcs": torch.tensor([[2, 0, 2, 3], [0, 1, -100, -100]]),
    "labels_rels": torch.tensor([[1, 2, 0, 1], [2, 0, -100, -100]]),
}
LSTM = {"classifier": "bilstm", "lstm_hidden": 5, "lstm_dropout": 0.0}


def add(model, name="parse", **options):
    model.add_dlfa_head(name, 2, "biaffine", num_labels=3, arc_size=6, rel_size=4, **options)
    return model


def same(one, other, **tolerance):
    for found, expected in zip(one, other, strict=True):
        torch.testing.assert_close(found, expected, **{"atol": 1e-5, "rtol": 1e-5, **tolerance})


@pytest.mark.parametrize("options", [{}, LSTM])
def test_it_gets_the_fused_state(options, family, tiny_model, shake, batch):
    model = shake(add(tiny_model(family), **options))
    output = model(**batch, **WORDS, **LABELS)
    head = model.heads["parse"]
    model.active_head = None
    states = model.base_model(**batch, output_hidden_states=True)
    lower, last = states.hidden_states[2], states.last_hidden_state
    fused = head.fusion(lower, last, attention_mask=batch["attention_mask"])
    if head.bilstm is not None:
        fused = head.bilstm(fused, batch["attention_mask"])
    expected = head.inner.out(fused, **WORDS)
    same(output.logits, expected)
    torch.testing.assert_close(output.loss, head.inner.out.loss(expected, **LABELS))
    assert list(output) == ["loss", "logits"]
    unfused = head.inner.out(last if head.bilstm is None else head.bilstm(last, batch["attention_mask"]), **WORDS)
    assert (unfused[1] - expected[1]).abs().max() > 2e-5


def test_the_known_task_brings_head_and_relations(tiny_model):
    model = tiny_model()
    model.add_dlfa_head("parse", fuse_layer=2)
    config = model.heads["parse"].config
    assert config["inner_head_type"] == "biaffine"
    assert (config["arc_size"], config["rel_size"], config["mlp_dropout"], config["upos_size"]) == (16, 16, 0.33, 0)
    assert model.get_labels("parse")[:3] == ["acl", "advcl", "advmod"]
    assert model.heads["parse"].inner.out.rel_weight.shape == (37, 17, 17)


def test_outputs_by_name_and_in_order(tiny_model, shake, batch):
    model = shake(add(tiny_model()))
    named, plain = model(**batch, **WORDS, **LABELS), model(**batch, **WORDS, **LABELS, return_dict=False)
    assert isinstance(plain, tuple)
    assert torch.equal(plain[0], named.loss)
    same(plain[1], named.logits, atol=0, rtol=0)
    assert list(model(**batch, **WORDS)) == ["logits"]
    assert len(model(**batch, **WORDS, output_hidden_states=True).hidden_states) == 5
    one = {key: value for key, value in LABELS.items() if key == "labels_arcs"}
    assert "loss" not in model(**batch, **WORDS, **one)


def test_batch_mates_padding_and_its_side_change_no_score(tiny_model, shake, batch):
    model = shake(add(tiny_model("xlm-roberta")))  # which gives the same states on both sides
    both = model(**batch, **WORDS).logits
    alone = {key: value[1:, :5] for key, value in batch.items()}
    words = {"word_ids": WORDS["word_ids"][1:, :5], "word_mask": WORDS["word_mask"][1:, :2]}
    same([scores[1:, :2, :3] for scores in both], model(**alone, **words).logits)
    left = {key: torch.stack([v[0], v[1].roll(2)]) for key, v in batch.items()}
    moved = {**WORDS, "word_ids": torch.stack([WORDS["word_ids"][0], WORDS["word_ids"][1].roll(2)])}
    same(model(**left, **moved).logits, both)


def test_padding_is_told_by_masks_and_never_by_an_id(tiny_model, shake, batch):
    """Upstream's parser takes labels that are the padding's id, 1 in XLM-R, for padding."""
    model = shake(add(tiny_model("xlm-roberta", pad_token_id=1)))
    ones = {name: torch.ones_like(ids) for name, ids in LABELS.items()}
    loss = model(**batch, **WORDS, **ones).loss
    arcs, rels = model(**batch, **WORDS).logits
    terms = [
        -(arcs[b, i].log_softmax(-1)[1] + rels[b, i, 1].log_softmax(-1)[1])
        for b, n in ((0, 4), (1, 2))
        for i in range(n)
    ]
    assert loss.item() != pytest.approx(sum(terms).item() / 6)  # padded words are labelled here
    ones = {name: ids.masked_fill(~WORDS["word_mask"], -100) for name, ids in ones.items()}
    assert model(**batch, **WORDS, **ones).loss.item() == pytest.approx(sum(terms).item() / 6, rel=1e-4)


@pytest.mark.parametrize("options", [{"upos_size": 3, "mlp_dropout": 0.1}, LSTM])
def test_it_comes_back_from_files(options, tiny_model, shake, batch, tmp_path):
    model = shake(add(tiny_model(), **options))
    model.save_head(str(tmp_path / "head"), "parse")
    model.save_pretrained(tmp_path / "model")
    words = {**WORDS, "upos_ids": torch.ones(2, 4, dtype=torch.long)}
    expected = model(**batch, **words).logits
    fresh = tiny_model()
    fresh.load_head(str(tmp_path / "head"))
    for again in (fresh, AutoAdapterModel.from_pretrained(tmp_path / "model")):
        assert again.heads["parse"].config == model.heads["parse"].config
        same(again(**batch, **words).logits, expected, atol=1e-6, rtol=1e-6)
    assert "heads.parse.inner.out.root" in load_file(tmp_path / "head" / "model_head.safetensors")


def test_a_saved_head_with_other_relations_is_refused(tiny_model, tmp_path):
    add(tiny_model()).save_head(str(tmp_path), "parse")
    other = tiny_model()
    other.add_dlfa_head("parse", 2, "biaffine", num_labels=5)
    with pytest.raises(RunError, match=r"saved head has 3 labels, the head 'parse' of this model 5"):
        other.load_head(str(tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arc_sise": 5}, "A biaffine head has no option 'arc_sise'; did you mean 'arc_size'?"),
        ({"layers": 2}, "A biaffine head has no option 'layers'"),
        ({"rel_size": 0}, "rel_size must be a whole number from 1 up, got 0"),
        ({"rel_size": "big"}, "rel_size must be a whole number; got 'big'"),
        ({"mlp_dropout": 2}, "mlp_dropout must lie in 0..1, 1 left out, got 2"),
    ],
)
def test_options_that_cannot_work(options, message, tiny_model):
    model = tiny_model()
    with pytest.raises(ConfigError) as error:
        model.add_dlfa_head("parse", 2, **options)
    assert message in str(error.value)
    assert len(model.heads) == 0


def sentences():
    """Five rows of words, a piece each between two special ones, with a column that no model knows."""
    generator = torch.Generator().manual_seed(0)
    return datasets.Dataset.from_list(
        [
            {
                "input_ids": torch.randint(5, 95, (n + 2,), generator=generator).tolist(),
                "word_ids": [0, *range(1, n + 1), 0],
                "labels_arcs": list(range(n)),
                "labels_rels": torch.randint(0, 3, (n,), generator=generator).tolist(),
                "id": "s",
            }
            for n in (3, 7, 5, 1, 6)
        ]
    )


def collate(items, words=7):
    """Pad all to 9 pieces and 7 words."""

    def padded(name, width, value):
        rows = [torch.tensor(item[name]) for item in items]
        return torch.stack([torch.nn.functional.pad(row, (0, width - len(row)), value=value) for row in rows])

    batch = {name: padded(name, words + 2, 0) for name in ("input_ids", "word_ids")}
    batch |= {name: padded(name, words, -100) for name in ("labels_arcs", "labels_rels")}
    return {**batch, "attention_mask": (batch["input_ids"] > 0).long(), "word_mask": batch["labels_arcs"] != -100}


@pytest.mark.parametrize("trainer", [Trainer, AdapterTrainer])
def test_trainer_knows_its_inputs_and_labels(trainer, tiny_model, tmp_path):
    model = add(tiny_model())
    if trainer is AdapterTrainer:
        model.add_adapter("parse", config="seq_bn")
        model.train_adapter("parse")
    before = model.heads["parse"].inner.out.arc_weight.detach().clone()
    arguments = TrainingArguments(
        str(tmp_path), max_steps=2, learning_rate=0.1, per_device_train_batch_size=2, per_device_eval_batch_size=2,
        report_to="none", use_cpu=True, disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    data = sentences()
    runner = trainer(model, arguments, collate, train_dataset=data, eval_dataset=data)
    assert list(runner.label_names) == ["labels_arcs", "labels_rels"]
    runner.train()
    assert not torch.equal(model.heads["parse"].inner.out.arc_weight, before)
    output = runner.predict(data)
    assert [scores.shape for scores in output.predictions] == [(5, 7, 8), (5, 7, 8, 3)]
    assert [ids.shape for ids in output.label_ids] == [(5, 7), (5, 7)]
    assert np.isfinite(output.metrics["test_loss"])
    assert (output.predictions[0][0, :3, 4:] == -np.inf).all()
