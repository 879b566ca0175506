"""`dlfa demo`: the table, the JSON, the run; on a tiny random encoder, and on the real one where it is installed."""

import json
from pathlib import Path

import pytest

from dlfa_adapters.data.places import sample_languages
from dlfa_adapters.demo import RATES, TASTE, run_demo
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.runs import read_run
from dlfa_cli.demo import as_dict, coloured, show
from tests.docs.blocks import demo_figures


def test_columns_languages_and_choice(tiny_run):
    assert tiny_run.columns == ["last", "D_1", "D_2", "D_3"]
    assert set(tiny_run.scores) == set(sample_languages("ner"))
    assert set(tiny_run.heads) == {*tiny_run.columns, "layer 1", "layer 2"}
    assert all(set(row) == set(tiny_run.heads) for row in tiny_run.scores.values())
    dev = as_dict(tiny_run)["dev"]
    assert dev[tiny_run.picked] == max(dev[column] for column in tiny_run.columns)
    assert [language for language, _, _ in tiny_run.taste] == list(TASTE)
    assert all(len(words) == len(tags) for _, words, tags in tiny_run.taste)


def test_the_mean_leaves_english_out(tiny_run):
    others = [row["D_2"] for language, row in tiny_run.scores.items() if language != "en"]
    assert tiny_run.mean("D_2") == pytest.approx(sum(others) / len(others), abs=0.01)


def test_every_column_has_a_rate_of_its_own_and_the_layer_alone_beside_it(tiny_run):
    shown = as_dict(tiny_run)
    assert set(shown["rates"]) == set(tiny_run.columns)
    assert set(shown["rates"].values()) <= set(RATES)
    assert set(shown["alone"]) == {"layer 1", "layer 2"}
    training = tiny_run.run.config["training"]
    assert (training["learning_rate"], training["rates_tried"]) == (shown["rates"][tiny_run.picked], list(RATES))


def test_the_run_says_what_it_is(tiny_run):
    config = read_run(tiny_run.run.folder).config
    assert config["task"] == "ner"
    assert config["labels"][0] == "O"
    assert config["encoder"]["num_hidden_layers"] == 3
    assert config["data"]["train"]["language"] == "en"
    assert config["metrics"]["test"]["de"] == tiny_run.scores["de"][tiny_run.picked]


def test_the_same_seed_gives_the_same_table(tiny_run, tiny_folder, tmp_path):
    again = run_demo(str(tiny_folder), out=tmp_path / "again", epochs=1)
    assert {**as_dict(again), "run": ""} == {**as_dict(tiny_run), "run": ""}
    weights = "head/" + next(n for n in tiny_run.run.config["files"] if n.endswith(".safetensors")).split("/")[-1]
    assert again.run.config["files"][weights] == tiny_run.run.config["files"][weights]


def test_progress_ends_at_its_totals(tiny_folder, tmp_path):
    done, totals = {}, {}

    def progress(stage, steps, total):
        done[stage] = done.get(stage, 0) + steps
        totals[stage] = total

    run_demo(str(tiny_folder), out=tmp_path / "run", epochs=1, progress=progress)
    assert done == totals


def test_the_screen_has_table_choice_sentences_and_command(tiny_run, capsys):
    show(tiny_run)
    out = capsys.readouterr().out
    for expected in (
        "D_3",
        "mean: the 16 languages but English",
        f"Picked {tiny_run.picked}",
        "attention",
        "samples",
        "dlfa predict",
    ):
        assert expected in " ".join(out.split()), expected


def test_json_is_as_documented(tiny_run):
    data = json.loads(json.dumps(as_dict(tiny_run)))
    assert data["columns"] == tiny_run.columns
    assert data["scores"]["sw"]["D_1"] == tiny_run.scores["sw"]["D_1"]
    assert data["picked"] == tiny_run.picked
    assert all(set(row) == set(tiny_run.columns) for row in data["scores"].values())
    alone = tiny_run.heads["layer 1"].dev_score, tiny_run.mean("layer 1")
    assert data["alone"]["layer 1"] == pytest.approx(dict(zip(("dev", "mean"), alone, strict=True)), abs=0.01)
    assert data["run"] == str(tiny_run.run.folder)


def test_entities_are_marked_with_their_type():
    text = coloured(
        ["Anna", "Lee", "met", "Bob", "Ann", "in", "Rome"], ["B-PER", "I-PER", "O", "B-PER", "B-PER", "O", "B-LOC"]
    )
    assert text.plain == "Anna Lee[PER] met Bob[PER] Ann[PER] in Rome[LOC] "


def test_an_unknown_encoder_is_one_sentence(tmp_path, fresh):
    done = fresh.dlfa("demo", "--model", tmp_path / "no-such-encoder", "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tiny_folder, tmp_path):
    from dlfa_adapters.demo import run_demo

    (tmp_path / "file").write_text("x", "utf-8")
    steps = []
    for out, message in [(tmp_path / "file", "is not a run folder"), (tmp_path / "file" / "run", "is not a folder")]:
        with pytest.raises(ConfigError, match=message):
            run_demo(str(tiny_folder), out=out, progress=lambda *step: steps.append(step))
    assert steps == []


def test_a_name_without_a_model_is_told_shortly(tmp_path):
    """Transformers lists every model type it has."""
    from dlfa_adapters.encoders import load_encoder

    (tmp_path / "config.json").write_text("{}", "utf-8")
    with pytest.raises(ConfigError, match="cannot be loaded") as caught:
        load_encoder(str(tmp_path))
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


@pytest.mark.offline_encoder
def test_the_real_thing(offline_cache, tmp_path, fresh):
    """The command of the README, with the real encoder: fused middle layers are far above the baseline."""
    environment = {"DLFA_CACHE": str(offline_cache)}
    done = fresh.dlfa("demo", "--json", "--out", tmp_path / "run", env=environment)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["columns"] == ["last", *(f"D_{k}" for k in range(1, 13))]
    assert data["mean"][data["picked"]] > data["mean"]["last"] + 15
    assert data["picked"] in ("D_6", "D_7", "D_8", "D_9")
    assert abs(data["mean"]["D_12"] - data["mean"]["last"]) < 3  # the control is no better than the baseline
    shown = demo_figures(Path(__file__).parents[2] / "README.md")
    found = {**data["scores"], "mean": data["mean"], "dev": data["dev"], "rate": data["rates"]}
    assert set(shown) == set(found)
    apart = {(row, k): abs(found[row][k] - value) for row, values in shown.items() for k, value in values.items()}
    summaries = {cell: gap for cell, gap in apart.items() if cell[0] in ("mean", "dev") and gap > 3}
    assert not summaries, "README shows other means"  # they differ by up to 2.1 between AVX2 and AVX-512
    assert sum(gap > 5 for gap in apart.values()) < len(apart) / 20, "README shows other figures"
    asked = fresh.dlfa("predict", tmp_path / "run", "Ольга Климова прилетела из Казани .", "--json", env=environment)
    assert asked.returncode == 0, asked.stderr
    (row,) = json.loads(asked.stdout)
    assert {(entity["type"], " ".join(entity["words"])) for entity in row["entities"]} == {
        ("PER", "Ольга Климова"),
        ("LOC", "Казани"),
    }
