"""Small data get enough steps, many short epochs few evaluations; of equal dev scores the lower dev loss is kept."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning import resume_training
from dlfa_adapters.learning.arguments import MOST_EVALUATIONS, epochs_between, least_steps
from dlfa_adapters.learning.frozen import OnStates
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.runs.lifecycle import has_plan
from dlfa_adapters.tasks import NER
from dlfa_adapters.tuning import TUNINGS, get_tuning

SMALL = {"epochs": None, "fuse_layer": 2}  # two steps in each epoch, of four items


@pytest.mark.parametrize(
    ("options", "rows", "epochs", "steps"),
    [
        ({}, 84, 167, 501),  # three steps each
        ({}, 5_000, 10, 1570),  # large data keep the tuning's epochs
        ({"epochs": 7}, 84, 7, 21),
        ({"max_steps": 30}, 84, 10, 30),
        ({"min_steps": 60}, 84, 20, 60),
        ({"min_steps": 0}, 84, 10, 30),
        ({"min_steps": 60, "epochs": 2}, 84, 20, 60),
        ({"min_steps": 60, "epochs": 30}, 84, 30, 90),
    ],
)
def test_how_many_epochs(options, rows, epochs, steps):
    settings = least_steps(resolve(make_settings(**options), get_tuning("features")), rows, plateau=False)
    assert (settings.steps.epochs, settings.steps.total(rows)) == (epochs, steps)
    assert settings.steps.min_steps == options.get("min_steps", 0 if options else 500)
    again = least_steps(resolve(make_settings(**settings.as_dict()), get_tuning("features")), rows, plateau=False)
    assert again == settings  # what a run says of itself gives the same training


@pytest.mark.parametrize("name", TUNINGS)
def test_every_tuning_has_a_least_number_of_steps(name):
    argument = {"freeze": "freeze:2", "stack": "stack:somewhere"}.get(name, name)
    settings = resolve(make_settings(), get_tuning(argument))
    least = 1000 if "lora" in name else 500
    assert least <= least_steps(settings, 84, plateau=False).steps.total(84) < least + 3  # whole epochs of three


def test_dev_is_read_a_few_times_however_short_the_epochs():
    for epochs, rows in ((500, 32), (167, 84), (26, 600)):
        settings = resolve(make_settings(min_steps=1, epochs=epochs), get_tuning("full"))
        between = epochs_between(settings, rows, plateau=False)
        assert MOST_EVALUATIONS / 2 <= -(-epochs // between) <= MOST_EVALUATIONS
    assert (
        epochs_between(resolve(make_settings(epochs=100), get_tuning("full")), 84, plateau=False) == 1
    )  # as was asked


@pytest.mark.parametrize("tuning", ["features", "lora"])
def test_a_small_training(tuning, start, tmp_path):
    run, plan = start("ner", tmp_path / "run", tuning, **SMALL, min_steps=108)
    training = run.config["training"]
    assert (training["epochs"], training["min_steps"], training["steps"]) == (54, 108, 108)
    assert len(training["dev_scores"]) == 18  # after every third epoch
    kept = int(training["best"].split()[1])
    assert training["best"] == f"{'epoch' if tuning == 'features' else 'step'} {kept}"
    assert kept % (3 if tuning == "features" else 6) == 0
    assert "8 sentences, batch 4: 54 epochs for 108 steps instead of 10; --epochs N or --min-steps N" in plan.notes[0]
    assert "Steps: 54 epochs (108 steps), batch 4" in "\n".join(plan.lines())


@pytest.fixture
def least_108(monkeypatch):
    """`--tuning features` has at least 108 steps."""
    features = TUNINGS["features"]
    monkeypatch.setattr(features, "defaults", replace(features.defaults, min_steps=108))


SENTENCES = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 4
OTHERWISE = [(["Anna", "met", "Bob"], ["B-LOC", "O", "B-PER"]), (["in", "Rome"], ["O", "B-PER"])] * 2


@pytest.mark.parametrize(("dev", "epochs", "steps"), [(SENTENCES[:4], 54, 108), (OTHERWISE, 10, 20)])
def test_dev_chooses_how_long_a_head_on_states_learns(dev, epochs, steps, start, tmp_path, least_108):
    """What is learned by heart is right where dev says the same of each word, and wrong where it does not."""
    options = {
        **SMALL,
        "train_data": SENTENCES,
        "dev_data": dev,
        "learning_rate": None,
        "head_learning_rates": (1e-3, 1e-1),
    }
    both, plan = start("ner", tmp_path / "both", "features", **options)
    long, _ = start("ner", tmp_path / "long", "features", **{**options, "epochs": 54, "min_steps": 108})
    short, _ = start("ner", tmp_path / "short", "features", **{**options, "min_steps": 0})
    found = both.config["training"]
    best = {length: max(run.config["training"]["dev_scores"]) for length, run in (("54", long), ("10", short))}
    assert found["epochs_tried"] == best
    assert (found["epochs"], found["steps"], found["min_steps"]) == (epochs, steps, 108)
    kept = (long if epochs == 54 else short).config["training"]
    assert (found["dev_scores"], found["best"]) == (kept["dev_scores"], kept["best"])
    assert not (tmp_path / "both.training").exists()
    assert "8 sentences, batch 4: 10 epochs, and 54 epochs for 108 steps; dev chooses; --epochs N or" in plan.notes[0]


@pytest.mark.parametrize(
    "options",
    [{"dev_data": "none"}, {"epochs": 10}, {"min_steps": 60}, {"min_steps": 0}, {"max_steps": 60}],
    ids=str,
)
def test_where_nothing_is_chosen_there_is_one_training(options, start, tmp_path, least_108):
    run, plan = start("ner", tmp_path / "run", "features", **{**SMALL, **options})
    assert "epochs_tried" not in run.config["training"]
    assert not any("dev chooses" in note for note in plan.notes)


def test_epochs_that_are_given_are_kept(start, tmp_path):
    run, plan = start("ner", tmp_path / "run", "features", fuse_layer=2, epochs=3)
    assert (run.config["training"]["epochs"], run.config["training"]["steps"]) == (3, 6)
    assert not any("epochs" in note for note in plan.notes)


@pytest.mark.parametrize("tuning", ["features", "lora"])
def test_a_resumed_small_training_is_the_same(tuning, start, tmp_path, tiny_folder, logits):
    lines = ["Anna\tB-PER", "met\tO", "Bob\tB-PER", "", "in\tO", "Rome\tB-LOC", ""] * 4
    (tmp_path / "en.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    options = {"train_data": str(tmp_path / "en.tsv"), "dev_data": str(tmp_path / "en.tsv"), **SMALL, "min_steps": 60}
    through, _ = start("ner", tmp_path / "through", tuning, **options)
    done = []

    def kill(stage, count, total):
        done.append(count if stage == "Training" else 0)
        if sum(done) >= 35:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start("ner", tmp_path / "cut", tuning, **options, progress=kill)
    assert has_plan(tmp_path / "cut")
    cut = resume_training(tmp_path / "cut")
    for name in ("epochs", "min_steps", "steps", "dev_scores", "best"):
        assert cut.config["training"][name] == through.config["training"][name]


@pytest.mark.parametrize("step", [50, 115])  # of 108 + 20
def test_a_training_of_two_lengths_is_resumed_in_either(step, start, tmp_path, least_108):
    lines = ["Anna\tB-PER", "met\tO", "Bob\tB-PER", "", "in\tO", "Rome\tB-LOC", ""] * 4
    (tmp_path / "en.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    options = {"train_data": str(tmp_path / "en.tsv"), "dev_data": str(tmp_path / "en.tsv"), **SMALL}
    through, _ = start("ner", tmp_path / "through", "features", **options)
    done, again = [], []

    def count(into, until):
        def call(stage, steps, total):
            into.append(steps if stage == "Training" else 0)
            assert stage != "Training" or total == 128
            if sum(into) >= until:
                raise KeyboardInterrupt

        return call

    with pytest.raises(KeyboardInterrupt):
        start("ner", tmp_path / "cut", "features", **options, progress=count(done, step))
    cut = resume_training(tmp_path / "cut", progress=count(again, 1000))
    for name in ("epochs", "steps", "dev_scores", "best", "epochs_tried"):
        assert cut.config["training"][name] == through.config["training"][name]


def test_the_last_step_is_judged_wherever_the_others_fall(start, tmp_path):
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, max_steps=5, every=2)
    assert len(run.config["training"]["dev_scores"]) == 3


def test_of_equal_scores_the_lower_loss_is_kept(start, tmp_path, monkeypatch):
    import dlfa_adapters.learning.steps as steps_module

    monkeypatch.setattr(Examples, "scores", lambda self, predictions: {"en": 50.0})
    seen = {}
    entry = steps_module.kept_entry
    monkeypatch.setattr(steps_module, "kept_entry", lambda state: seen.update(state=state) or entry(state))
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, epochs=8, learning_rate=1e-2)
    losses = {e["step"]: e["eval_loss"] for e in seen["state"].log_history if "eval_loss" in e}
    best = min(losses, key=losses.__getitem__)
    assert best != min(losses)  # the earliest is not the best here
    assert run.config["training"]["best"] == f"step {best}"


def test_a_higher_score_counts_more_than_any_loss():
    from dlfa_adapters.learning.dev import dev_score

    def rank(score, loss):
        tags = [["O"], ["B-X", "O"]]
        given = {"scores": lambda predictions: {"en": score}, "macro_f1": lambda predictions: {}}
        dev = SimpleNamespace(task=NER, predictions=lambda logits: tags, **given)
        found = dev_score(dev)(SimpleNamespace(predictions=torch.zeros(1).numpy(), losses=torch.tensor([loss]).numpy()))
        assert found["labels"] == 2
        return found["rank"]

    assert rank(50.0001, 1e6) > rank(50.0, 0.0)
    assert rank(50.0, 0.1) > rank(50.0, 0.2)
    assert rank(50.0, 1e6) > rank(50.0, float("nan"))
    assert rank(100.0, 0.0010) > rank(100.0, 0.0011)


def test_the_lstm_keeps_the_lower_loss_too(start, tmp_path, monkeypatch):
    said = iter([(50.0, 3.0), (75.0, 2.0), (75.0, 1.0), (75.0, 1.5), (50.0, 0.5)])
    monkeypatch.setattr(OnStates, "evaluate", lambda self, head: next(said))
    run, _ = start(
        "ner", tmp_path / "run", "features", fusion="scalar_mix", classifier="bilstm", lstm_hidden=8, epochs=5,
        learning_rate=None, head_learning_rate=1e-3,
    )  # fmt: skip
    assert run.config["training"]["best"] == "epoch 3"
    assert run.config["training"]["dev_scores"] == [50, 75, 75, 75, 50]


def test_the_lstm_is_judged_rarely_enough_to_get_its_steps(start, tmp_path, monkeypatch):
    """The loss never falls again: after the eighth evaluation the rate is below its end."""
    said = iter([(50.0, 1.0)] * 100)
    monkeypatch.setattr(OnStates, "evaluate", lambda self, head: next(said))
    run, plan = start(
        "ner", tmp_path / "run", "features", fusion="scalar_mix", classifier="bilstm", lstm_hidden=8, epochs=None,
        learning_rate=None, head_learning_rate=1e-3, min_steps=64,
    )  # fmt: skip
    assert len(run.config["training"]["dev_scores"]) == 8
    assert run.config["training"]["epochs"] == 400  # a limit
    assert "dev is read every 4 epochs" in plan.notes[0]  # of two steps: 8 x 4 x 2 = 64


def test_a_model_that_finds_nothing_is_not_announced(start, tmp_path, capsys):
    from dlfa_cli.screen import show_training

    train = [(["a", "b", "c"], ["O", "O", "O"])] * 8
    dev = [(["a", "b", "c"], ["B-PER", "O", "O"])]
    run, _ = start("ner", tmp_path / "run", "features", fuse_layer=2, train_data=train, dev_data=dev, epochs=30)
    assert run.config["metrics"]["dev"]["en"] == 0
    show_training(run)
    said = capsys.readouterr().out
    assert "Use it" not in said
    assert "span_f1_lenient on dev is 0.0: the model finds nothing there, after 60 steps. Try --epochs 250, " in said


@pytest.mark.parametrize("tuning", ["features", "full"])
def test_a_classifier_with_one_answer_is_not_announced(tuning, start, tmp_path):
    train = [(f"text {i}", "sports") for i in range(8)]
    dev = [("text 1", "sports"), ("text 2", "health"), ("text 3", "sports")]
    run, _ = start("topic", tmp_path / "run", tuning, fuse_layer=2, train_data=train, dev_data=dev, epochs=20)
    assert run.config["training"]["found_nothing"].startswith("The model gives all of dev one and the same label (acc")
    run, _ = start("topic", tmp_path / "run", tuning, fuse_layer=2, train_data=train, dev_data=dev[::2], epochs=20)
    assert "found_nothing" not in run.config["training"]  # there is no other label to find


def test_best_near_the_end(start, tmp_path, monkeypatch):
    rising = iter([(float(score), 1 / score) for score in (10, 20, 30, 40, 50, 60, 70, 80, 90, 95)])
    monkeypatch.setattr(Examples, "scores", lambda self, predictions: {"en": next(rising)[0]})
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, epochs=10, learning_rate=1e-9)
    assert run.config["training"]["best"] == "step 20"
    assert run.config["training"]["advice"].endswith("(step 20, 95.0; before it 80.0), so more may do better: type "
                                                     "--epochs 250.")  # fmt: skip


@pytest.mark.parametrize("scores", [[10.0, 90.0, *[80.0] * 7, 90.2], [*[50.0] * 9, 100.0]])
def test_best_long_before_the_end_or_as_good_as_can_be_needs_no_advice(scores, start, tmp_path, monkeypatch):
    scores = iter(scores)
    monkeypatch.setattr(Examples, "score", lambda self, predictions: next(scores))
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, epochs=10, learning_rate=1e-9)
    assert "advice" not in run.config["training"]


def test_the_command_on_a_finished_run(start, tmp_path, tiny_folder):
    from typer.testing import CliRunner

    from dlfa_cli.main import app

    start("ner", tmp_path / "run", "features", fuse_layer=2)
    done = CliRunner().invoke(app, ["train", "--resume", str(tmp_path / "run")], catch_exceptions=False)
    assert "nothing was left to do" in done.stdout
    assert "Saved" not in done.stdout


def test_ctrl_c_names_the_command_that_goes_on(tmp_path, tiny_folder, items, monkeypatch):
    from typer.testing import CliRunner

    from dlfa_cli.main import app

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("dlfa_adapters.learning.run.train_on_states", stop)
    out = tmp_path / "a run"
    (tmp_path / "en.tsv").write_text("Anna\tB-PER\n\nmet\tO\n", "utf-8")
    command = ["train", "ner", "--train", str(tmp_path / "en.tsv"), "-m", str(tiny_folder), "-t", "features",
               "-o", str(out)]  # fmt: skip
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 130
    assert done.stderr.endswith(f"dlfa: stopped; type dlfa train --resume '{out}' to go on.\n")
    assert has_plan(out)


def test_steps_of_a_run_are_in_its_file(start, tmp_path):
    run, _ = start("ner", tmp_path / "run", "full", fuse_layer=2, max_steps=1)
    assert json.loads((run.folder / "run.json").read_text("utf-8"))["training"]["steps"] == 1
