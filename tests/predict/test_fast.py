"""Predicting in 16 bits and compiled: the same labels, and clear refusals."""

import functools

import pytest
import torch

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.encoded import Encoded, batch_logits
from dlfa_adapters.learning import train
from dlfa_adapters.predict.forms import cast, load_fast
from dlfa_adapters.predict.load import load_run

SENTENCES = [["Anna", "met", "Bob"], [], ["Rome"] * 70, ["far"], ["New", "York", "is", "far"]]


@pytest.fixture(scope="module")
def run(tiny_folder, tmp_path_factory):
    """A run of the tuning `lora`, which has adapters between the encoder and the head."""
    data = [(["Anna", "met", "Bob", "in", "Rome"], ["B-PER", "O", "B-PER", "O", "B-LOC"]), (["far"], ["O"])] * 4
    return train(
        "ner", train_data=data, language="en", model=str(tiny_folder), tuning="lora", epochs=3, learning_rate=1e-1,
        batch_size=4, out=tmp_path_factory.mktemp("fast") / "run",
    )  # fmt: skip


def test_bf16_is_for_all_but_the_batch_norm(run):
    want, tagger = load_run(run).predict(SENTENCES), load_fast(run, precision="bf16")
    wide = {name for name, p in tagger.model.named_parameters() if p.dtype == torch.float32}
    assert len(wide) == 8  # two branches, two norms each
    assert all(".norm" in name and name.startswith("heads.ner.fusion.") for name in wide)
    assert {p.dtype for name, p in tagger.model.named_parameters() if name not in wide} == {torch.bfloat16}
    got = tagger.predict(SENTENCES)
    assert [len(tags) for tags in got] == [len(words) for words in SENTENCES]
    assert sum(a == b for x, y in zip(got, want, strict=True) for a, b in zip(x, y, strict=True)) >= 0.9 * 78
    assert len({tag for tags in want for tag in tags}) > 1


def test_the_norms_keep_what_they_know(run):
    def of_norms(model):
        state = model.heads["ner"].state_dict()
        return {name: value.clone() for name, value in state.items() if ".norm" in name}

    model = load_run(run).model
    before = of_norms(model)
    assert before
    cast(model, torch.bfloat16)
    torch.testing.assert_close(of_norms(model), before, rtol=0, atol=0)


@pytest.mark.parametrize(
    "head", [{"fusion": "last"}, {"fusion": "scalar_mix", "classifier": "bilstm"}, {"norm": "layer"}, {"norm": "none"}]
)
def test_every_head_computes_in_bf16(head, tiny_folder, tmp_path):
    data = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["far"], ["O"])] * 4
    made = train(
        "ner",
        train_data=data,
        language="en",
        model=str(tiny_folder),
        dev_data=data,
        tuning="features",
        epochs=1,
        out=tmp_path / "run",
        **head,
    )
    tagger = load_fast(made, precision="bf16")
    assert {p.dtype for p in tagger.model.parameters()} == {torch.bfloat16}
    assert [len(tags) for tags in tagger.predict(SENTENCES)] == [len(words) for words in SENTENCES]


@pytest.mark.usefixtures("no_shape_checks")
def test_compiled_as_one_graph_for_every_size(run, monkeypatch):
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=count, fullgraph=True))
    tagger = load_fast(run, compile=True)
    assert tagger.predict(SENTENCES, max_tokens=80) == load_run(run).predict(SENTENCES)
    assert 1 <= len(graphs) <= 3  # one for a batch of one, one for all others; not one for each size


def test_refusals(run, tiny_folder, tmp_path):
    with pytest.raises(ConfigError, match="precision must be one of fp32, bf16; got 'fp16'"):
        load_fast(run, precision="fp16")
    data = [(["Anna", "met"], ["B-PER", "O"])] * 4
    between = train(
        "ner",
        train_data=data,
        language="en",
        model=str(tiny_folder),
        tuning="bottleneck",
        max_steps=1,
        out=tmp_path / "b",
    )
    with pytest.raises(ConfigError, match=r"--compile needs .* its adapter 'ner' stands between"):
        load_fast(between, compile=True)


def test_batches_hold_every_item_once_within_the_budget(run):
    tagger = load_run(run)
    windows = [type("Row", (), {"input_ids": [5] * n}) for n in (3, 9, 1, 9, 4)]

    class Rows(Encoded):
        rows, collect, labelled = windows, None, None

    seen, done = [], []
    for batch, logits in batch_logits(tagger.model, Rows(), 0, 20, done.append):
        assert logits.shape[:2] == (len(batch), max(len(windows[i].input_ids) for i in batch))
        assert logits.shape[0] * logits.shape[1] <= 20
        seen += batch
    assert sorted(seen) == [0, 1, 2, 3, 4]
    assert sum(done) == 5
