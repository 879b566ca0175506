"""Every recipe of a task trains two steps on a tiny encoder and scores every language."""

import json

import pytest

from dlfa_adapters.runs import read_run
from dlfa_adapters.scores.saved import is_evaluation

XTREME = dict.fromkeys(("ner", "pos", "xnli", "pawsx"), "xtreme")
TASKS = {**XTREME, "mldoc": "mldoc", "topic": "sib200", "sentiment": "xlmt", "marc": "marc"}
GERMAN = {"topic": "deu_Latn"}


@pytest.fixture(scope="session")
def language_adapters(tiny_folder, tmp_path_factory):
    """Folders of language adapters `en` and `de` for the tiny encoder."""
    from dlfa_adapters.encoders import load_encoder

    root = tmp_path_factory.mktemp("adapters")
    model = load_encoder(str(tiny_folder)).model
    for language in ("en", "de"):
        model.add_adapter(language, config="seq_bn_inv")
        model.save_adapter(str(root / language), language)
    return root


@pytest.fixture
def start(recipe, data, tiny_folder, tmp_path, capsys):
    """start("ner", "lora"): run a recipe; its run folder, and what it prints."""

    def run(name, tuning, *more):
        out = tmp_path / name
        arguments = ["--data", data / TASKS[name], "--model", tiny_folder, "--out", out, "--tuning", tuning]
        recipe(name).main([*map(str, arguments), "--max-steps", "2", *map(str, more)])
        return read_run(out), capsys.readouterr().out

    return run


@pytest.mark.parametrize("tuning", ["features", "lora"])
@pytest.mark.parametrize("name", TASKS)
def test_two_steps_of_every_task(start, name, tuning):
    run, printed = start(name, tuning)
    assert run.config["task"] == name
    assert run.config["tuning"] == tuning
    assert run.config["windows"].get("first_sentences") == (2 if name == "mldoc" else None)
    assert run.config["data"]["train"]["language"] in ("en", "eng_Latn")
    if tuning != "features":  # which has no steps, only epochs
        assert len(run.config["training"]["dev_scores"]) == 2  # an epoch is a step
    german = GERMAN.get(name, "de")
    assert f"\n| {german} | 4 |" in printed
    assert "\n| targets (without " in printed
    [evaluation] = run.folder.with_name(f"{name}-evaluated").iterdir()
    assert is_evaluation(evaluation)
    saved = json.loads((evaluation / "evaluation.json").read_text("utf-8"))
    assert {row["language"] for row in saved["languages"]} >= {german}


def test_data_that_are_on_no_hub_are_asked_for(recipe, capsys):
    with pytest.raises(SystemExit):
        recipe("mldoc").main([])
    assert "mldoc is on no hub; name its folder with --data" in capsys.readouterr().err


@pytest.mark.parametrize("tuning", ["full", "freeze:1", "bottleneck"])
def test_the_other_tunings(start, tuning):
    run, printed = start("ner", tuning, "--languages", "sw", "--fusion", "last")
    assert run.config["tuning"] == tuning
    assert run.config["head"]["fusion"] == "last"
    assert "| sw | 4 | 18 |" in printed
    assert "| de |" not in printed


def test_a_stack_reads_each_language_with_its_adapter(start, language_adapters):
    run, printed = start(
        "ner", f"stack:{language_adapters / 'en'}", "--language-adapters", f"de={language_adapters / 'de'}"
    )
    assert "| de | 4 | 18 |" in printed
    [evaluation] = run.folder.with_name("ner-evaluated").iterdir()
    about = json.loads((evaluation / "evaluation.json").read_text("utf-8"))["run"]["language_adapters"]
    assert about["source"] == "en"
    assert about["given"]["de"]["location"] == str(language_adapters / "de")
