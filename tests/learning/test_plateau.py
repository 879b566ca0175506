"""BETO's feature-based model: scalar mix and LSTM on frozen states, the rate halved where the dev loss stands still."""

from itertools import chain

import pytest
import torch

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.frozen import OnStates
from dlfa_adapters.learning.frozen.head import LOWEST_RATE
from dlfa_adapters.learning.safeguards import NotFiniteError
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.tuning import get_tuning

BETO = {
    "fusion": "scalar_mix",
    "classifier": "bilstm",
    "lstm_hidden": 8,
    "learning_rate": None,
    "head_learning_rate": 1e-3,
    "epochs": None,
    "min_steps": 0,
}


@pytest.fixture
def rates(monkeypatch):
    """rates(scores, losses): the rates that Adam is called with, where dev says that after each epoch; None between."""

    def watch(scores, losses):
        seen, adam, said = [], torch.optim.Adam, iter(zip(scores, losses, strict=True))

        class Watched(adam):
            def step(self, *args, **kwargs):
                seen.append(self.param_groups[0]["lr"])
                return super().step(*args, **kwargs)

        monkeypatch.setattr(torch.optim, "Adam", Watched)
        monkeypatch.setattr(OnStates, "evaluate", lambda self, head: (seen.append(None), next(said))[1])
        return seen

    return watch


def by_epoch(seen):
    """The one rate of each epoch."""
    epochs = [[]]
    for rate in seen:
        if rate is None:
            epochs.append([])
        else:
            epochs[-1].append(rate)
    assert all(len(set(epoch)) == 1 and len(epoch) == 2 for epoch in epochs[:-1])  # two batches of four
    return [epoch[0] for epoch in epochs[:-1]]


def test_defaults_are_those_of_the_paper():
    settings = resolve(make_settings(classifier="bilstm"), get_tuning("features"))
    assert (settings.steps.head_learning_rate, LOWEST_RATE) == (1e-3, 1e-5)
    assert resolve(make_settings(), get_tuning("features")).steps.head_learning_rate == 3e-3
    assert resolve(make_settings(classifier="bilstm"), get_tuning("full")).steps.head_learning_rate == 2e-5


def test_the_rate_is_halved_where_the_loss_on_dev_stands_still(rates, start, tmp_path):
    losses = [3.0, 4.0, 2.0, 2.0, 1.0, *[1.5] * 20]
    scores = [10.0, 13.0, 12.0, 13.0, *[0.0] * 21]  # these choose the weights
    seen = rates(scores, losses)
    run, _ = start("ner", tmp_path / "run", "features", **BETO)
    factors = [1, 1, 2, 2, 4, 4, 8, 16, 32, 64]  # the seventh halving, below 1e-5, ends it
    assert by_epoch(seen) == [1e-3 / factor for factor in factors]
    assert run.config["training"]["dev_scores"] == scores[: len(factors)]
    assert run.config["training"]["best"] == "epoch 4"  # of the two with 13.0 the one with the lower loss
    assert run.config["metrics"]["dev"] == {"en": 13.0}


def test_the_weights_of_the_best_epoch_are_kept(rates, start, logits, tmp_path):
    found = {}
    for name, scores in (("cut", [5.0]), ("long", [5.0, 4.0, 3.0])):
        rates(scores, [1.0] * len(scores))
        run, _ = start("ner", tmp_path / name, "features", **{**BETO, "epochs": len(scores)})
        loaded = load_run(run)
        found[name] = logits(loaded.model, loaded.tokenizer)
    assert torch.equal(found["cut"], found["long"])


def test_a_loss_that_is_no_number_ends_it(rates, start, tmp_path):
    rates([1.0, 1.0], [2.0, float("nan")])
    with pytest.raises(NotFiniteError, match="The loss on dev is nan after epoch 2; type a smaller --head-lr"):
        start("ner", tmp_path / "run", "features", **BETO)


def test_steps_can_be_counted(rates, start, tmp_path):
    seen = rates([0.0] * 5, [1.0] * 5)
    start("ner", tmp_path / "run", "features", **{**BETO, "max_steps": 3})
    assert [rate for rate in seen if rate] == [1e-3, 1e-3, 1e-3]


@pytest.mark.parametrize(("steps", "scored"), [(1, 1), (2, 1), (3, 2), (99, 3)])
def test_steps_of_a_linear_head_can_be_counted_too(steps, scored, start, tmp_path):
    found = []
    run, _ = start(
        "ner", tmp_path / "run", "features", fuse_layer=2, epochs=3, max_steps=steps,
        progress=lambda stage, done, total: found.extend([total] * done if stage == "Training" else []),
    )  # fmt: skip
    assert found == [min(steps, 6)] * min(steps, 6)
    assert len(run.config["training"]["dev_scores"]) == scored


KINDS = {
    "tags": ("ner", "features", {}),
    "mean of the pieces, in windows": ("pos", "features", {"pooling": "mean", "max_length": 8, "context": 2}),
    "texts": ("xnli", "features", {"fusion": "dlfa", "fuse_layer": 2}),
    "one layer": ("mood", "features", {"fusion": "layer", "fuse_layer": 2}),
    "with LoRA": ("ner", "lora:2", {"epochs": 1}),
    "with PEFT": ("ner", "peft-lora:2", {"epochs": 1}),
    "whole": ("mood", "full", {"epochs": 1}),
}


@pytest.fixture(scope="module")
def runs(start, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return {
        name: start(task, root / name.replace(" ", "-"), tuning, **{**BETO, "epochs": 3, **options})
        for name, (task, tuning, options) in KINDS.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_loaded_model_gives_the_same_logits(kind, runs, logits):
    run, plan = runs[kind]
    loaded = load_run(run)
    assert run.config["head"]["classifier"] == "bilstm"
    assert torch.equal(logits(loaded.model, loaded.tokenizer), logits(plan.model, plan.encoder.tokenizer))


@pytest.mark.parametrize("kind", ["tags", "mean of the pieces, in windows", "texts"])
def test_the_score_is_that_of_the_loaded_model(kind, runs, items):
    run, plan = runs[kind]
    given = items[plan.task.name][:4]
    loaded, columns = load_run(run), list(zip(*given, strict=True))
    inputs = [list(column) for column in columns[:-1]]
    predicted = loaded.predict(*inputs)
    if kind == "tags":
        right = {"en": pytest.approx(max(run.config["training"]["dev_scores"]))}
        assert run.config["metrics"]["dev"] == right
        return
    both = zip(columns[-1], predicted, strict=True)
    if kind != "texts":
        both = (pair for gold, said in both for pair in zip(gold, said, strict=True))
    hits = [gold == said for gold, said in both]
    assert run.config["metrics"]["dev"]["en"] == pytest.approx(100 * sum(hits) / len(hits), abs=1e-3)


def test_the_same_seed_gives_the_same_weights(runs, start, logits, tmp_path):
    (_, plan), (_, again) = runs["tags"], start("ner", tmp_path / "run", "features", **{**BETO, "epochs": 3})
    (_, other) = start("ner", tmp_path / "run", "features", **{**BETO, "epochs": 3, "seed": 1})
    one, two, three = (logits(p.model, p.encoder.tokenizer) for p in (plan, again, other))
    assert torch.equal(one, two)
    assert not torch.allclose(one, three, atol=1e-3)


def test_dev_data_are_needed(start, tmp_path):
    with pytest.raises(ConfigError, match="watches dev data; name some with --dev"):
        start("ner", tmp_path / "run", "features", **{**BETO, "dev_data": "none"})


TRIED = {**BETO, "head_learning_rate": None, "epochs": 8}


def test_rates_to_try_are_around_that_of_the_paper():
    settings = resolve(make_settings(classifier="bilstm"), get_tuning("features"))
    assert settings.steps.head_learning_rates == (3e-4, 1e-3, 3e-3)
    assert resolve(make_settings(classifier="bilstm"), get_tuning("full")).steps.head_learning_rates == ()


def test_each_rate_is_tried_and_the_best_goes_on(rates, start, tmp_path, caplog):
    """Three evaluations each, the best of which chooses: that with the lower loss, where two have the same score."""
    scores = [[1.0, 2.0, 3.0], [9.0, 8.0, 7.0], [2.0, 9.0, 6.0], [5.0, 12.0, 1.0, 1.0, 1.0]]
    losses = [[3.0, 2.0, 1.0], [0.5, 0.6, 0.7], [3.0, 0.4, 0.6], [0.3] * 5]
    seen = rates([*chain(*scores)], [*chain(*losses)])
    run, plan = start("ner", tmp_path / "run", "features", **TRIED)
    up, down = 3e-3, 3e-3 / 2  # the third evaluation of the third rate had no lower loss
    by_rate = [3e-4] * 3 + [1e-3, 1e-3, 5e-4] + [up] * 3
    assert by_epoch(seen)[:9] == pytest.approx(by_rate)
    assert by_epoch(seen)[9:11] == pytest.approx([down, down])
    training = run.config["training"]
    assert training["rates_tried"] == {"0.0003": 3.0, "0.001": 9.0, "0.003": 9.0}
    assert (training["head_learning_rate"], training["head_learning_rates"]) == (3e-3, [3e-4, 1e-3, 3e-3])
    assert training["dev_scores"] == [*scores[2], *scores[3]]
    assert training["best"] == "epoch 5"
    assert "learning rates 0.0003, 0.001, 0.003 tried for three evaluations each" in plan.lines()[-1]
    assert "The best learning rate of the head, 0.003, is the highest of those tried; try --head-lr " in caplog.text


def test_it_ends_as_it_would_have_ended_at_that_rate_alone(start, logits, tmp_path):
    run, plan = start("ner", tmp_path / "run", "features", **TRIED)
    rate = run.config["training"]["head_learning_rate"]
    alone, other = start("ner", tmp_path / "alone", "features", **{**TRIED, "head_learning_rate": rate})
    assert run.config["training"]["dev_scores"] == alone.config["training"]["dev_scores"]
    assert torch.equal(*(logits(each.model, each.encoder.tokenizer) for each in (plan, other)))


def test_a_rate_at_which_it_diverges_is_not_chosen(rates, start, tmp_path, caplog):
    scores, nan = [1.0, 2.0, 3.0, 50.0, 1.0, 1.0, 1.0, *[0.0] * 5], float("nan")
    rates(scores, [1.0, 1.0, 1.0, nan, 3.0, 2.0, 1.0, *[0.5] * 5])
    run, _ = start("ner", tmp_path / "run", "features", **TRIED)
    assert run.config["training"]["rates_tried"] == {"0.0003": 3.0, "0.001": 0.0, "0.003": 1.0}
    assert run.config["training"]["head_learning_rate"] == 3e-4
    assert "At a first rate of 0.001: The loss on dev is nan after epoch 1; type a smaller --head-lr." in caplog.text
    rates([1.0] * 3, [nan] * 3)
    with pytest.raises(NotFiniteError, match="The loss on dev is nan after epoch 1"):
        start("ner", tmp_path / "run", "features", **TRIED)


@pytest.mark.parametrize(("stop", "options"), [(2, TRIED), (5, TRIED), (13, TRIED), (5, {**BETO, "epochs": 8})])
def test_a_training_that_was_killed_goes_on_from_its_epoch(stop, options, rates, start, logits, tmp_path):
    class KilledError(Exception):
        pass

    def kill(stage, done, total):
        if stage == "Training":
            counted.append(done)
            if sum(counted) > stop:
                raise KilledError

    counted, whole = [], start("ner", tmp_path / "whole", "features", **options)
    with pytest.raises(KilledError):
        start("ner", tmp_path / "run", "features", progress=kill, **options)
    again, steps = [], []
    adam = torch.optim.Adam.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", lambda self, *args: (steps.append(1), adam(self, *args))[1])
        run, plan = start(
            "ner", tmp_path / "run", "features", resume=True, **options,
            progress=lambda stage, done, total: again.append(done) if stage == "Training" else None,
        )  # fmt: skip
    assert len(steps) == 2 * (sum(again) - stop)  # two batches an epoch, and none of the epochs that are done
    assert run.config["training"]["dev_scores"] == whole[0].config["training"]["dev_scores"]
    assert torch.equal(*(logits(each.model, each.encoder.tokenizer) for each in (plan, whole[1])))


def test_of_a_single_rate_all_evaluations_count(rates, start, tmp_path):
    rates([1.0, 2.0, 3.0, 9.0], [4.0, 3.0, 2.0, 1.0])
    run, _ = start("ner", tmp_path / "run", "features", **{**BETO, "epochs": 4})
    assert run.config["training"]["rates_tried"] == {"0.001": 9.0}
