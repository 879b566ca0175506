"""Training a parser: every tuning, the head's options, subtypes, batches that are added up, a search, going on."""

import json
import shutil
from functools import partial

import pytest
import torch

import dlfa_adapters
from dlfa_adapters.kinds.parsing.tree import check_tree
from dlfa_adapters.learning import resume_training, train, trainer
from dlfa_adapters.learning.tune import tune
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.scores.saved import read_evaluation
from tests.kinds.parsing.treebank import OPTIONS, sentences, toy_treebanks


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return toy_treebanks(tmp_path_factory.mktemp("ud"))


@pytest.mark.parametrize("tuning", ["lora", "peft-lora:2", "bottleneck", "freeze:1", "stack"])
def test_every_tuning_gives_a_run_that_parses_as_it_did(tuning, data, tiny_folder, tmp_path, language_adapter):
    kept = {}
    named = f"stack:{language_adapter}" if tuning == "stack" else tuning
    run = train(
        "parse", train_data=data, model=str(tiny_folder), tuning=named, out=tmp_path / "run", max_steps=3,
        on_start=lambda plan: kept.update(plan=plan), **OPTIONS,
    )  # fmt: skip
    words = [[word for word, *_ in each] for each in sentences(6, seed=9)]
    loaded = load_run(run)
    parsed = loaded.predict(words)
    assert all(check_tree(arcs) is None for arcs in parsed)
    trained = type(loaded)(kept["plan"].model, loaded.tokenizer, loaded.labels)
    assert trained.predict(words) == parsed


def test_subtypes_are_kept_where_the_labels_of_the_data_are_taken(data, tiny_folder, tmp_path):
    run = train(
        "parse", train_data=data, labels="data", model=str(tiny_folder), tuning="full", out=tmp_path / "run", epochs=8,
        **OPTIONS,
    )  # fmt: skip
    assert run.config["labels"] == ["det", "nsubj", "nsubj:pass", "obj", "punct", "root"]
    report = dlfa_adapters.evaluate(run, data, out=tmp_path / "test", resamples=10)
    for row, each in zip(report.table.languages, read_evaluation(tmp_path / "test").languages, strict=True):
        pairs = [(a, b) for x, y in zip(each.gold, each.predicted, strict=True) for a, b in zip(x, y, strict=True)]
        right = sum(a[:2] == b[:2] for a, b in pairs)
        assert row.scores["las_subtypes"].value == pytest.approx(right / len(pairs))
        assert {arc.deprel for _, arc in pairs} >= {"nsubj:pass", "obj"}


def test_accumulated_batches_have_the_gradient_of_whole_ones(tiny_folder, tmp_path, monkeypatch):
    """The mean is over the words of the whole batch, of which each small batch has another number."""
    rows = [
        {"words": ["abc"] * n, "heads": [0, *range(1, n)], "deprels": ["root", *["dep"] * (n - 1)]}
        for n in (1, 1, 2, 3, 5, 8, 13, 20)
    ]
    folder = shutil.copytree(tiny_folder, tmp_path / "encoder")
    config = json.loads((folder / "config.json").read_text())
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps({**config, **dropout}))
    found: dict[int, dict] = {}

    def keep(model, step, learning, micro):
        grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        found.setdefault(micro, grads)

    for micro in (8, 2):
        monkeypatch.setattr(trainer, "check_gradients", partial(keep, micro=micro))
        train(
            "parse", train_data=rows, dev_data="none", model=str(folder), tuning="full", out=tmp_path / str(micro),
            max_steps=1, micro_batch_size=micro, mlp_dropout=0.0, norm="layer", **OPTIONS,
        )  # fmt: skip
    assert len(found[8]) > 60
    for name, grad in found[8].items():
        torch.testing.assert_close(found[2][name], grad, atol=1e-6, rtol=1e-4, msg=name)


def test_a_search_tries_options_of_the_head(data, tiny_folder, tmp_path):
    result = tune(
        "parse", out=tmp_path / "tuned", grid={"arc_size": [4, 8]}, train_data=data, model=str(tiny_folder),
        tuning="lora", max_steps=2, **OPTIONS,
    )  # fmt: skip
    assert sorted(trial.options["arc_size"] for trial in result.trials) == [4, 8]
    head = json.loads((result.run.folder / "head" / "head_config.json").read_text())["config"]
    assert head["arc_size"] == result.best.options["arc_size"]


def test_a_training_goes_on_with_its_options(data, tiny_folder, tmp_path):

    class Stop(Exception):
        pass

    def stop(number):
        if number == 5:
            raise Stop

    given = {"train_data": data, "model": str(tiny_folder), "tuning": "lora", "max_steps": 8, "every": 2, "arc_size": 6}
    with pytest.raises(Stop):
        train("parse", out=tmp_path / "cut", on_step=stop, **given, **OPTIONS)
    resumed = resume_training(tmp_path / "cut")
    whole = train("parse", out=tmp_path / "whole", **given, **OPTIONS)
    words = [[word for word, *_ in each] for each in sentences(6, seed=9)]
    assert load_run(resumed).predict(words) == load_run(whole).predict(words)
    assert resumed.config["metrics"] == whole.config["metrics"]
