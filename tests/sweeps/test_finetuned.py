"""A sweep of fine-tuned encoders: stacked or one after another, cut short or not, it ends with the same rows."""

import dataclasses

import pytest
import torch
from finetuned_data import prepared, still_folder

import dlfa_adapters.sweeps.finetuned as module
import dlfa_adapters.sweeps.finetuned.work as work
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.learning.rate_choice import Pair, pairs
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.sweeps.finetuned import finetuned_sweep
from dlfa_adapters.sweeps.finetuned.ranks import bytes_per_member, how_many_at_once
from dlfa_adapters.sweeps.run import with_head_rates
from dlfa_adapters.sweeps.trainings import RowFiles
from dlfa_adapters.tuning import get_tuning


@pytest.fixture(scope="module")
def still(tiny_folder, tmp_path_factory):
    return still_folder(tiny_folder, tmp_path_factory.mktemp("still") / "encoder")


@pytest.fixture(scope="module")
def sweep(still, tmp_path_factory):
    """Two seeds of `last`, D_2 and D_3."""
    return prepared(still, tmp_path_factory.mktemp("out"), seeds=2)


@pytest.fixture(scope="module")
def rows(sweep, tmp_path_factory):
    return finetuned_sweep(sweep, tmp_path_factory.mktemp("rows"), at_once=3)


@pytest.fixture(scope="module")
def one_seed(still, tmp_path_factory):
    """`last`, D_2 and D_3."""
    return prepared(still, tmp_path_factory.mktemp("out"))


@pytest.fixture(scope="module")
def first_rows(rows):
    return [row for row in rows if row.spec.seed == 0]


def assert_same(found, expected):
    assert [row.spec for row in found] == [row.spec for row in expected]
    for one, two in zip(found, expected, strict=True):
        assert one.dev == pytest.approx(two.dev)
        assert one.epoch == two.epoch
        assert one.languages.keys() == two.languages.keys()
        for language, scores in one.languages.items():
            assert scores == pytest.approx(two.languages[language])
            assert (one.counts[language] == two.counts[language]).all()


def test_one_after_another_gives_the_same_rows(one_seed, first_rows, tmp_path):
    notes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "why_not_stackable", lambda model: "because")
        alone = finetuned_sweep(one_seed, tmp_path, note=notes.append)
    assert notes == ["3 runs, one after another: because."]
    assert_same(alone, first_rows)
    assert {language: len(counts) for language, counts in alone[0].counts.items()} == {"de": 5, "sw": 2}
    assert all(len(scores) == 3 for scores in alone[0].languages.values())
    assert sorted(path.name for path in tmp_path.glob("*run-*")) == []  # neither run folders nor checkpoints stay


def test_another_seed_sees_the_batches_that_train_gives_it(sweep, rows, tmp_path):
    """Also the order of the batches is of the seed, so the second one stands beside the run alone that has it."""
    second = dataclasses.replace(sweep, specs=[spec for spec in sweep.specs if spec.seed == 1][:1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "why_not_stackable", lambda model: "because")
        alone = finetuned_sweep(second, tmp_path)
    assert_same(alone, [row for row in rows if row.spec == second.specs[0]])


def test_a_last_epoch_that_is_cut_short_is_one_too(still, tmp_path):
    sweep = prepared(still, tmp_path / "out", max_steps=5)
    stacked = finetuned_sweep(sweep, tmp_path / "stacked", at_once=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "why_not_stackable", lambda model: "because")
        assert_same(finetuned_sweep(sweep, tmp_path / "alone"), stacked)
    assert 3 in [row.epoch for row in stacked]  # of two steps, two and one


def test_one_by_itself_has_no_more_steps_than_the_others(still, tmp_path):
    sweep = prepared(still, tmp_path / "out", epochs=None)
    steps = sweep.settings.steps
    assert steps.min_steps > steps.total(len(sweep.train.rows))  # a training would have as many
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "why_not_stackable", lambda model: "because")
        [row] = finetuned_sweep(dataclasses.replace(sweep, specs=sweep.specs[:1]), tmp_path)
    assert len(row.dev) == len(row.languages["de"]) == sweep.settings.steps.epochs


TRIED = {"learning_rate": None, "learning_rates": (1e-2, 1e-6), "head_learning_rates": (3e-2, 1e-2)}


@pytest.fixture(scope="module")
def tried(still, tmp_path_factory):
    """A sweep that tries two rates of the encoder with two of the head."""
    sweep, told = prepared(still, tmp_path_factory.mktemp("out"), seeds=2, **TRIED), []
    return sweep, finetuned_sweep(sweep, sweep.out / "rows", at_once=5, note=told.append), told


def test_each_model_learns_at_the_pair_of_rates_that_is_best_for_it_on_source_dev(tried, still, tmp_path):
    sweep, found, told = tried
    assert told == ["Trying learning rates: 12 runs, 4 at once.", "3 runs, 3 at once; 3 are there already."]
    assert len(list((sweep.out / "rows").glob("*.safetensors"))) == len(found)
    alone = {}
    for pair in pairs(sweep.settings, frozen=False):
        one = prepared(still, tmp_path / "out", learning_rate=pair.encoder, head_learning_rate=pair.head)
        alone[pair] = {row.spec.name: row for row in finetuned_sweep(one, tmp_path / f"{pair.head}{pair.encoder}")}
    assert len(alone) == 4
    for row in found:
        at = {pair: rows[row.spec.name] for pair, rows in alone.items()}
        assert {attempt.rates: attempt.dev for attempt in row.rates.tried} == {
            pair: pytest.approx(other.dev_score) for pair, other in at.items()
        }
        best = max(at, key=lambda pair: (at[pair].dev_score, -at[pair].loss))
        assert row.rates.rates == best
        if row.spec.seed == 0:
            assert row.dev == pytest.approx(at[best].dev)
            assert row.languages["de"] == pytest.approx(at[best].languages["de"])


def test_what_was_tried_is_not_tried_again(tried, still, monkeypatch):
    sweep, found, _ = tried
    more, trained, start = prepared(still, sweep.out, seeds=3, **TRIED), [], work.start_ensemble
    monkeypatch.setattr(work, "start_ensemble", lambda *args: trained.extend(args[1]) or start(*args))
    again = finetuned_sweep(more, sweep.out / "rows", at_once=5)
    assert [(spec.name, spec.seed) for spec in trained] == [("last", 2), ("D_2", 2), ("D_3", 2)]
    rates = {row.spec.name: row.rates for row in found}
    assert {row.spec.name: row.rates for row in again} == rates


def test_one_after_another_they_are_tried_too(still, tmp_path):
    """Also a rate at which the training diverges; then the other one is taken."""
    sweep = prepared(still, tmp_path / "out", "freeze:1", learning_rates=(1e-2, 1e30), learning_rate=None)
    sweep.specs[:] = sweep.specs[:2]
    for row in finetuned_sweep(sweep, tmp_path / "rows"):
        assert row.rates.rates == Pair(1e-2, 1e-2)
        assert [attempt.loss for attempt in row.rates.tried] == [float("inf")] * 2
        assert row.rates.tried[1].dev == -float("inf")


@pytest.fixture
def singly(monkeypatch):
    """What is trained one after another: variant, seed and rates."""
    trained, train = [], work.train_singly

    def noted(prepared, job, *args):
        trained.append((job.spec.name, job.spec.seed, job.rates.head))
        return train(prepared, job, *args)

    monkeypatch.setattr(work, "train_singly", noted)
    return trained


def test_the_best_attempt_is_the_training_of_the_first_seed(still, tmp_path, singly):
    """So two rates and three seeds cost four trainings of a variant; and the rows are those of a sweep at that rate."""
    sweep = prepared(still, tmp_path / "out", "freeze:1", seeds=3, epochs=8, head_learning_rates=(1e-6, 3e-2))
    sweep.specs[:] = [spec for spec in sweep.specs if spec.name == "D_2"]
    found = finetuned_sweep(sweep, tmp_path / "rows")
    assert singly[:2] == [("D_2", 0, 1e-6), ("D_2", 0, 3e-2)]
    assert singly[2:] == [("D_2", 1, 3e-2), ("D_2", 2, 3e-2)]
    one = prepared(still, tmp_path / "out", "freeze:1", seeds=3, epochs=8, head_learning_rate=3e-2)
    one.specs[:] = sweep.specs
    assert_same(found, finetuned_sweep(one, tmp_path / "one"))
    assert {row.rates.rates for row in found} == {Pair(3e-2, 1e-2)}
    assert [attempt.rates.head for attempt in found[0].rates.tried] == [1e-6, 3e-2]


def test_a_sweep_that_is_cut_short_after_its_attempts_trains_none_of_them_again(still, tmp_path, singly, monkeypatch):
    sweep = prepared(still, tmp_path / "out", "freeze:1", epochs=8, head_learning_rates=(1e-6, 3e-2))
    sweep.specs[:] = sweep.specs[:1]
    with monkeypatch.context() as patch:
        patch.setattr(module.Choices, "take_best", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            finetuned_sweep(sweep, tmp_path / "rows")
    assert len(singly) == 2
    [row] = finetuned_sweep(sweep, tmp_path / "rows")
    assert (len(singly), row.rates.rates) == (2, Pair(3e-2, 1e-2))
    assert len(list((tmp_path / "rows").glob("*.safetensors"))) == 1


@pytest.mark.parametrize(
    ("tuning", "given", "tried"),
    [
        ("full", {}, [Pair(2e-5, 2e-5), Pair(1e-3, 2e-5)]),
        ("freeze:1", {}, [Pair(2e-5, 2e-5), Pair(1e-3, 2e-5)]),
        ("full", {"learning_rate": 5e-5}, [Pair(5e-5, 5e-5), Pair(1e-3, 5e-5)]),
        ("full", {"learning_rate": 1e-3}, [Pair(1e-3, 1e-3)]),
        ("full", {"head_learning_rate": 1e-4}, [Pair(1e-4, 2e-5)]),
        ("full", {"head_learning_rate": [1e-4, 1e-2]}, [Pair(1e-4, 2e-5), Pair(1e-2, 2e-5)]),
        ("full", {"learning_rate": [1e-5, 2e-5]}, [Pair(1e-5, 1e-5), Pair(2e-5, 2e-5)]),
        ("bottleneck", {}, [Pair(1e-3, 5e-4), Pair(3e-3, 5e-4)]),
        ("lora", {}, [Pair(1e-3, 1e-3), Pair(3e-3, 1e-3)]),
        ("lora", {"learning_rate": 5e-4}, [Pair(1e-3, 5e-4), Pair(3e-3, 5e-4)]),
        ("lora", {"head_learning_rate": 3e-3}, [Pair(3e-3, 1e-3)]),
    ],
)
def test_every_head_beside_a_fine_tuned_encoder_is_tried_at_two_rates(tuning, given, tried):
    method, settings = get_tuning(tuning), make_settings(**given)
    assert pairs(with_head_rates(resolve(settings, method), settings, method), frozen=False) == tried


def test_runs_of_one_seed_stand_side_by_side(sweep, rows, tmp_path, monkeypatch):
    stacks = []
    start = work.start_ensemble
    monkeypatch.setattr(work, "start_ensemble", lambda *args: stacks.append(args[1]) or start(*args))
    notes, steps = [], []
    found = finetuned_sweep(sweep, tmp_path, at_once=2, note=notes.append, progress=lambda *step: steps.append(step))
    assert [[(spec.name, spec.seed) for spec in stack] for stack in stacks] == [
        [("last", 0)], [("D_2", 0), ("D_3", 0)], [("last", 1)], [("D_2", 1), ("D_3", 1)],
    ]  # fmt: skip
    assert notes == ["6 runs, 2 at once."]
    assert {total for _, _, total in steps} == {sum(done for _, done, _ in steps)} == {6 * 2 * 3}
    assert_same(found, rows)


def test_what_is_finished_is_not_trained_again(one_seed, first_rows, tmp_path, monkeypatch):
    finetuned_sweep(one_seed, tmp_path, at_once=3)
    files = RowFiles(tmp_path, one_seed)
    whole, cut, other = (tmp_path / f"training-{files.key(files.specs[number])}.safetensors" for number in range(3))
    cut.write_bytes(cut.read_bytes()[:200])
    other.write_bytes(whole.read_bytes())  # of another training than its name says
    trained = []
    start = work.start_ensemble
    monkeypatch.setattr(work, "start_ensemble", lambda *args: trained.extend(args[1]) or start(*args))
    notes = []
    assert_same(finetuned_sweep(one_seed, tmp_path, at_once=3, note=notes.append), first_rows)
    assert sorted(one_seed.specs.index(spec) for spec in trained) == [1, 2]
    assert notes == ["2 runs, 2 at once; 1 are there already."]
    trained.clear()
    finetuned_sweep(one_seed, tmp_path)
    assert trained == []
    changed = dataclasses.replace(one_seed, settings=one_seed.settings.changed(learning_rate=1e-3))
    finetuned_sweep(changed, tmp_path, at_once=3)
    assert len(trained) == 3


def test_a_stack_that_is_too_large_is_halved(one_seed, first_rows, tmp_path, monkeypatch):
    sizes = []
    train = work.train_ensemble

    def small_memory(ensemble, *args, **options):
        sizes.append(len(ensemble))
        if len(ensemble) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return train(ensemble, *args, **options)

    monkeypatch.setattr(work, "train_ensemble", small_memory)
    assert_same(finetuned_sweep(one_seed, tmp_path, at_once=3), first_rows)
    assert sizes == [3, 1, 2, 1, 1]


def test_a_run_that_diverges_is_named_and_the_others_stay(one_seed, first_rows, tmp_path, monkeypatch):
    train = work.train_ensemble

    def with_one_bad(ensemble, *args, **options):
        with torch.no_grad():
            ensemble.encoder.leaves["up.weight"][1, 0, 0, 0] = torch.nan
        return train(ensemble, *args, **options)

    monkeypatch.setattr(work, "train_ensemble", with_one_bad)
    with pytest.raises(RunError, match=r"in D_2 \(seed 0: from step 1 on\); the other runs"):
        finetuned_sweep(one_seed, tmp_path, at_once=3)
    monkeypatch.undo()
    notes = []
    assert_same(finetuned_sweep(one_seed, tmp_path, at_once=3, note=notes.append), first_rows)
    assert notes == ["1 runs, 1 at once; 2 are there already."]


def test_a_run_by_itself_that_diverges_is_named_too(still, tmp_path):
    wild = prepared(still, tmp_path / "out", "freeze:1", learning_rate=1e30, max_grad_norm=0.0)
    wild.specs[:] = wild.specs[:1]
    with pytest.raises(RunError, match=r"in last \(seed 0: The .* step \d+\b.*\); the other runs are kept"):
        finetuned_sweep(wild, tmp_path / "rows")
    assert not [path for path in tmp_path.rglob("run-*")]


@pytest.mark.parametrize(
    ("tuning", "options", "reason"),
    [
        ("full", {}, None),
        ("freeze:1", {}, "only --tuning full is stacked, not freeze:1"),
        ("full", {"gradient_checkpointing": True}, "gradient checkpointing"),
        ("full", {"micro_batch_size": 2}, "added up from smaller ones"),
        ("full", {"classifier": "bilstm"}, "other classifiers"),
    ],
)
def test_what_is_trained_one_after_another(tuning, options, reason, still, tmp_path):
    why = module._why_not_stacked(prepared(still, tmp_path, tuning, **options))
    assert (why is None) if reason is None else reason in why


@pytest.mark.parametrize(("tuning", "matters"), [("full", True), ("lora", True), ("features", False)])
def test_smaller_batches_make_another_sweep_where_the_encoder_learns(tuning, matters, still, tmp_path):
    whole, smaller = (prepared(still, tmp_path, tuning, micro_batch_size=n).decisive_settings() for n in (4, 2))
    assert (whole != smaller) == matters


def test_how_many_fit(sweep, monkeypatch):
    with pytest.raises(ConfigError, match="at least one model at once, got 0; type --at-once 1"):
        how_many_at_once(sweep, 6, torch.device("cpu"), 0)
    assert how_many_at_once(sweep, 6, torch.device("cpu"), None) == 1
    assert how_many_at_once(sweep, 6, torch.device("cpu"), 9) == 6
    model = sweep.encoder.model
    table = model.base_model.embeddings.word_embeddings.weight.numel() * 4
    cuda, rows = torch.device("cuda"), sweep.train.rows
    each = bytes_per_member(model.config, rows, batch_size=4, precision="fp32", device=cuda)
    assert each > 16 * sum(p.numel() for p in model.base_model.encoder.parameters())
    assert each < bytes_per_member(model.config, rows, batch_size=8, precision="fp32", device=cuda)
    free = round((table + 3.5 * each) / 0.85)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, free))
    assert how_many_at_once(sweep, 6, cuda, None) == 3
    assert how_many_at_once(sweep, 2, cuda, None) == 2
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (0, free))
    assert how_many_at_once(sweep, 6, cuda, None) == 1
