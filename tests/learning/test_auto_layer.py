"""`fuse_layer="auto"`: what is chosen, by which criterion, and that it is written down."""

import json
from types import SimpleNamespace

import pytest
import torch

from dlfa_adapters.encoders.compute import parallel_cosine, sentence_means
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.learning import auto_layer
from dlfa_adapters.learning.auto_layer import LayerChoice, first_of_each
from dlfa_adapters.runs.lifecycle import work_folder
from dlfa_cli.from_dataclasses import _read_layers

PAIRS = "Anna lives in Rome.\tAnna anaishi Roma.\n\nThe market opens.\tSoko linafunguliwa.\n"


@pytest.mark.parametrize("task", ["ner", "xnli"])
def test_by_dev_it_is_the_layer_whose_head_is_best(task, start, tmp_path, monkeypatch):
    seen = {}
    learn = auto_layer.learn_on_states

    def remember(*data, **options):
        seen["trials"] = learn(*data, **options)
        return seen["trials"]

    monkeypatch.setattr(auto_layer, "learn_on_states", remember)
    run, plan = start(task, tmp_path / "run", "features", fuse_layer="auto")
    scores = {trial.head.spec.head.layers[0]: trial.head.dev_score for trial in seen["trials"]}
    assert {len(trial.rates) for trial in seen["trials"]} == {4}  # every layer is judged at its own best rate
    assert list(scores) == [1, 2]  # of three; the last one is the control
    best = max(seen["trials"], key=lambda trial: trial.head.quality).head.spec.head.layers[0]
    choice = run.config["training"]["fuse_layer_choice"]
    assert choice["layer"] == best
    assert choice["scores"] == {str(layer): round(score, 4) for layer, score in scores.items()}
    assert (run.config["head"]["fuse_layer"], run.config["training"]["fuse_layer"]) == ([best], [best])
    assert f"Layer {best} has the best source dev score" in choice["why"]
    assert choice["why"] in plan.notes
    assert [path.name for path in tmp_path.iterdir()] == ["run"]  # no states are left


@pytest.mark.parametrize(
    ("languages", "most", "first"),
    [
        (["en"] * 5, 3, [0, 1, 2]),
        (["en"] * 5 + ["de"] * 5, 4, [0, 1, 5, 6]),
        (["en"] * 5 + ["de"], 4, [0, 1, 2, 5]),
        (["en", "de", "en"], 9, [0, 1, 2]),
    ],
)
def test_of_several_languages_as_many_items_are_looked_at(languages, most, first):
    assert first_of_each(languages, most) == first


def test_several_languages_are_drawn_and_judged_as_in_the_training(start, items, tmp_path, monkeypatch):
    """No language is left out where only some of the items are looked at."""
    monkeypatch.setattr(auto_layer, "MOST_ITEMS", {"train": 6, "dev": 4})
    seen, states = {}, auto_layer.with_states

    def remember(model, data, *arguments, **options):
        seen.update(data)
        return states(model, data, *arguments, **options)

    monkeypatch.setattr(auto_layer, "with_states", remember)
    data = {"en": items["ner"], "de": items["ner"]}
    options = {"fuse_layer": "auto", "source_weights": {"en": 3, "de": 1}, "language": None}
    start("ner", tmp_path / "run", "features", train_data=data, dev_data=data, **options)
    assert [each.languages for each in seen.values()] == [seen["train"].languages, ["en", "en", "de", "de"]]
    assert sorted(seen["train"].languages) == ["de"] * 3 + ["en"] * 3
    assert seen["train"].mixture.shares == {"en": 0.75, "de": 0.25}


def test_where_no_layer_has_a_score_it_is_the_default(start, tmp_path, monkeypatch):
    heads = [SimpleNamespace(dev_score=0.0, quality=(0.0, -loss)) for loss in (0.1, 0.2)]
    monkeypatch.setattr(
        auto_layer, "learn_on_states", lambda *data, **how: [SimpleNamespace(head=head) for head in heads]
    )
    run, _ = start("ner", tmp_path / "run", "features", fuse_layer="auto")
    choice = run.config["training"]["fuse_layer_choice"]
    assert (choice["layer"], choice["scores"]) == (2, {"1": 0.0, "2": 0.0})
    assert choice["why"].startswith("Layer 2 is the default: no layer has a source dev score above 0 after ")


def test_of_equal_layers_the_lower_loss_decides_and_they_are_named(start, tmp_path, monkeypatch):
    heads = [SimpleNamespace(dev_score=50.0, quality=(50.0, -loss)) for loss in (0.1, 0.2)]
    monkeypatch.setattr(
        auto_layer, "learn_on_states", lambda *data, **how: [SimpleNamespace(head=head) for head in heads]
    )
    run, _ = start("ner", tmp_path / "run", "features", fuse_layer="auto")
    choice = run.config["training"]["fuse_layer_choice"]
    assert choice["layer"] == 1
    assert choice["why"].endswith("Layers with the same score: 2; the lower loss on dev decided, which says little.")


def test_by_parallel_text_it_is_the_layer_with_the_highest_mean_cosine(start, tmp_path, tiny_folder):
    from dlfa_adapters.data.pairs import encode_texts
    from dlfa_adapters.encoders import load_encoder

    path = tmp_path / "en-sw.tsv"
    path.write_text(PAIRS, "utf-8")
    run, _ = start("ner", tmp_path / "run", "features", fuse_layer="auto", parallel=str(path), dev_data="none")
    encoder = load_encoder(str(tiny_folder))
    states = []
    for column in zip(*(line.split("\t") for line in PAIRS.split("\n") if line), strict=True):
        of_column = []
        for item in encode_texts(encoder.tokenizer, list(column))[0]:
            with torch.no_grad():
                out = encoder.model.base_model(torch.tensor([item.input_ids]), output_hidden_states=True)
            of_column.append(torch.stack([state[0].mean(0) for state in out.hidden_states]))
        states.append(torch.stack(of_column, 1))
    expected = torch.cosine_similarity(*states, dim=2).mean(1)
    choice = run.config["training"]["fuse_layer_choice"]
    assert choice["scores"] == {
        "1": pytest.approx(expected[1].item(), abs=1e-4),
        "2": pytest.approx(expected[2].item(), abs=1e-4),
    }
    assert choice["layer"] == 1 + int(expected[1:3].argmax())
    assert f"between 2 sentences and their translations in {path}" in choice["why"]


def test_by_target_text_it_is_the_cosine_of_mean_states(start, tmp_path):
    path = tmp_path / "sw.txt"
    path.write_text("Anna anaishi Roma.\nSoko.\n", "utf-8")
    run, _ = start("mood", tmp_path / "run", "full", fuse_layer="auto", target_text=str(path))
    choice = run.config["training"]["fuse_layer_choice"]
    assert "between the mean state of 8 training items and that of 2 lines" in choice["why"]
    assert run.config["head"]["fuse_layer"] == [choice["layer"]]


def test_a_resumed_training_keeps_the_layer(start, tmp_path, monkeypatch):
    class KilledError(Exception):
        pass

    def kill(stage, done, total):
        if stage == "Training" and done:
            raise KilledError

    with pytest.raises(KilledError):
        start("ner", tmp_path / "run", "features", fuse_layer="auto", progress=kill)
    plan = json.loads((work_folder(tmp_path / "run") / "training.json").read_text("utf-8"))
    monkeypatch.setattr(auto_layer, "choose_layer", lambda *args: pytest.fail("it was chosen already"))
    from dlfa_adapters.learning import plan as learning_plan

    monkeypatch.setattr(learning_plan, "choose_layer", lambda *args: pytest.fail("it was chosen already"))
    items = {"train_data": plan["request"]["train_data"]}
    assert items == {"train_data": "Python objects"}
    run, _ = start("ner", tmp_path / "run", "features", fuse_layer="auto", resume=True)
    assert run.config["training"]["fuse_layer_choice"] == plan["chosen"]


def test_means_are_those_of_each_sentence_alone(tiny_folder):
    from dlfa_adapters.data.pairs import encode_texts
    from dlfa_adapters.encoders import load_encoder

    encoder = load_encoder(str(tiny_folder))
    items, _ = encode_texts(encoder.tokenizer, ["Anna met Bob in Rome", "far", "the Bank"])
    together = sentence_means(encoder.model, items, 0, [0, 3])
    for i, item in enumerate(items):
        torch.testing.assert_close(
            together[:, [i]], sentence_means(encoder.model, [item], 0, [0, 3]), rtol=0, atol=1e-5
        )
    assert parallel_cosine(together, together).tolist() == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dev_data": "none"}, ConfigError, "name some with --dev or --parallel"),
        ({"fusion": "last"}, ConfigError, "fusion 'last' of an encoder with 3 layers takes none"),
        ({"fuse_layer": "best"}, ConfigError, "a layer, several, or auto; got 'best'"),
        ({"fuse_layer": 2, "parallel": "x.tsv"}, ConfigError, "type that too"),
        ({"target_text": "EMPTY"}, DataError, "expected lines of text"),
    ],
)
def test_refusals(options, error, message, start, tmp_path):
    if options.get("target_text") == "EMPTY":
        options = {"target_text": str(tmp_path / "empty.txt")}
        (tmp_path / "empty.txt").write_text("\n", "utf-8")
    with pytest.raises(error, match=message):
        start("ner", tmp_path / "run", "features", **{"fuse_layer": "auto", **options})


def test_a_head_alone_takes_a_number(tiny_model):
    with pytest.raises(ConfigError, match=r'train\(\.\.\., fuse_layer="auto"\)'):
        tiny_model().add_dlfa_head("ner", fuse_layer="auto")


def test_what_the_command_line_takes():
    import typer

    assert [_read_layers(given) for given in ([], ["8"], ["7", "4"], ["auto"])] == [None, (8,), (7, 4), "auto"]
    for given in (["auto", "8"], ["x"], ["-1"]):
        with pytest.raises(typer.BadParameter, match="layer numbers, or auto alone"):
            _read_layers(given)


def test_within_keeps_an_earlier_epoch(start, tmp_path):
    options = {"epochs": 6, "head_learning_rate": 1e-2}
    best, _ = start("pos", tmp_path / "best", "features", **options)
    early, plan = start("pos", tmp_path / "early", "features", within=100.0, **options)
    assert early.config["training"]["best"] == "epoch 1"
    assert early.config["metrics"]["dev"] == {"en": early.config["training"]["dev_scores"][0]}
    assert best.config["training"]["dev_scores"] == early.config["training"]["dev_scores"]
    assert plan.settings.steps.within == 100.0
    with pytest.raises(ConfigError, match="A training of the encoder has no use for --within; leave it out"):
        start("pos", tmp_path / "full", "full", within=1.0)


def test_a_choice_survives_a_file():
    choice = LayerChoice(7, "because", {7: 0.5, 8: 0.25})
    assert LayerChoice.from_dict(json.loads(json.dumps(choice.to_dict()))) == choice
