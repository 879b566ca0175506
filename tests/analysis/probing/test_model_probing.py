"""Probes and ceilings: differences and intervals by hand, the paper's matrix, on runs, and on the screen."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from typer.testing import CliRunner

from dlfa_adapters.analysis.probing.data import ProbeData, read_probe_data
from dlfa_adapters.analysis.probing.learn import counts_of, learn_probes, score_of
from dlfa_adapters.analysis.probing.models import ModelProbing, ProbingCell, probe_models, resampled
from dlfa_adapters.analysis.probing.models_report import plot_probing, probing_notes, probing_tables
from dlfa_adapters.analysis.probing.options import ProbeOptions
from dlfa_adapters.analysis.starts import common_start
from dlfa_adapters.analysis.states import open_encoder, open_run
from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning import train
from dlfa_adapters.learning.dataset import examples_of
from dlfa_adapters.learning.frozen import HeadSpec, OnStates, Rate, compute_states, predict_heads, train_heads
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.predict import Items
from dlfa_adapters.runs import read_run
from dlfa_adapters.scores.intervals import Difference
from dlfa_adapters.tasks import classification_task
from dlfa_cli.main import app

QUICK = ProbeOptions(epochs=3, learning_rates=(1e-1,), batch_size=8, resamples=50)


def words(random):
    return ["".join(random.choice(list("abcdefgh"), 3)) for _ in range(random.integers(1, 5))]


def sentences(seed, tag, number=30):
    random = np.random.default_rng(seed)
    return [(each, [tag(word) for word in each]) for each in (words(random) for _ in range(number))]


TAGS = {
    "halves": lambda word: "LOW" if word[0] < "e" else "HIGH",
    "same": lambda word: "DOUBLE" if word[0] == word[1] else "SINGLE",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tasks of words, and one of texts."""
    root = tmp_path_factory.mktemp("tasks")
    for name, tag in TAGS.items():
        (root / name).mkdir()
        for seed, file in enumerate(("train-en", "dev-en", "test-de", "test-en")):
            items = sentences(seed, tag)
            lines = "\n\n".join("\n".join(f"{w}\t{t}" for w, t in zip(*each, strict=True)) for each in items)
            (root / name / f"{file}.tsv").write_text(lines + "\n\n", "utf-8")
    (root / "long").mkdir()
    random = np.random.default_rng(9)
    for file in ("train-en", "dev-en"):
        rows = [(" ".join(each), "long" if len(each) > 2 else "short") for each in (words(random) for _ in range(40))]
        text = "text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in rows)
        (root / "long" / f"{file}.tsv").write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def tasks(folder):
    halves = read_probe_data("halves", str(folder / "halves"), test=str(folder / "halves"))
    return [halves, read_probe_data("long", str(folder / "long"))]


@pytest.fixture(scope="module")
def runs(tiny_folder, folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    given = {"model": str(tiny_folder), "epochs": 4, "fusion": "last", "batch_size": 8, "learning_rate": 1e-2}
    return {
        "halves": train("halves", **given, train_data=str(folder / "halves"), tuning="full", out=root / "halves"),
        "same": train("same", **given, train_data=str(folder / "same"), tuning="peft-lora:4", out=root / "same"),
    }


def by_hand(model, data, items_of):
    """A linear classifier on the last state of all tokens, trained by `train_heads` alone; its macro-F1."""
    examples = {
        name: examples_of(
            data.task,
            [x for p in part for x in p.inputs],
            [x for p in part for x in p.gold],
            model.tokenizer,
            Settings(),
        )
        for name, part in items_of.items()
    }
    pad, encoder = model.tokenizer.pad_token_id, encoder_of(model.model)
    states = {name: OnStates.of(each, compute_states(encoder, each.rows, pad)) for name, each in examples.items()}
    labels = {label: number for number, label in enumerate(data.task.labels)}
    assert set(labels) == {tag for tags in examples["train"].tags for tag in tags}
    spec = HeadSpec.of("3", fusion="layer", fuse_layer=(3,))
    [head] = train_heads(
        [spec], states["train"], states["dev"], data.task.labels, kind_of_task(data.task).scorer(), epochs=20,
        batch_size=999, rates=[Rate(1e-1)],
    )  # fmt: skip
    [predicted] = predict_heads([head], states["scored"], data.task.labels)
    gold = [tag for tags in examples["scored"].tags for tag in tags]
    return f1_score(gold, [tag for tags in predicted for tag in tags], average="macro", zero_division=0)


def test_a_ceiling_minus_its_probe_by_hand(tiny_folder, runs, tasks):
    """One batch an epoch, so that its order does not matter, and the states of all tokens in place of those kept."""
    options = replace(QUICK, epochs=20, batch_size=999)
    before, model = open_encoder(str(tiny_folder)), open_run(runs["halves"])
    found = probe_models(before, [("halves", model)], tasks, options)
    assert found.layers == [3]
    moved = []
    for data in tasks:
        items = {"train": data.train, "dev": data.dev, "scored": data.scored}
        probe, ceiling = (by_hand(each, data, items) for each in (before, model))
        difference = found.cell(model.name, data.task.name, 3).difference
        assert difference.a == pytest.approx(probe)
        assert difference.b == pytest.approx(ceiling)
        assert difference.difference == pytest.approx(ceiling - probe)
        moved.append(abs(ceiling - probe))
    assert max(moved) > 0.01


def test_the_encoder_itself_is_no_better_than_itself(tiny_folder, tasks):
    found = probe_models(open_encoder(str(tiny_folder)), [(None, open_encoder(str(tiny_folder)))], tasks, QUICK)
    for cell in found.cells:
        assert (cell.difference.difference, cell.difference.low, cell.difference.high) == (0, 0, 0)
        assert not cell.is_own
    assert found.matrix(3).tolist() == [[0, 0]]
    assert list(found.edges) == [f"{tiny_folder}, halves", f"{tiny_folder}, long"]


def test_several_layers_at_once_are_each_by_itself(tiny_folder, runs, tasks):
    def of(layers):
        models = [("halves", open_run(runs["halves"])), ("same", open_run(runs["same"]))]
        return probe_models(open_encoder(str(tiny_folder)), models, tasks, QUICK, layers)

    both, one = of([3, 1]), of([1])
    assert both.layers == [1, 3]
    assert len(both.cells) == 2 * 2 * 2
    for cell in one.cells:
        same = both.cell(cell.model, cell.task, 1).difference
        assert (same.a, same.b, same.low, same.high) == pytest.approx(
            (cell.difference.a, cell.difference.b, cell.difference.low, cell.difference.high)
        )
    assert [cell.is_own for cell in one.cells] == [True, False, False, False]


def of_items(language, gold, ids=None):
    return Items(
        language=language, kind="classification", ids=ids or [f"{language}{i}" for i in range(len(gold))],
        inputs=[(f"{i}", None) for i in range(len(gold))], gold=gold, placeholder=[False] * len(gold),
        own_ids=ids is not None,
    )  # fmt: skip


def test_counts_give_the_scores(tiny_folder, tasks):
    model = open_encoder(str(tiny_folder))
    for data in tasks:
        probes = learn_probes(encoder_of(model.model), model.tokenizer, data, QUICK)
        for score in ("macro-f1", "metric"):
            counts = counts_of(probes, data, score)
            assert counts.shape[:2] == (4, len(data.languages))
            assert 100 * score_of(counts.sum(1), data, score) == pytest.approx(probes.scores(data, score))


def test_a_resample_draws_items_of_all_models_together():
    """Two models that differ in one item of four: by how much they differ is how often it is drawn, in four."""
    data = ProbeData(task=classification_task("x", ["a", "b"]), train=[], dev=[of_items("en", list("aabb"))], test=[])
    right = np.array([[[1, 1]] * 4, [[1, 1]] * 3 + [[0, 1]]])[:, None]  # models, states, items, (right, all)
    values, samples = resampled(list(right), data, ProbeOptions(score="metric", resamples=500))
    assert values.tolist() == [[1.0], [0.75]]
    assert (samples[:, 0, 0] == 1).all()
    missed = 4 * (1 - samples[:, 1, 0])
    assert set(missed.tolist()) <= {0, 1, 2, 3, 4}
    assert missed.mean() == pytest.approx(1, abs=0.15)


def test_translations_are_drawn_together():
    """Of a parallel corpus both languages have the same items in a resample: one that is wrong in both counts twice."""
    gold = list("abababab")
    items = [of_items(language, gold, list("12345678")) for language in ("de", "en")]
    task = classification_task("x", ["a", "b"])
    data = ProbeData(task=task, train=[], dev=[], test=items)
    alone = ProbeData(task=task, train=[], dev=[], test=[of_items("de", gold), of_items("en", gold)])
    one = np.ones((8, 2), dtype=int)
    one[0, 0] = 0
    counts = [np.concatenate([one, one])[None]]  # one state, 16 items
    options = ProbeOptions(score="metric", resamples=2000)
    together, apart = (resampled(counts, each, options)[1].std() for each in (data, alone))
    assert together == pytest.approx(apart * 2**0.5, rel=0.1)


def table3():
    """POS-cross and NER-cross of the paper's Table 3, on NER and PI, in shares."""
    values = {("POS", "NER"): 3.61, ("POS", "PI"): 3.39, ("NER", "NER"): 20.0, ("NER", "PI"): 1.00}
    cells = [
        ProbingCell(
            model=f"{model}-cross", trained_on=model, task=task, layer=12,
            difference=Difference(0.5, 0.5 + x / 100, x / 100, x / 100 - 0.01, x / 100 + 0.01, 0.01),
        )
        for (model, task), x in values.items()
    ]  # fmt: skip
    tasks = {name: {"scored_on": "test en", "sizes": {"train": 9, "dev": 9, "test": 99}} for name in ("NER", "PI")}
    edges = {"mbert, NER": ["highest"], "mbert, PI": [None]}
    return ModelProbing(before="mbert", score="macro-f1", resamples=10, tasks=tasks, edges=edges, cells=cells)


def test_tables_are_models_by_tasks(tmp_path):
    found = table3()
    assert found.matrix(12) == pytest.approx(np.array([[3.61, 3.39], [20, 1]]))
    differences, scores = probing_tables(found)
    assert differences.header == ["", "NER", "95 %", "PI", "95 %"]
    assert differences.rows == [
        ["POS-cross", "+3.6", "[+2.6, +4.6]", "+3.4", "[+2.4, +4.4]"],
        ["NER-cross", "(+20.0)", "[+19.0, +21.0]", "+1.0", "[+0.0, +2.0]"],
    ]
    assert scores.rows[0] == ["probe: mbert", "50.0", "50.0"]
    assert scores.rows[2] == ["NER-cross", "70.0", "51.0"]
    notes = probing_notes(found)
    assert any(note.startswith("In brackets") for note in notes)
    assert [note.partition(":")[0] for note in notes if "of --lr" in note] == ["mbert, NER"]
    plot_probing(found, tmp_path / "x.svg")
    drawn = (tmp_path / "x.svg").read_text("utf-8")
    assert "<!-- +3.6 -->" in drawn
    assert "<!-- +20.0 -->" not in drawn  # a model's own task


def test_other_models_and_layers_are_refused(tiny_folder, tiny_model, tasks):
    before = open_encoder(str(tiny_folder))
    other = replace(before, name="other", model=tiny_model("bert"))
    with pytest.raises(ConfigError, match=r"other is bert with 4 layers of width 16, .* 3 layers of width 16"):
        probe_models(before, [(None, other)], tasks, QUICK)
    with pytest.raises(ConfigError, match="has the layers 0 to 3, got 4"):
        probe_models(before, [], tasks, QUICK, [4])
    with pytest.raises(ConfigError, match="The task long comes twice"):
        probe_models(before, [], [tasks[1], tasks[1]], QUICK)


def test_the_command_prints_draws_and_gives_json(runs, folder, tiny_folder, tmp_path):
    typed = ["analyze", "probing", str(runs["halves"].folder), str(runs["same"].folder), "--epochs", "2"]
    typed += ["--task", f"halves={folder / 'halves'}", "--task", f"same={folder / 'same'}", "--lr", "1e-1"]
    typed += ["--data", f"halves={folder / 'halves'}", "--languages", "de", "--resamples", "50"]
    plot = tmp_path / "probing.svg"
    done = CliRunner().invoke(app, [*typed, "--plot", str(plot)])
    assert done.exit_code == 0, done.output
    assert "Layer 3: ceiling − probe" in done.output
    assert "halves: test de (30 train, 30 dev, 30 test); same: dev en" in done.output.replace("\n", " ")
    assert plot.exists()
    done = CliRunner().invoke(app, [*typed, "--json", "--score", "metric", "--layers", "1-2"])
    record = json.loads(done.stdout)
    assert record["before"] == str(tiny_folder)
    assert len(record["cells"]) == 8
    assert [cell["is_own"] for cell in record["cells"]].count(True) == 4
    assert all(torch.tensor(cell["difference"]["a"]) <= 1 for cell in record["cells"])


def test_another_encoder_than_that_of_the_runs_is_refused(runs, folder, monkeypatch):
    changed = read_run(runs["same"].folder)
    changed.config["encoder"]["fingerprint"] = "0"
    monkeypatch.setattr("dlfa_adapters.runs.read_run", lambda folder: changed)
    done = CliRunner().invoke(app, ["analyze", "probing", str(changed.folder), "--task", f"same={folder / 'same'}"])
    assert done.exit_code != 0
    assert "with fingerprint 0" in f"{done.output} {done.exception}"


def test_runs_of_several_encoders_are_refused(runs):
    other = read_run(runs["same"].folder)
    other.config["encoder"]["name"] = "another"
    with pytest.raises(ConfigError, match=r"trained on several encoders, .*, another; look at those of each"):
        common_start([runs["halves"], other])
    assert common_start([runs["halves"], runs["same"]]) == runs["same"].config["encoder"]["name"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("x", "Name what is probed for: --task pos=PLACE"),
        ("x -t mine", "There are no samples of 'mine'"),
        ("x -t ner=", "--task expects TASK=PLACE, got 'ner='"),
        ("x -t ner -t ner", "--task names ner twice"),
        ("x -t ner -d ner", "--data expects TASK=PLACE, got 'ner'"),
        ("x -t ner -d pos=samples:pos", "--data is for pos, but the tasks are ner; add --task pos=PLACE"),
        ("x -t ner=none", "none: expected a file or a folder"),
        ("x -t ner --score f2", "score must be one of macro-f1, metric"),
        ("x -t ner --layers x", "expected layers such as 4-9 or 1,7"),
        ("x -t ner", "There is no run folder x; for an encoder name the one that it started from with --model"),
        ("x -t ner --model ./none", "The encoder './none' cannot be loaded"),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(typed, said, monkeypatch):
    monkeypatch.setattr("dlfa_adapters.encoders.load.load_encoder", None)
    done = CliRunner().invoke(app, ["analyze", "probing", *typed.split()])
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}".replace("\n", " ")
