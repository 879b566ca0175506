"""Sentence retrieval: against a plain loop over the states of a tiny encoder, of runs too, and as a command."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from dlfa_adapters.analysis.retrieval.scored import Column
from dlfa_adapters.analysis.retrieval.sentences import measure_sentences, orders, sentence_results
from dlfa_adapters.analysis.retrieval.show import retrieval_tables
from dlfa_adapters.analysis.states import open_encoder, open_run, sentence_states
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.learning import train
from dlfa_cli.main import app

PAIRS = [("Anna met Bob", "Bob saw Anna"), ("in Rome", "Rome of a b"), ("the Bank", "Bank"), ("far", "a far Bob")]
OTHERS = [("a b c", "c b"), ("Bob", "Anna"), ("Rome", "far Rome")]
ORDERS = ["cosine", "csls", "centred cosine", "centred csls"]
NER = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3


@pytest.fixture(scope="module")
def run(tiny_folder, tmp_path_factory):
    return train(
        "ner", train_data=NER, dev_data=NER, language="en", model=str(tiny_folder), tuning="bottleneck", epochs=1,
        batch_size=3, fuse_layer=1, out=tmp_path_factory.mktemp("runs") / "run",
    )  # fmt: skip


def by_loops(opened, pairs, state, centred, k):
    """Whether the nearest is the right one, by cosine and CSLS, forward and backward, in float64."""
    sides = []
    for side in (0, 1):
        items = encode_texts(opened.tokenizer, [pair[side] for pair in pairs])[0]
        vectors = sentence_states(opened.model, items, opened.tokenizer.pad_token_id)[state].double().numpy()
        sides.append(vectors - vectors.mean(0) if centred else vectors)
    cosines = np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in sides[1]] for a in sides[0]])
    r_x, r_y = (np.sort(each, axis=1)[:, -k:].mean(1) for each in (cosines, cosines.T))
    own = np.arange(len(pairs))
    return [
        np.mean(nearest == own)
        for scores in (cosines, 2 * cosines - r_x[:, None] - r_y)
        for nearest in (scores.argmax(1), scores.argmax(0))
    ]


def test_it_is_what_loops_give_in_every_layer(tiny_folder):
    opened = open_encoder(str(tiny_folder))
    found = measure_sentences([opened], {"en-x": PAIRS, "en-y": OTHERS}, neighbours=2, resamples=20)
    assert [each.name for each in found] == ["en-x", "en-y"]
    name, seen = str(tiny_folder), set()
    for each, pairs in zip(found, (PAIRS, OTHERS), strict=True):
        assert (each.items, each.states(name), each.orders(name)) == (len(pairs), ["0", "1", "2", "3"], ORDERS)
        for state in "0123":
            for centred in (False, True):
                expected = by_loops(opened, pairs, state, centred, 2)
                for number, score in enumerate(("cosine", "csls")):
                    column = Column(name, state, f"centred {score}" if centred else score, "forward")
                    both = [each.value(column), each.value(column._replace(measure="backward"))]
                    assert both == pytest.approx(expected[2 * number : 2 * number + 2])
                    assert each.value(column._replace(measure="retrieval")) == pytest.approx(sum(both) / 2)
                    seen.add(tuple(both))
    assert len(seen) > 4


def test_centring_takes_off_what_a_language_has_in_common():
    random = torch.Generator().manual_seed(0)
    meaning = torch.randn(40, 6, generator=random)
    first, second = meaning + 10 * torch.randn(6, generator=random), meaning + 10 * torch.randn(6, generator=random)
    vectors = orders(first, second)
    assert torch.equal(vectors[""][0], first)
    for side in vectors["centred"]:
        torch.testing.assert_close(side, meaning - meaning.mean(0), rtol=1e-4, atol=1e-5)


def test_runs_encoders_and_some_layers_alone(run, tiny_folder):
    models = (open_run(run), open_encoder(str(tiny_folder)))
    [found] = measure_sentences(iter(models), {"x": PAIRS}, layers=[1, 3], resamples=20)
    assert found.systems() == [str(run.folder), str(tiny_folder)]
    assert [found.states(system) for system in found.systems()] == [["1", "3", "fused"], ["1", "3"]]
    with pytest.raises(ConfigError, match=r"layers from 0 to 3 of .*, got 1, 4"):
        measure_sentences([models[1]], {"x": PAIRS}, layers=[1, 4])
    with pytest.raises(ConfigError, match="each model once"):
        measure_sentences([models[1], models[1]], {"x": PAIRS}, layers=[1])
    with pytest.raises(DataError, match="x: expected two or more pairs"):
        measure_sentences([], {"x": PAIRS[:1]})


def test_tables_have_the_best_layer_and_differences_to_the_first(tiny_folder):
    opened = open_encoder(str(tiny_folder))
    results = sentence_results(measure_sentences([opened], {"a": PAIRS, "b": OTHERS}, resamples=50))
    chosen = results.chosen()
    for column in chosen:
        values = [results.mean.value(column._replace(state=state)) for state in "0123"]
        assert results.mean.value(column) == max(values)
        assert int(column.state) == values.index(max(values))
    layers, best, compared = retrieval_tables(results)
    assert layers.header == ["layer", *ORDERS]
    assert [row[0] for row in layers.rows] == list("0123")
    assert best.header[-2:] == ["a", "b"]
    assert best.rows[2][0] == f"{tiny_folder}: layer {chosen[2].state}, centred cosine"
    mean = (results.retrievals[0].value(chosen[2]) + results.retrievals[1].value(chosen[2])) / 2
    assert best.rows[2][1] == f"{100 * mean:.1f}"
    assert len(compared.rows) == 3
    difference = results.mean.value(chosen[3]) - results.mean.value(chosen[0])
    assert compared.rows[2][1] == f"{100 * difference:+.1f}"


@pytest.fixture
def sentences(monkeypatch):
    monkeypatch.setattr("dlfa_cli.screen.quiet_libraries", lambda: None)  # it would silence the rest of the session
    return lambda *arguments: CliRunner().invoke(app, ["analyze", "sentences", *map(str, arguments)])


@pytest.fixture
def texts(tmp_path):
    for name, pairs in (("en-de", PAIRS), ("en-sw", [*OTHERS, OTHERS[0]])):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), "utf-8")
    return tmp_path


def test_the_command_prints_tables_and_draws(sentences, texts, tiny_folder, run):
    drawing = texts / "x.svg"
    done = sentences(run.folder, "--model", tiny_folder, "--parallel", texts, "--plot", drawing)
    assert done.exit_code == 0, done.output
    assert "Pairs: en-de 4, en-sw 3." in done.stdout
    assert "Left out: 1 pairs of which a side had come before" in done.stdout
    assert "Fewer than 30 items in en-de (4), en-sw (3)" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines if line and line[0] in "0123fused"] == [*"0123", *"0123", "fused"]
    drawn = drawing.read_text("utf-8")
    assert all(f"<!-- {text}" in drawn for text in ("en-de -->", "en-sw -->", f"{tiny_folder}: ", f"{run.folder}: "))


def test_the_command_as_json(sentences, texts, tiny_folder):
    done = sentences("--model", tiny_folder, "--parallel", texts / "en-de.tsv", "--layer", 2, "--limit", 3, "--json")
    told = json.loads(done.stdout)
    [only] = told["retrievals"]
    assert (only["name"], only["items"], told["left_out"]) == ("en-de", 3, {"en-de": {}})
    [direct] = measure_sentences([open_encoder(str(tiny_folder))], {"en-de": PAIRS[:3]}, layers=[2])
    assert only == json.loads(json.dumps(direct.to_dict()))
    assert [row["of"]["order"] for row in told["differences"]] == ORDERS[1:]


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
def test_what_the_command_refuses(sentences, texts, arguments, message):
    done = sentences(*(texts if argument == "TEXT" else argument for argument in arguments))
    assert done.exit_code == 1
    with pytest.raises((ConfigError, DataError, RunError), match=message):
        raise done.exception
