"""How far heads moved: by hand, on runs of every tuning, against scipy, and on the screen."""

import json

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import BertConfig, BertModel
from typer.testing import CliRunner

from dlfa_adapters.analysis.correlation import spearman
from dlfa_adapters.analysis.head_updates import HeadUpdates, compare_updates, measure_head_updates, update_map
from dlfa_adapters.analysis.head_updates_options import HeadUpdatesOptions
from dlfa_adapters.analysis.head_updates_report import updates_notes, updates_tables
from dlfa_adapters.encoders.attention import head_weights
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.learning import train
from dlfa_adapters.runs import read_run
from dlfa_cli.main import app

NER = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3
NONE = HeadUpdatesOptions(normalise="none")


@pytest.fixture(scope="module")
def runs(tiny_folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    given = {
        "train_data": NER, "dev_data": NER, "language": "en", "model": str(tiny_folder), "epochs": 2,
        "fusion": "last", "learning_rate": 1e-2,
    }  # fmt: skip
    tunings = {"full": "full", "freeze": "freeze:2", "lora": "lora:2", "peft": "peft-lora:2"}
    tunings["bottleneck"] = "bottleneck"
    found = {name: train("ner", **given, tuning=tuning, out=root / name) for name, tuning in tunings.items()}
    del given["learning_rate"]
    return {**found, "features": train("ner", **given, tuning="features", out=root / "features")}


def small(**changes):
    """A BERT of 2 layers, 2 heads of 2 values each."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 4}
    return BertModel(BertConfig(vocab_size=10, **{**sizes, **changes}), add_pooling_layer=False)


def moved():
    """Weights of heads before and after: a head has 4 x 2 x 4 = 32 of them."""
    model = small()
    before = head_weights(model)
    with torch.no_grad():
        first, second = (block.attention for block in model.encoder.layer)
        first.self.query.weight[0, 0] += 1.6  # head 1 of layer 1: 1.6 / 32 = 0.05
        first.self.value.weight[3, 1] -= 3.2  # head 2 of layer 1: 3.2 / 32 = 0.1
        second.output.dense.weight[3, 2] += 6.4  # column 2, so head 2 of layer 2: 6.4 / 32 = 0.2
        second.self.key.bias += 9  # biases do not count
        model.encoder.layer[1].intermediate.dense.weight += 9  # nor what is no head's
    return before, head_weights(model)


def test_the_mean_absolute_change_by_hand():
    changes, values = update_map(*moved())
    assert changes == pytest.approx(np.array([[0.05, 0.1], [0, 0.2]]), abs=1e-6)
    assert values == pytest.approx(np.array([[0.25, 0.5], [0, 1]]), abs=1e-6)


def test_of_some_projections_alone():
    query = HeadUpdatesOptions(weights=("query",), normalise="none")
    assert update_map(*moved(), query)[1] == pytest.approx(np.array([[0.2, 0], [0, 0]]), abs=1e-6)
    outer = HeadUpdatesOptions(weights=("output", "value"), normalise="none")
    assert update_map(*moved(), outer)[1] == pytest.approx(np.array([[0, 0.2], [0, 0.4]]), abs=1e-6)


def test_relative_to_the_weights_of_the_head():
    before, after = moved()
    changes, values = update_map(before, after, HeadUpdatesOptions(normalise="relative"))
    for layer in range(2):
        for head in range(2):
            mean = before[layer, head].abs().double().mean().item()
            assert values[layer, head] == pytest.approx(changes[layer, head] / mean)


def test_other_shapes_and_equal_weights_are_refused():
    before, after = moved()
    with pytest.raises(ConfigError, match="2x2x4x8 and 1x2x4x8"):
        update_map(before, after[:1])
    with pytest.raises(RunError, match="nothing there has learnt"):
        update_map(before, before)
    with pytest.raises(RunError, match="not finite"):
        update_map(before, after * float("nan"))


def test_runs_whose_encoder_learnt(runs, tiny_folder):
    before = head_weights(BertModel.from_pretrained(tiny_folder))
    after = head_weights(BertModel.from_pretrained(runs["full"].folder / "encoder"))
    full, freeze = measure_head_updates([runs["full"], runs["freeze"]], None, NONE)
    by_hand = (after.numpy().astype(float) - before.numpy().astype(float)).__abs__().mean((2, 3))
    assert full.changes == pytest.approx(by_hand)
    assert full.before == str(tiny_folder)
    assert full.changes.all()
    assert not freeze.changes[:2].any()
    assert freeze.changes[2].all()


@pytest.mark.parametrize("name", ["lora", "peft"])
def test_a_lora_counts_as_its_merged_weights(name, runs):
    """Against alpha / r B A of the saved matrices, of the projections that it is on."""
    from safetensors.torch import load_file

    [found] = measure_head_updates([runs[name]], None, NONE)
    [file] = [path for path in runs[name].folder.rglob("*.safetensors") if path.parent.name != "head"]
    saved, expected = load_file(file), np.zeros((3, 2))
    [config] = [path for path in file.parent.glob("adapter_config.json")]
    options = json.loads(config.read_text("utf-8"))
    options = options.get("config", options)
    scale = options.get("alpha", options.get("lora_alpha")) / options["r"]
    pairs = [key for key in saved if "lora_A" in key]
    assert pairs
    for key in pairs:
        layer = int(key.split("layer.")[1].split(".")[0])
        change = scale * (saved[key.replace("lora_A", "lora_B")] @ saved[key]).abs()
        if "attention" in key:
            assert change.shape == (16, 16)
            by_head = change.T if "output" in key else change
            expected[layer] += by_head.reshape(2, -1).sum(1).numpy() / (4 * 8 * 16)
    assert expected.all()
    assert found.changes == pytest.approx(expected, rel=1e-3)


def test_runs_without_a_change_are_refused(runs):
    with pytest.raises(RunError, match=r"features beside .*nothing there has learnt; give runs of --tuning full"):
        measure_head_updates([runs["features"]])
    with pytest.raises(RunError, match=r"no weight of its heads has learnt, its adapter .* stands between"):
        measure_head_updates([runs["bottleneck"]])


def test_an_encoder_beside_another(runs, tiny_folder):
    folder = str(runs["full"].folder / "encoder")
    [found] = measure_head_updates([folder], str(tiny_folder))
    [run] = measure_head_updates([runs["full"]])
    assert np.array_equal(found.values, run.values)
    with pytest.raises(ConfigError, match="is no run, which would tell what it started from"):
        measure_head_updates([folder])


def test_another_encoder_under_the_name_is_refused(runs):
    run = read_run(runs["full"].folder)
    run.config["encoder"]["fingerprint"] = "0"
    with pytest.raises(RunError, match="with fingerprint 0, the encoder found under that name has"):
        measure_head_updates([runs["freeze"], run])


def test_spearman_is_that_of_scipy_and_of_the_formula():
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 5.0]
    rho, p = spearman(x, y)
    assert rho == pytest.approx(1 - 6 * (1 + 1 + 1 + 1) / (5 * 24))  # 1 - 6 sum d^2 / (n (n^2 - 1))
    t = rho * (3 / (1 - rho**2)) ** 0.5
    assert p == pytest.approx(2 * stats.t.sf(t, 3))
    assert spearman(x, [1.0] * 5) == (None, None)
    assert spearman(x[:2], y[:2]) == (None, None)


def test_progress_is_told_in_steps(runs):
    told = []
    measure_head_updates([runs["full"], runs["freeze"]], progress=lambda *step: told.append(step))
    assert told == [("Weights of heads", 1, 2)] * 2


def test_models_are_compared_pair_by_pair():
    def of(name, values):
        return HeadUpdates(name=name, before="x", changes=np.array(values), values=np.array(values))

    a, b = of("a", [[0.1, 0.2], [0.3, 1.0]]), of("b", [[0.2, 0.1], [0.6, 1.0]])
    c, other = of("c", [[1.0, 0.3], [0.2, 0.1]]), of("other", [[1.0, 0.5]])
    pairs = compare_updates([a, b, c, other])
    assert [(pair.a, pair.b) for pair in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.rho for pair in pairs] == pytest.approx([0.8, -1.0, -0.8])
    assert pairs[0].differences == pytest.approx(np.array([[0.1, -0.1], [0.3, 0.0]]))
    table = updates_tables([a, b], pairs[:1], HeadUpdatesOptions())
    assert table[0].rows == [["1", "0.15", "0.10", "0.20"], ["2", "0.65", "0.30", "1.00"]]
    assert table[-1].rows == [["b − a", "4", "+0.800", "0.2", "+0.15 in layer 2"]]
    assert len(updates_notes([a], [], NONE)) == 1
    assert updates_notes([a, b, other], pairs[:1], NONE)[-1].endswith("layers or heads: a and other, b and other.")


def test_the_command_prints_draws_and_gives_json(runs, tmp_path):
    names = [str(runs["full"].folder), str(runs["freeze"].folder)]
    plot = tmp_path / "updates.svg"
    done = CliRunner().invoke(app, ["analyze", "head-updates", *names, "--plot", str(plot)])
    assert done.exit_code == 0, done.output
    assert "Do the same heads move?" in done.output
    drawn = plot.read_text("utf-8")
    assert drawn.count('id="axes_') == 7  # three maps, each with its scale, and an empty place
    done = CliRunner().invoke(app, ["analyze", "head-updates", *names, "--json", "--weights", "key"])
    record = json.loads(done.stdout)
    maps = measure_head_updates([runs["full"], runs["freeze"]], None, HeadUpdatesOptions(weights=("key",)))
    assert [each["values"] for each in record["models"]] == [each.values.tolist() for each in maps]
    rho = stats.spearmanr(maps[0].values.flatten(), maps[1].values.flatten()).statistic
    assert record["compared"][0]["rho"] == pytest.approx(rho)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("x --weights query,head", "weights must be of query, key, value, output; got 'head'"),
        ("x --weights key,key", "at most once, and one at least, got key, key"),
        ("x --normalise sum", "normalise must be one of max, relative, none; got 'sum'"),
        ("x --plot y.txt", "--plot expects a file"),
        ("x", "There is no run folder x; for an encoder name the one that it started from with --before"),
        ("x --before ./none", "The encoder './none' cannot be loaded"),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(words, said, monkeypatch):
    monkeypatch.setattr("dlfa_adapters.encoders.load.load_encoder", None)
    done = CliRunner().invoke(app, ["analyze", "head-updates", *words.split()])
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}".replace("\n", " ")
