"""The search: all of a grid, the best run kept, and no training twice."""

import sys

import pytest
from typer.testing import CliRunner

import dlfa_adapters.learning.tune as tune_module
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.learning.tune import BETO_GRID, tune
from dlfa_adapters.predict.load import load_run
from dlfa_cli.main import app

pytest.importorskip("optuna", reason="optuna is not installed: pip install -e '.[tune]'")
GRID = {"learning_rate": [1e-6, 3e-2], "epochs": [1, 2]}


@pytest.fixture
def search(items, tiny_folder, tmp_path):
    def run(**options):
        given = {
            "train_data": items["ner"], "dev_data": items["ner"][:4], "language": "en", "model": str(tiny_folder),
            "tuning": "full", "fuse_layer": 2, "grid": GRID, "out": tmp_path / "best", "batch_size": 4,
        }  # fmt: skip
        return tune("ner", **{**given, **options})

    return run


@pytest.fixture
def trained(monkeypatch):
    """The options of every training that really ran."""
    calls, train = [], tune_module.train

    def count(task, **options):
        calls.append({name: options[name] for name in GRID})
        return train(task, **options)

    monkeypatch.setattr(tune_module, "train", count)
    return calls


def test_all_of_a_grid_and_the_best_is_kept(search, trained, tmp_path):
    seen = []
    result = search(on_trial=lambda trial, total: seen.append((trial.number, total)))
    assert sorted(trained, key=str) == sorted(
        ({"learning_rate": a, "epochs": b} for a in (1e-6, 3e-2) for b in (1, 2)), key=str
    )
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4)]
    scores = [trial.score for trial in result.trials]
    assert result.best.score == max(scores)
    assert result.run.config["metrics"]["dev"]["en"] == max(scores)
    assert result.run.config["training"]["learning_rate"] == result.best.options["learning_rate"]
    assert load_run(result.run).predict([["Anna"]])
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_search_that_was_cut_short_goes_on(search, trained, tmp_path):
    def stop(trial, total):
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(on_trial=stop)
    assert len(trained) == 3
    folders = [path.name for path in (tmp_path / "best.tune").iterdir() if path.is_dir()]
    assert len(folders) == 1  # only the best so far keeps its weights
    result = search()
    assert len(trained) == 4
    assert len(result.trials) == 4
    assert result.run.config["metrics"]["dev"]["en"] == max(trial.score for trial in result.trials)


def test_what_another_search_has_left_is_not_taken(search, trained, items):
    def stop(trial, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(on_trial=stop)
    search(train_data=items["ner"][:6], trials=2)
    assert len(trained) == 1 + 2


def test_tpe_and_the_number_of_trials(search):
    assert len(search(sampler="tpe", trials=2).trials) == 2


def test_the_grid_of_the_paper():
    assert BETO_GRID == {"learning_rate": (2e-5, 3e-5, 5e-5), "batch_size": (16, 32), "epochs": (3, 4)}


def test_refusals(search, monkeypatch, tmp_path):
    with pytest.raises(ConfigError, match="epochs is both given and searched for"):
        search(epochs=3)
    with pytest.raises(ConfigError, match="warmup is both given and searched for"):
        search(grid={"warmup": [0.1]}, warmup=0.0)
    with pytest.raises(ConfigError, match="sampler must be one of grid, tpe"):
        search(sampler="magic")
    with pytest.raises(ConfigError, match="A search needs dev data"):
        search(dev_data="none", grid={"learning_rate": [1e-3]}, epochs=1)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dlfa-adapters\[tune\]'"):
        search(out=tmp_path / "other")
    assert not (tmp_path / "other.tune").exists()


def test_the_command(items, tiny_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join("".join(f"{w}\t{t}\n" for w, t in zip(*s, strict=True)) for s in items["ner"])
    (tmp_path / "train-en.tsv").write_text(text, "utf-8")
    file = str(tmp_path / "train-en.tsv")
    done = CliRunner().invoke(
        app,
        ["tune", "ner", "--train", file, "--dev", file, "-m", str(tiny_folder), "-t", "features", "-k", "2",
         "--head-lr", "0.01", "--head-lr", "0.001", "--epochs", "1"],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0
    assert "Scores on dev data" in done.stdout
    assert "0.01" in done.stdout
    assert (tmp_path / "runs" / "ner-tuned" / "run.json").is_file()


def test_what_is_wrong_with_the_data_is_said_once(search):
    notes = []
    search(on_start=lambda plan: notes.append(plan.notes))
    [said] = notes
    assert any("4 of 4 dev items are also in the training data" in note for note in said)


def test_sources_and_auxiliary_tasks_of_a_training_are_those_of_its_search(search, items, tmp_path):
    """Every trial learns from both languages, drawn as asked, beside the other task."""
    data = {"train_data": {"en": items["ner"], "de": items["ner"][:4]}, "language": None, "grid": {"epochs": [1, 2]}}
    shares = {"en": 0.75, "de": 0.25}
    drawn = search(source_weights=shares, **data).run.config
    assert {name: of["share"] for name, of in drawn["data"]["train"]["sources"].items()} == shares
    assert drawn["training"]["source_weights"] == "en=0.75,de=0.25"
    with pytest.raises(ConfigError, match="has a weight for fr, but the source languages are en, de"):
        search(source_weights={**shares, "fr": 1}, **data)
    (tmp_path / "pos-en.tsv").write_text("Anna\tPROPN\nmet\tVERB\n", "utf-8")
    beside = search(aux={"pos": tmp_path / "pos-en.tsv"}, grid={"epochs": [1, 2]}).run.config
    assert beside["training"]["aux_heads"] == {"pos": "aux/pos"}
