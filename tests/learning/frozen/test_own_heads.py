"""Heads of a kind's own on frozen states: a parser learns beside others as it would alone, and is a run afterwards."""

import json
import math

import numpy as np
import pytest
import torch

from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.parsing.attachment import AttachmentScore
from dlfa_adapters.learning import train
from dlfa_adapters.learning.dataset import load_split, make_examples
from dlfa_adapters.learning.frozen import HeadSpec, Linear, Rate, learn_on_states, with_states
from dlfa_adapters.learning.frozen.judge import OwnJudge
from dlfa_adapters.learning.frozen.module import new_head
from dlfa_adapters.learning.frozen.stacks import make_stacks
from dlfa_adapters.learning.rate_choice import pairs
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.tasks import NER, PARSE
from dlfa_adapters.tuning import get_tuning
from dlfa_adapters.tuning.encoder import BETO, FEATURE_RATES
from tests.kinds.parsing.treebank import toy_treebanks

SPECS = [
    HeadSpec.of("last", 0, fusion="last"),
    HeadSpec.of("D_1", 0, fuse_layer=1),
    HeadSpec.of("D_2", 3, fuse_layer=2),
]
SCHEDULE = Linear(epochs=4, batch_size=8)


@pytest.fixture(scope="module")
def treebanks(tmp_path_factory):
    return toy_treebanks(tmp_path_factory.mktemp("ud"))


@pytest.fixture(scope="module")
def states(treebanks, tiny_folder):
    """Training and dev data of the toy language with all states of a tiny encoder."""
    encoder = load_encoder(str(tiny_folder))
    data = {
        split: make_examples(
            PARSE, load_split(treebanks, "parse", split, "en").dataset, encoder.tokenizer, make_settings()
        )
        for split in ("train", "dev")
    }
    return with_states(encoder.model, data, range(4), encoder.tokenizer.pad_token_id, None, lambda *_: None)


def learn(states, specs, rate=3e-3, **options):
    rates = [[Rate(rate)]] * len(specs)
    trials = learn_on_states(specs, states["train"], states["dev"], PARSE, SCHEDULE, rates=rates, **options)
    return [trial.head for trial in trials]


@pytest.fixture(scope="module")
def together(states):
    return learn(states, SPECS)


def test_it_learns(together):
    for head in together:
        assert head.dev_losses[-1] < 0.8 * head.dev_losses[0]
        assert head.dev_score > 20


def test_a_head_beside_others_is_the_head_alone(states, together):
    for spec, beside in zip(SPECS, together, strict=True):
        [alone] = learn(states, [spec])
        assert alone.dev_scores == beside.dev_scores
        for name, weight in alone.state_dict.items():
            assert torch.equal(weight, beside.state_dict[name]), name


def test_dropout_differs_by_seed_and_batch(states):
    head = new_head(SPECS[1], states["train"].states.width, 3, len(PARSE.labels), kind_of_task(PARSE))
    torch.nn.init.normal_(head.head.arc_weight)
    [stack] = make_stacks([(SPECS[1], head)], 3, states["train"].states.layers, 100)
    before = torch.get_rng_state()

    def arcs(rows):
        return stack(states["train"].batch(rows), training=True)[0].detach()

    assert torch.equal(arcs([0, 1]), arcs([0, 1]))
    assert not torch.equal(arcs([0, 1])[0], arcs([0, 2])[0])
    assert torch.equal(torch.get_rng_state(), before)


def test_a_training_that_was_cut_short_ends_as_the_other(states, together, tmp_path):
    class Stop(Exception):
        pass

    def stop(epoch, heads):
        if epoch == 2:
            raise Stop

    with pytest.raises(Stop):
        learn(states, SPECS, checkpoint=tmp_path / "epoch.safetensors", on_epoch=stop)
    resumed = learn(states, SPECS, checkpoint=tmp_path / "epoch.safetensors")
    for head, other in zip(resumed, together, strict=True):
        assert head.dev_scores == other.dev_scores
        assert all(torch.equal(head.state_dict[name], other.state_dict[name]) for name in head.state_dict)


def test_losses_are_means_over_the_words_that_are_learned(states):
    """Whatever the batches of an evaluation are; a head that prefers nothing costs log(choices) a word."""
    data = states["dev"]
    head = new_head(SPECS[0], data.states.width, 3, len(PARSE.labels), kind_of_task(PARSE))  # zero weights at first
    stacks = make_stacks([(SPECS[0], head)], 3, data.states.layers, 100)
    score, [loss] = OwnJudge(data).judge(stacks)
    words = [(len(row.heads), sum(head != IGNORED for head in row.heads)) for row in data.examples.rows]
    arcs = sum(count * math.log(held + 1) for held, count in words) / sum(count for _, count in words)
    assert loss == pytest.approx(arcs + math.log(len(PARSE.labels)), rel=1e-5)
    assert 0 <= score[0] <= 100


def test_counts_are_those_of_the_metric(states, together):
    data = states["dev"]
    modules = []
    for head in together:
        module = new_head(head.spec, data.states.width, 3, len(PARSE.labels), kind_of_task(PARSE))
        module.load_state_dict(head.state_dict)
        modules.append((head.spec, module))
    judge = OwnJudge(data)
    counts = judge.counts(make_stacks(modules, 3, data.states.layers, 100))
    assert counts.shape == (3, len(data.examples.gold), 2)
    assert counts[0, :, 1].tolist() == [len(arcs) for arcs in data.examples.gold]  # every word counts
    assert judge.score(counts.sum(1)).tolist() == pytest.approx([head.dev_score for head in together])


@pytest.mark.parametrize("classifier", ["linear", "bilstm"])
def test_a_run_on_features_predicts_what_was_scored(treebanks, tiny_folder, tmp_path, classifier):
    run = train(
        "parse", train_data=treebanks, language="en", model=str(tiny_folder), tuning="features", out=tmp_path / "run",
        fuse_layer=2, epochs=6, batch_size=8, classifier=classifier, head_learning_rate=5e-3,
    )  # fmt: skip
    [found] = predict_run(run, treebanks, split="dev", languages=["en"]).languages
    las = 100 * AttachmentScore().compute(predictions=found.predicted, references=found.gold)["las"]
    assert las == pytest.approx(max(run.config["training"]["dev_scores"]), abs=1e-3)
    assert las > 30


UPOS = {"upos": "gold", "upos_size": 6, "arc_size": 20}
COMMON = {"epochs": 4, "batch_size": 8, "head_learning_rate": 5e-3}


@pytest.mark.parametrize(
    "given", [{"fuse_layer": 2}, {"fuse_layer": "auto"}, {"fuse_layer": 2, "classifier": "bilstm"}]
)
def test_a_parser_on_features_has_the_options_of_its_head_and_reads_parts_of_speech(
    treebanks, tiny_folder, tmp_path, given
):
    common = {"train_data": treebanks, "language": "en", "model": str(tiny_folder), "tuning": "features"}
    few = {"epochs": 1} if given["fuse_layer"] == "auto" else {}  # for every layer
    run = train("parse", out=tmp_path / "run", **common, **{**COMMON, **few}, **UPOS, **given)
    head = json.loads((run.folder / "head" / "head_config.json").read_text("utf-8"))["config"]
    assert (head["upos_size"], head["arc_size"], run.config["options"]) == (6, 20, {"upos": "gold"})
    [found] = predict_run(run, treebanks, split="dev", languages=["en"]).languages
    las = 100 * AttachmentScore().compute(predictions=found.predicted, references=found.gold)["las"]
    assert las == pytest.approx(max(run.config["training"]["dev_scores"]), abs=1e-3)
    model, words = load_run(run), [each.words for each in found.inputs]
    assert model.predict(words, [each.upos for each in found.inputs]) == found.predicted
    assert model.predict(words, [["X"] * len(each) for each in words]) != found.predicted  # it does read them


@pytest.mark.parametrize("tuning", ["features", "full"])
def test_a_sweep_of_parsers_has_the_options_of_its_heads_and_reads_parts_of_speech(
    treebanks, tiny_folder, tmp_path, tuning
):
    rates = {"learning_rate": 5e-3} if tuning == "full" else {}
    common = {"train_data": treebanks, "language": "en", "model": str(tiny_folder), "tuning": tuning, "layers": [2]}
    options = {**common, **COMMON, **rates, "seeds": 1, "epochs": 2, "plots": False}
    done = run_sweep("parse", out=tmp_path / "sweep", **options, **UPOS)
    assert {row.spec.record()["arc_size"] for row in done.result.rows} == {20}
    without = run_sweep("parse", out=tmp_path / "without", **options)
    assert [row.dev for row in done.result.rows] != [row.dev for row in without.result.rows]
    assert "arc_size" not in without.result.rows[0].spec.record()  # as it was written before
    if tuning == "features":
        assert done.best.config["options"] == {"upos": "gold"}
        for x in predict_run(done.best, treebanks).languages:
            counts = AttachmentScore().item_counts(x.predicted, x.gold)
            assert np.array_equal(counts, done.result.best().counts[x.language])


RATES = (3e-4, 1e-3, 3e-3, 1e-2)


def test_rates_that_are_tried_are_those_of_the_kind_where_none_is_given():
    features, parsing = get_tuning("features"), kind_of_task(PARSE)

    def tried(tuning=features, kind=parsing, **options):
        return resolve(make_settings(**options), tuning, kind).steps.head_learning_rates

    assert tried() == RATES
    assert tried(kind=kind_of_task(NER)) == tried(kind=None) == FEATURE_RATES
    assert tried(classifier="bilstm") == BETO.head_learning_rates
    assert tried(tuning=get_tuning("full")) == ()
    assert tried(head_learning_rates=(1e-2, 1e-1)) == (1e-2, 1e-1)
    assert tried(head_learning_rate=1e-1) == ()


def test_a_training_tries_the_rates_of_its_kind(treebanks, tiny_folder, tmp_path):
    run = train(
        "parse", train_data=treebanks, model=str(tiny_folder), tuning="features", out=tmp_path / "run", epochs=1,
        batch_size=8,
    )  # fmt: skip
    assert list(map(float, run.config["training"]["rates_tried"])) == list(RATES)


def test_a_sweep_and_the_choice_of_a_layer_try_them_too(treebanks, tiny_folder, tmp_path, monkeypatch):
    tried = []

    def stop(heads, *args, rates, **options):
        tried.append([rate.learning_rate for rate in rates[0]])
        raise KeyboardInterrupt

    def begun(prepared):
        tried.append([pair.head for pair in pairs(prepared.settings, frozen=True)])
        raise KeyboardInterrupt

    common = {"train_data": treebanks, "model": str(tiny_folder), "tuning": "features"}
    monkeypatch.setattr("dlfa_adapters.learning.auto_layer.learn_on_states", stop)
    with pytest.raises(KeyboardInterrupt):
        train("parse", fuse_layer="auto", out=tmp_path / "run", **common)
    with pytest.raises(KeyboardInterrupt):
        run_sweep("parse", seeds=1, plots=False, out=tmp_path / "sweep", on_start=begun, **common)
    assert tried == [list(RATES)] * 2


@pytest.mark.parametrize("tuning", ["features", "full"])
def test_a_sweep_scores_every_language(treebanks, tiny_folder, tmp_path, tuning):
    options = {"learning_rate": 5e-3} if tuning == "full" else {}
    done = run_sweep(
        "parse", train_data=treebanks, language="en", model=str(tiny_folder), tuning=tuning, out=tmp_path / "sweep",
        layers=[1, 2], seeds=1, epochs=2, batch_size=8, plots=False, head_learning_rate=5e-3, **options,
    )  # fmt: skip
    assert [row.spec.name for row in done.result.rows] == ["last", "D_1", "D_2", "D_3"]
    for row in done.result.rows:
        assert list(row.languages) == ["de", "en"]
        for language, counts in row.counts.items():
            assert counts.shape[1] == 2
            share = 100 * counts[:, 0].sum() / counts[:, 1].sum()
            assert share == pytest.approx(row.scores()[language], abs=1e-3)
    best = done.result.best()
    if tuning == "features":
        predicted = {x.language: x for x in predict_run(done.best, treebanks).languages}
        for language, x in predicted.items():
            counts = AttachmentScore().item_counts(x.predicted, x.gold)
            assert np.array_equal(counts, best.counts[language])
