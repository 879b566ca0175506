"""A whole sweep of a tiny frozen encoder: scores, files, the best head as a run, and going on after `kill -9`."""

import json
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError, RunError
from dlfa_adapters.ground.folders import mark
from dlfa_adapters.kinds import scores_for
from dlfa_adapters.learning.rate_choice import RateChoice
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.sweeps import make_table, run_sweep
from dlfa_adapters.sweeps.prepare import Request, prepare_sweep
from dlfa_adapters.tasks import NER
from dlfa_adapters.tuning import get_tuning

TRAIN = [
    "Anna/B-PER met/O Bob/B-PER in/O Rome/B-LOC", "Rome/B-LOC fell/O", "Bob/B-PER", "no/O name/O here/O",
    "the/O Red/B-ORG Fox/I-ORG met/O in/O Oslo/B-LOC", "New/B-LOC York/I-LOC is/O far/O", "in/O Oslo/B-LOC",
    "Ann/B-PER Lee/I-PER saw/O Acme/B-ORG",
]  # fmt: skip
FILES = {
    "en/train": TRAIN, "en/dev": TRAIN[:5], "en/test": TRAIN[2:],
    "de/test": ["Anna/B-PER traf/O Bob/B-PER in/O Rom/B-LOC", "Rom/B-LOC fiel/O", "kein/O Name/O"],
    "sw/test": ["Anna/B-PER alikutana/O na/O Bob/B-PER", "Roma/B-LOC"],
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, sentences in FILES.items():
        path = folder / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        lines = ["\n".join(pair.replace("/", "\t") for pair in sentence.split()) for sentence in sentences]
        path.write_text("\n\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def sweep(data, tiny_folder):
    """sweep(out, ...): a small sweep of NER."""

    def run(out, **options):
        given = {
            "train_data": data, "model": str(tiny_folder), "seeds": 2, "epochs": 3, "batch_size": 3, "plots": False,
            "extra": ["mix"], "head_learning_rate": 1e-2,
        }  # fmt: skip
        return run_sweep("ner", out=out, **{**given, **options})

    return run


@pytest.fixture(scope="module")
def done(sweep, tmp_path_factory):
    return sweep(tmp_path_factory.mktemp("runs") / "ner-sweep", within=5.0, plots=True)


def test_every_head_seed_epoch_and_language_is_there(done):
    names = [(row.spec.name, row.spec.seed) for row in done.result.rows]
    assert names == [(name, seed) for name in ("last", "D_1", "D_2", "D_3", "mix") for seed in (0, 1)]
    for row in done.result.rows:
        assert len(row.dev) == 3
        assert row.dev_score >= max(row.dev) - 5.0
        assert {language: len(scores) for language, scores in row.languages.items()} == {"de": 3, "en": 3, "sw": 3}
        assert {language: len(counts) for language, counts in row.counts.items()} == {"de": 3, "en": 6, "sw": 2}
    assert done.result.control == "D_3"


def test_the_counts_are_those_of_the_kept_epoch(done):
    score = scores_for(NER)[0]
    for row in done.result.rows:
        for language, counts in row.counts.items():
            of_counts = 100 * float(score.score(counts.sum(0)))
            np.testing.assert_allclose(row.languages[language][row.epoch - 1], of_counts, atol=1e-4)


def test_the_best_head_is_a_run_that_predicts_what_was_scored(done, data):
    config = done.best.config
    best = done.result.best()
    assert (config["seed"], config["training"]["best"]) == (best.spec.seed, f"epoch {best.epoch}")
    assert config["head"]["fuse_layer"] == (list(best.spec.head.layers) or None)
    assert "English dev, among 10 heads" in config["training"]["picked_on"]
    predicted = predict_run(done.best, data, languages=["de", "sw"])
    score = scores_for(NER)[0]
    for language in predicted.languages:
        counts = score.counts(language.predicted, language.gold)
        assert counts.tolist() == best.counts[language.language].tolist()


def test_training_and_dev_data_are_those_of_the_language_that_is_named(data, tiny_folder, tmp_path):
    for name in ("sw/train", "sw/dev"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.tsv").write_text(f"{name[3:]}\tB-PER\n", "utf-8")
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    tuning = get_tuning("features")
    for language, items in (("sw", (1, 1)), (None, (8, 5))):
        request = Request(task="ner", train_data=tmp_path, language=language, model=str(tiny_folder))
        ready = prepare_sweep(request, tuning, resolve(make_settings(epochs=1), tuning), tmp_path / "sweep")
        assert ready.sources == [language or "en"]
        assert (len(ready.train.words), len(ready.dev.words)) == items
        assert set(ready.targets) == {"de", "en", "sw"}


def test_what_is_saved(done):
    whole = json.loads((done.folder / "sweep.json").read_text("utf-8"))
    assert whole["metric"] == "span F1 (lenient)"
    assert whole["data"]["targets"]["languages"]["de"]["items"] == 3
    assert whole["settings"]["within"] == 5.0
    assert len(whole["heads"]) == 10
    assert [line["name"] for line in whole["table"]["lines"]] == ["last", "D_1", "D_2", "D_3", "mix"]
    for read, row in zip(whole["heads"], done.result.rows, strict=True):
        assert (read["spec"], read["epoch"]) == (json.loads(json.dumps(row.spec.record())), row.epoch)
        np.testing.assert_allclose(np.array(read["languages"]["sw"], float), row.languages["sw"], atol=1e-4)
    assert "| D_2 |" in (done.folder / "sweep.md").read_text("utf-8")
    for path in done.plots:
        assert path.read_text("utf-8").rstrip().endswith("</svg>")
    assert [path.name for path in done.plots] == ["layers.svg", "languages.svg"]
    left = {path.name for path in done.folder.iterdir()}
    files = {"made-by-dlfa.json", "plan.json", "sweep.json", "sweep.md", "layers.svg", "languages.svg"}
    assert left == {*files, "states", "trainings", "best"}
    assert not list((done.folder / "trainings").glob("*epoch*"))


def test_only_what_is_missing_is_trained(done, sweep, monkeypatch):
    from dlfa_adapters.encoders import compute

    monkeypatch.setattr(compute, "states_of", lambda *args: pytest.fail("the states are there"))
    stages, told = [], []
    options = {"extra": ["gates:1", "mix"], "seeds": 3, "progress": lambda *step: stages.append(step)}
    more = sweep(done.folder, within=5.0, note=told.append, **options)
    assert "10 of 18 heads are there already." in told
    assert {stage for stage, _, _ in stages if stage.startswith("Training")} == {"Training 8 heads side by side"}
    new = {(row.spec.name, row.spec.seed): row for row in more.result.rows}
    assert [row.spec.name for row in more.result.rows][-6:] == ["D_1 product"] * 3 + ["mix"] * 3
    for row in done.result.rows:
        assert row.dev == new[row.spec.name, row.spec.seed].dev


def test_what_is_wrong_with_dev_data_is_said(sweep, data, tmp_path):
    said = []
    options = {"layers": [1], "extra": [], "seeds": 1, "epochs": 1}
    sweep(tmp_path / "sweep", dev_data=data / "en" / "train.tsv", language="en", note=said.append, **options)
    assert any("dev items are also in the training data" in note for note in said)


def test_another_sweep_in_its_place_is_refused(done, sweep, tmp_path):
    with pytest.raises(RunError, match="holds a sweep with epochs=3, not 4; give another folder with --out"):
        sweep(done.folder, within=5.0, epochs=4)
    with pytest.raises(RunError, match="holds a sweep with other data"):
        sweep(done.folder, within=5.0, languages=["de"])
    (tmp_path / "note.txt").write_text("a user's", "utf-8")
    with pytest.raises(ConfigError, match="exists and is not a sweep"):
        sweep(tmp_path)


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_damaged_plan_is_told_in_a_sentence(sweep, tmp_path, text):
    mark(tmp_path, "a sweep")
    (tmp_path / "plan.json").write_text(text, "utf-8")
    with pytest.raises(RunError, match=r"plan\.json is damaged \(.*\); start the sweep again with --restart\.$"):
        sweep(tmp_path)


def test_restart_deletes_the_sweep_and_nothing_else(sweep, tmp_path):
    """A user's own plan.json is no sweep, and what a user has put into a sweep's folder stays."""
    mine = tmp_path / "mine"
    (mine / "sub").mkdir(parents=True)
    (mine / "plan.json").write_text('{"format": 1, "milestones": []}', "utf-8")
    (mine / "sub" / "corpus.txt").write_text("precious", "utf-8")
    for restart in (False, True):
        with pytest.raises(ConfigError, match="exists and is not a sweep; give another folder"):
            sweep(mine, restart=restart)
    assert (mine / "sub" / "corpus.txt").read_text("utf-8") == "precious"
    small = {"seeds": 1, "epochs": 1, "extra": (), "layers": [1], "head_learning_rate": (1e-3, 1e-2)}
    folder = sweep(tmp_path / "sweep", **small).folder
    earlier = {path.name for path in (folder / "trainings").iterdir()}
    assert any(name.startswith("rates-") for name in earlier)
    for name in ("notes.txt", "trainings/epoch-notes.safetensors", "best/notes.txt", "states/notes.txt"):
        (folder / name).write_text("precious", "utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "corpus.txt").write_text("precious", "utf-8")
    (folder / "states" / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    with pytest.raises(ConfigError, match=r"best would be replaced, but has files in it .*notes.txt"):
        sweep(folder, restart=True, **{**small, "epochs": 2})
    (folder / "best" / "notes.txt").rename(folder / "best-notes.txt")
    assert len(sweep(folder, restart=True, **{**small, "epochs": 2}).result.rows[0].dev) == 2
    assert not earlier & {path.name for path in (folder / "trainings").iterdir()}
    for name in ("notes.txt", "trainings/epoch-notes.safetensors", "best-notes.txt", "states/link/corpus.txt"):
        assert (folder / name).read_text("utf-8") == "precious", name


@pytest.fixture(scope="module")
def tried(sweep, tmp_path_factory):
    """A sweep that tries three rates."""
    stages = []
    done = sweep(
        tmp_path_factory.mktemp("tried") / "sweep", head_learning_rate=RATES, progress=lambda *step: stages.append(step)
    )
    return done, stages


RATES = (1e-1, 1e-6, 1e-2)


def test_each_head_learns_at_the_rate_that_is_best_for_it_on_source_dev(tried, sweep, tmp_path):
    done, stages = tried
    names = list(dict.fromkeys(name for name, _, _ in stages))
    assert names[2:4] == ["Trying 3 learning rates for 5 heads", "Training 10 heads side by side"]
    alone = {rate: sweep(tmp_path / str(rate), head_learning_rate=rate, seeds=1).result for rate in RATES}
    for row in done.result.rows:
        at = {rate: next(r for r in found.rows if r.spec.name == row.spec.name) for rate, found in alone.items()}
        assert [(attempt.rates.head, attempt.dev) for attempt in row.rates.tried] == [
            (rate, pytest.approx(max(at[rate].dev))) for rate in sorted(RATES)
        ]
        best = max(RATES, key=lambda rate: (at[rate].dev_score, -at[rate].loss))
        assert row.rates.rates.head == best != 1e-6
        assert bool(row.rates.edges) == (best == 1e-1)
        if row.spec.seed == 0:
            assert (row.dev, row.languages) == (pytest.approx(at[best].dev), at[best].languages)


def test_rates_are_tried_without_a_target_language_and_with_the_weight_decay_that_is_asked_for(
    sweep, tmp_path, monkeypatch
):
    from dlfa_adapters.learning.frozen import learn

    given, train_heads = [], learn.train_heads
    monkeypatch.setattr(learn, "train_heads", lambda *data, **how: given.append(how) or train_heads(*data, **how))
    sweep(tmp_path / "sweep", head_learning_rate=RATES, weight_decay=0.3, seeds=1, epochs=1, extra=[], layers=[1])
    tried, trained = given
    assert [tuple(rate) for rate in tried["rates"]] == 3 * [(rate, 0.3) for rate in sorted(RATES)]
    assert {rate.weight_decay for rate in trained["rates"]} == {0.3}
    assert (tried.get("watch"), set(trained["watch"])) == (None, {"de", "en", "sw"})


def test_the_rates_stand_in_the_table_and_in_the_files(tried):
    done, _ = tried
    best = done.result.best()
    training = done.best.config["training"]
    assert training["head_learning_rate"] == best.rates.rates.head
    assert list(training["rates_tried"]) == ["1e-06", "0.01", "0.1"]
    heads = json.loads((done.folder / "sweep.json").read_text("utf-8"))["heads"]
    [read] = [head for head in heads if head["spec"] == json.loads(json.dumps(best.spec.record()))]
    assert RateChoice.from_dict(read["rates"]).rates == best.rates.rates
    text = (done.folder / "sweep.md").read_text("utf-8")
    line = done.table.line("D_2")
    assert f"| D_2 | {line.rates.rates.head:g}{'!' if line.rates.edges else ''} |" in text
    assert "the best on dev of 1e-06, 0.01, 0.1" in text


def test_more_seeds_have_the_rates_of_the_first(tried, sweep):
    done, _ = tried
    stages = []
    more = sweep(
        done.folder, head_learning_rate=RATES, seeds=3, extra=["mix", "layers:1"],
        progress=lambda *step: stages.append(step[0]),
    )  # fmt: skip
    trying = {stage for stage in stages if stage.startswith("Trying")}
    assert trying == {"Trying 3 learning rates for 1 heads"}  # the layer alone
    for rows in more.result.variants().values():
        assert len({row.rates for row in rows}) == 1


@pytest.mark.parametrize("place", ["states", "training", "second epoch", "the end of training"])
def test_after_kill_9_it_goes_on_and_ends_with_the_same_scores(place, sweep, tmp_path_factory, whole):
    """A forked process kills itself; another one finishes."""
    stage, step = {
        "states": ("Computing hidden states, once", 2), "training": ("Training", 1), "second epoch": ("Training", 5),
        "the end of training": ("Training", 9),
    }[place]  # fmt: skip
    folder = tmp_path_factory.mktemp("killed") / "sweep"
    seen = []

    def kill(name, done, total):
        seen.append(name)
        if name.startswith(stage) and sum(1 for n in seen if n == name) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            sweep(folder, progress=kill)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert not (folder / "sweep.json").exists()
    again = sweep(folder)
    for one, two in zip(whole.result.rows, again.result.rows, strict=True):
        assert (one.spec, one.epoch, one.dev, one.languages) == (two.spec, two.epoch, two.dev, two.languages)
    assert again.best.config["metrics"] == whole.best.config["metrics"]
    assert not [path for path in folder.rglob(".*")]


@pytest.mark.parametrize("step", [1, 5, 9])
def test_after_kill_9_while_rates_are_tried_it_goes_on_to_the_same_scores(step, sweep, tried, tmp_path):
    def kill(name, done, total):
        seen.append(name)
        if name.startswith("Trying") and seen.count(name) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    options, seen = {"head_learning_rate": RATES, "seeds": 1, "layers": [2], "extra": []}, []
    child = os.fork()
    if child == 0:
        try:
            sweep(tmp_path / "sweep", progress=kill, **options)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    again = sweep(tmp_path / "sweep", **options)
    whole = {row.spec: row for row in tried[0].result.rows}
    for row in again.result.rows:
        assert row.rates.rates == whole[row.spec].rates.rates
        assert row.dev == pytest.approx(whole[row.spec].dev)


@pytest.fixture(scope="module")
def whole(sweep, tmp_path_factory):
    return sweep(tmp_path_factory.mktemp("whole") / "sweep")


def test_the_same_encoder_in_another_place_goes_on(whole, sweep):
    plan = whole.folder / "plan.json"
    plan.write_text(plan.read_text("utf-8").replace('"origin": "', '"origin": "was elsewhere: '), "utf-8")
    stages = []
    sweep(whole.folder, progress=lambda *step: stages.append(step[0]))
    assert not any("side by side" in stage for stage in stages)


def test_a_damaged_training_is_trained_again(whole, sweep, caplog):
    for kind in ("training", "weights"):
        path = sorted((whole.folder / "trainings").glob(f"{kind}-*"))[0]
        content = path.read_bytes()
        for damaged in (content[:-1], content[:-1] + bytes([content[-1] ^ 1]), content.replace(b"sha256", b"sha257")):
            path.write_bytes(damaged)
            stages = []
            again = sweep(whole.folder, progress=lambda *step, stages=stages: stages.append(step[0]))
            assert "Training 1 heads side by side" in stages
            assert f"{path} is damaged" in caplog.text
            for one, two in zip(whole.result.rows, again.result.rows, strict=True):
                assert (one.spec, one.epoch, one.dev, one.languages) == (two.spec, two.epoch, two.dev, two.languages)
            caplog.clear()


def test_pairs_that_are_translations_are_drawn_together(tiny_folder, tmp_path):
    """By their place, as XTREME's files have no ids; the table says so, and so does its file."""
    labels = ["neutral", "entailment", "contradiction"]
    for name in ("train-en", "dev-en", "test-de", "test-fr", "test-sw"):
        rows = [f"{name} {i}\tso it is\t{labels[i % 3]}" for i in range(9)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    done = run_sweep(
        "xnli", train_data=tmp_path, target_data=tmp_path, seeds=1, model=str(tiny_folder), epochs=1, plots=False,
        layers=[2], out=tmp_path / "sweep",
    )  # fmt: skip
    assert (done.table.drawn.by, done.table.drawn.shared, done.table.drawn.alone) == ("place in the file", 9, 0)
    apart = make_table(replace(done.result, translations=None))
    assert apart.line("last").languages["de"].value == done.table.line("last").languages["de"].value
    assert apart.line("last").means["targets"] != done.table.line("last").means["targets"]
    assert "translations of each other (by place in the file)" in (done.folder / "sweep.md").read_text("utf-8")


def test_texts(tiny_folder, tmp_path):
    """A sentence task, with pairs; the encoder runs in every epoch."""
    pairs = [("Anna met Bob", "Bob met Anna"), ("Rome fell", "Rome stands"), ("in Oslo", "in Rome"), ("no", "yes")]
    labels = ["entailment", "contradiction", "neutral", "contradiction"]
    items = [(*pair, label) for pair, label in zip(pairs, labels, strict=True)] * 3
    told = []
    done = run_sweep(
        "xnli", train_data=items, dev_data=items[:4], target_data=items[:6], languages=["de"], language="en", seeds=1,
        model=str(tiny_folder), epochs=2, out=tmp_path / "xnli", plots=False, state_budget=0, note=told.append,
    )  # fmt: skip
    assert "once in every epoch" in " ".join(told)
    assert done.table.title == "accuracy"
    assert done.result.rows[0].counts["de"].shape == (6, 2)
    assert done.table.line("D_1").means["targets"].low is not None
    assert not (tmp_path / "xnli" / "states").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fuse_layer": 2}, "name them with --layers"),
        ({"dev_data": "none"}, "needs dev data"),
        ({"pooling": "mean"}, "first piece"),
        ({"train_data": [(["a"], ["O"])] * 3, "dev_data": [(["a"], ["O"])], "language": "en"}, "with --data"),
        ({"seeds": 0}, "at least one seed"),
    ],
)
def test_refusals(options, message, sweep, tmp_path):
    with pytest.raises(ConfigError, match=message):
        sweep(tmp_path / "sweep", **options)


def test_plots_need_matplotlib_only_when_they_are_asked_for(sweep, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dlfa-adapters\[plots\]'"):
        sweep(tmp_path / "sweep", plots=True)
    assert not (tmp_path / "sweep").exists()
    told = []
    done = sweep(tmp_path / "sweep", plots=None, seeds=1, epochs=1, extra=(), layers=[1], note=told.append)
    assert done.plots == []
    assert "dlfa-adapters[plots]" in told[-1]


def test_the_table_on_the_screen_and_the_json(done, data, tiny_folder, monkeypatch):
    from typer.testing import CliRunner

    from dlfa_cli.main import app

    arguments = [
        "sweep", "ner", "--train", str(data), "--model", str(tiny_folder), "--seeds", "2", "--epochs", "3",
        "--batch-size", "3", "--head-lr", "1e-2", "--within", "5", "--with", "mix", "--no-plots",
        "--out", str(done.folder),
    ]  # fmt: skip
    threads = torch.get_num_threads()
    found = CliRunner().invoke(app, [*arguments, "--by-language"], catch_exceptions=False)
    torch.set_num_threads(threads)
    assert found.exit_code == 0
    text = " ".join(found.stdout.split())
    for expected in (
        "against",
        "targets (without en)",
        "D_2",
        "by algebra",
        f"dlfa predict {done.folder / 'best'}",
    ):
        assert expected in text, expected
    assert " sw " in text
    found = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert json.loads(found.stdout)["best"]["name"] == done.result.best().spec.name
