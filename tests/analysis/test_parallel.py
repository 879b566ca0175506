"""Cosines of parallel sentences: by hand, against a plain loop, and of runs of every kind."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from dlfa_adapters.analysis import parallel
from dlfa_adapters.analysis.parallel import (
    measure_encoder,
    measure_parallel,
    measure_run,
    read_parallel,
    similarities,
)
from dlfa_adapters.analysis.parallel_report import MEASURES, differences
from dlfa_adapters.analysis.states import sentence_states
from dlfa_adapters.data.pairs import EncodedText, encode_texts
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run
from dlfa_cli.main import app

PAIRS = [
    ("Anna met Bob", "Bob saw Anna"),
    ("in Rome", "the Rome of a b c d"),
    ("the Bank", "Bank"),
    ("far", "a far Bob"),
]
TEXTS = [text for pair in PAIRS for text in pair]
NER = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3
MOOD = [("Anna met Bob", "glad"), ("in Rome", "sad")] * 3
RUNS = {
    "last": ("ner", "features", {"fusion": "last"}, (3,)),
    "control": ("ner", "features", {"fuse_layer": 3}, (3, 3)),
    "full": ("ner", "full", {"fuse_layer": (2, 1), "classifier": "bilstm"}, (2, 1, 3)),
    "bottleneck": ("ner", "bottleneck", {"fuse_layer": 1}, (1, 3)),
    "peft": ("mood", "peft-lora", {"fuse_layer": 2}, (2, 3)),
}
"""Task, tuning, options, and the states that the fusion takes, of an encoder with three layers."""


@pytest.fixture(scope="module")
def runs(tiny_folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    given = {"language": "en", "model": str(tiny_folder), "batch_size": 3, "epochs": 2, "learning_rate": 1e-2}
    data = {"ner": NER, "mood": MOOD}
    return {
        name: train(task, train_data=data[task], dev_data=data[task], tuning=tuning, out=root / name, **given, **more)
        for name, (task, tuning, more, _) in RUNS.items()
    }


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "en-sw.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), "utf-8")
    return path


def by_hand(predictor, text, indices):
    """The mean states of one text alone, layer by layer and fused, from the parts of the model."""
    model = predictor.model
    if hasattr(model, "get_base_model"):
        encoder = model.get_base_model().encoder
        fusion = model.get_base_model().classifier.modules_to_save["default"].fusion
    else:
        encoder, fusion = model.base_model, model.heads[model.active_head].fusion
    ids = torch.tensor([encode_texts(predictor.tokenizer, [text])[0][0].input_ids])
    with torch.no_grad():
        states = encoder(ids, output_hidden_states=True).hidden_states
        fused = fusion(*(states[k] for k in indices))
    return [state[0].mean(0) for state in (*states, fused)]


def test_measures_by_hand():
    first = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])  # (1, 0), (0, 1), (0.6, 0.8)
    second = torch.tensor([[4.0, 3.0], [0.0, 1.0], [5.0, 0.0]])  # (0.8, 0.6), (0, 1), (1, 0)
    # The cosines are 0.8 0 1 / 0.6 1 0 / 0.96 0.8 0.6: a row a sentence, a column a translation.
    expected = {
        "cosine": [0.8, 1.0, 0.6],
        "others": [(0.5 + 0.78) / 2, (0.3 + 0.4) / 2, (0.88 + 0.5) / 2],
        "gap": [0.16, 0.65, -0.09],
        # Means (4/3, 2) and (3, 4/3): (-1/3, -2) and (1, 5/3), (-4/3, 0) and (-3, -1/3), (5/3, 2) and (2, -4/3)
        "centred": [-33 / 37**0.5 / 34**0.5, 9 / 82**0.5, (10 / 3 - 8 / 3) / (61 / 9 * 52 / 9) ** 0.5],
        "forward": [0, 1, 0],
        "backward": [0, 1, 0],
        "retrieval": [0, 1, 0],
    }
    assert tuple(expected) == MEASURES
    found = similarities(first, second).T
    for name, values in zip(MEASURES, found.tolist(), strict=True):
        assert values == pytest.approx(expected[name], abs=1e-6), name


def test_measures_are_those_of_a_plain_loop(monkeypatch):
    monkeypatch.setattr(parallel, "_BLOCK", 4)
    random = torch.Generator().manual_seed(1)
    first, noise = torch.randn(2, 10, 3, generator=random)
    second = first + noise
    found = similarities(first, second)
    cosines = [[torch.cosine_similarity(a, b, dim=0).item() for b in second] for a in first]
    columns = list(zip(*cosines, strict=True))
    for i in range(10):
        others = [*(cosines[i][j] for j in range(10) if j != i), *(cosines[j][i] for j in range(10) if j != i)]
        own, mean = cosines[i][i], sum(others) / 18
        forward, backward = int(own == max(cosines[i])), int(own == max(columns[i]))
        centred = torch.cosine_similarity(first[i] - sum(first) / 10, second[i] - sum(second) / 10, dim=0).item()
        row = [own, mean, own - mean, centred, forward, backward, (forward + backward) / 2]
        assert found[i].tolist() == pytest.approx(row, abs=1e-5)
    assert found[:, 4].sum() != found[:, 5].sum()  # the directions are told apart
    order = torch.randperm(10, generator=random)
    torch.testing.assert_close(similarities(3 * first[order], second[order]), found[order])


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (0, 0)])
def test_too_few_vectors(sizes):
    with pytest.raises(DataError, match=f"two or more sentences.*got {sizes[0]} and {sizes[1]}"):
        similarities(*(torch.ones(size, 2) for size in sizes))


@pytest.mark.parametrize("name", RUNS)
def test_states_of_a_run_are_those_of_its_parts(runs, name):
    """In one batch, padded; with the adapters or LoRA of the run, without dropout; and nothing stays on the model."""
    predictor = load_run(runs[name])
    items = encode_texts(predictor.tokenizer, TEXTS)[0]
    hooks = sum(len(module._forward_hooks) for module in predictor.model.modules())  # adapters has its own
    found = sentence_states(predictor.model, items, predictor.tokenizer.pad_token_id)
    assert list(found) == ["0", "1", "2", "3", "fused"]
    expected = [by_hand(predictor, text, RUNS[name][3]) for text in TEXTS]
    for state, rows in zip(found.values(), zip(*expected, strict=True), strict=True):
        torch.testing.assert_close(state, torch.stack(rows), rtol=1e-4, atol=1e-5)
    assert sum(len(module._forward_hooks) for module in predictor.model.modules()) == hooks
    last_alone = name in ("last", "control")  # the last layer, or that layer fused with itself
    assert torch.allclose(found["fused"], found["3"], atol=1e-5) is last_alone


def test_adapters_count(runs, tiny_folder):
    """The encoder of a run is not the one that it began with, unless it was frozen."""
    encoder = load_encoder(str(tiny_folder))
    items = encode_texts(encoder.tokenizer, TEXTS)[0]
    plain = sentence_states(encoder.model, items, 0)
    assert list(plain) == ["0", "1", "2", "3"]
    for name in RUNS:
        states = sentence_states(load_run(runs[name]).model, items, 0)
        assert torch.allclose(states["3"], plain["3"], atol=1e-5) is (RUNS[name][1] == "features"), name


def test_the_last_layer_is_the_last_hidden_state(tiny_model):
    """Some encoders norm it once more than `hidden_states[-1]`."""
    encoder = tiny_model("bert").base_model
    ids = [5, 6, 7, 8]
    once = sentence_states(encoder, [EncodedText(ids, None)], 1)
    encoder.register_forward_hook(lambda _, __, out: type(out)(**{**out, "last_hidden_state": 2 * out[0]}))
    twice = sentence_states(encoder, [EncodedText(ids, None)], 1)
    assert [torch.equal(once[k], twice[k]) for k in once] == [True, True, True, True, False]
    torch.testing.assert_close(twice["4"], 2 * once["4"])


def test_a_report_has_every_layer_with_paired_intervals(runs, tiny_folder):
    options = {"resamples": 200, "seed": 3}
    report = measure_run(runs["bottleneck"], PAIRS, **options)
    assert (report.name, report.fusion, report.pairs) == (str(runs["bottleneck"].folder), "dlfa of layer 1", 4)
    assert [layer.state for layer in report.layers] == ["0", "1", "2", "3"]
    assert report.final is report.fused
    for state in (*report.layers, report.fused):
        assert list(state.scores) == list(MEASURES)
        assert all(score.low <= score.value <= score.high for score in state.scores.values())
        assert state.scores["cosine"].low < state.scores["cosine"].high
    found = differences(report.layers[-1], report.fused)["cosine"]
    assert found.difference == pytest.approx(report.fused.scores["cosine"].value - found.a)
    drawn = report.fused.samples[:, 0] - report.layers[-1].samples[:, 0]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    control = measure_run(runs["control"], PAIRS, **options)
    encoder = measure_encoder(str(tiny_folder), PAIRS, **options)
    assert (encoder.fused, encoder.final) == (None, encoder.layers[-1])
    for score in differences(encoder.final, control.final).values():  # exactly paired: no sampling noise is left
        assert [score.difference, score.low, score.high] == pytest.approx([0, 0, 0], abs=1e-5)
    for other in (
        measure_encoder(str(tiny_folder), PAIRS, **{**options, "seed": 4}),
        measure_encoder(str(tiny_folder), PAIRS[1:], **options),
    ):
        with pytest.raises(ConfigError, match="the same pairs and resamples"):
            differences(other.final, encoder.final)


def test_sentences_that_are_their_own_translations(tiny_folder):
    report = measure_encoder(str(tiny_folder), [(text, text) for text in TEXTS], resamples=20)
    for layer in report.layers:
        assert layer.scores["cosine"].value == pytest.approx(1)
        assert layer.scores["retrieval"].value == 1
        assert layer.scores["others"].value < 0.999


def test_what_cannot_be_measured(tiny_folder):
    encoder = load_encoder(str(tiny_folder))
    with pytest.raises(DataError, match="two or more"):
        measure_parallel(encoder.model, encoder.tokenizer, [], name="x")
    with pytest.raises(ConfigError, match="at least one resample"):
        measure_parallel(encoder.model, encoder.tokenizer, PAIRS, name="x", resamples=0)
    encoder.model.base_model.encoder.layer[0].output.dense.bias.data[0] = float("nan")
    with pytest.raises(RunError, match="not finite"):
        measure_parallel(encoder.model, encoder.tokenizer, PAIRS, name="x")


def test_each_sentence_is_read_once(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("a\tA\n\n \tB\nb\t \na\tC\nc\tA\n d \tD\ne\td\n", "utf-8")
    assert read_parallel(path) == [("a", "A"), ("d", "D"), ("e", "d")]
    assert read_parallel(path, 2) == [("a", "A"), ("d", "D")]
    path.write_text("a\tA\na\tB\n", "utf-8")
    with pytest.raises(DataError, match=r"x\.tsv: expected two or more lines of a sentence, a TAB .* got 1"):
        read_parallel(path)
    path.write_text("a A\nb B\n", "utf-8")
    with pytest.raises(DataError, match="expected 2 columns with a TAB"):
        read_parallel(path)


@pytest.fixture
def cosine(monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)  # it would silence the rest of the session
    return lambda *arguments: CliRunner().invoke(app, ["analyze", "cosine", *map(str, arguments)])


def test_the_command_prints_layers_fused_states_and_differences(cosine, runs, text, tiny_folder, tmp_path):
    folders = [runs[name].folder for name in ("last", "peft")]
    done = cosine(*folders, "--model", tiny_folder, "--parallel", text, "--plot", tmp_path / "cosine.svg")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines if line and line[0] in "0123fused"] == [
        *"0123",
        *"0123",
        "fused",
        *"0123",
        "fused",
    ]
    assert f"{folders[1]}, fused − {tiny_folder}, last layer" in done.stdout
    assert f"{folders[0]}, fused − {folders[0]}, last layer" not in done.stdout  # they are the same
    assert "Fewer than 30 items in the text (4)" in done.stdout
    drawing = (tmp_path / "cosine.svg").read_text("utf-8")
    assert drawing.startswith("<?xml")
    assert f"{folders[1]}: translations" in drawing


def test_the_command_as_json(cosine, runs, text):
    done = cosine(runs["control"].folder, "--parallel", text, "--limit", 3, "--json")
    told = json.loads(done.stdout)
    [model] = told["models"]
    assert (told["parallel"], model["pairs"], model["fusion"]) == (str(text), 3, "dlfa of layer 3")
    direct = measure_run(runs["control"].folder, PAIRS[:3])
    assert model["states"][-1] == json.loads(json.dumps(direct.fused.to_dict()))
    [difference] = told["differences"]
    assert difference["scores"]["cosine"]["difference"] == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "add --parallel FILE"),
        (["--parallel", "TEXT"], "run folders, or an encoder with --model"),
        (["--parallel", "TEXT", "--model", "offline", "--plot", "x.jpg"], r"ends in \.svg, \.png, \.pdf, got x\.jpg"),
        (["--parallel", "no.tsv", "--model", "offline"], r"no\.tsv: expected a file"),
        (["nothing", "--parallel", "TEXT"], "no run folder nothing"),
    ],
)
def test_what_the_command_refuses(cosine, text, arguments, message):
    done = cosine(*(text if argument == "TEXT" else argument for argument in arguments))
    assert done.exit_code == 1
    with pytest.raises((ConfigError, DataError, RunError), match=message):
        raise done.exception
