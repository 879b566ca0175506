"""Heads probed: side by side as one by one, scores against scikit-learn, overlaps by hand, on runs, on the screen."""

import json

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score
from typer.testing import CliRunner

from dlfa_adapters.analysis.probing.data import read_probe_data
from dlfa_adapters.analysis.probing.heads import HeadProbing, by_language, probe_heads, rankings
from dlfa_adapters.analysis.probing.heads_report import head_notes, head_tables, read_probings
from dlfa_adapters.analysis.probing.learn import edge_note, label_counts, learn_probes
from dlfa_adapters.analysis.probing.options import ProbeOptions
from dlfa_adapters.analysis.probing.overlap import default_top, order_of, top_overlap
from dlfa_adapters.analysis.states import open_encoder, open_run
from dlfa_adapters.encoders.head_states import HeadStates
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.kinds.metric import macro_f1
from dlfa_adapters.learning import train
from dlfa_cli.main import app

QUICK = ProbeOptions(epochs=3, learning_rates=(3e-2, 3e-1), batch_size=8)


def sentences(seed, number=30, odd=False):
    """Words of the letters a to h; a tag says which half of them a word begins with."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        words = ["".join(random.choice(list("abcdefgh"), 3)) for _ in range(random.integers(1, 5))]
        found.append((words, ["X" if odd else "LOW" if word[0] < "e" else "HIGH" for word in words]))
    return found


def tsv(path, items):
    path.write_text("\n\n".join("\n".join(f"{w}\t{t}" for w, t in zip(*each, strict=True)) for each in items) + "\n\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("halves")
    tsv(root / "train-en.tsv", sentences(0, 60))
    tsv(root / "dev-en.tsv", sentences(1))
    tsv(root / "test-en.tsv", sentences(2, 20))
    tsv(root / "test-de.tsv", sentences(3, 25) + sentences(4, 3, odd=True))
    return root


@pytest.fixture(scope="module")
def data(folder):
    return read_probe_data("halves", str(folder), test=str(folder))


@pytest.fixture(scope="module")
def model(tiny_folder):
    return open_encoder(str(tiny_folder))


@pytest.fixture(scope="module")
def found(model, data):
    return probe_heads(model, data, QUICK)


def test_all_heads_side_by_side_are_what_they_are_one_by_one(model, data, found):
    heads = HeadStates(model.model)
    together = learn_probes(heads, model.tokenizer, data, QUICK)
    for number in range(6):
        alone = learn_probes(heads, model.tokenizer, data, QUICK, [number])
        [head] = alone.heads
        assert head.rate == together.heads[number].rate
        assert head.epoch == together.heads[number].epoch
        for name, weight in head.state_dict.items():
            assert torch.allclose(weight, together.heads[number].state_dict[name], atol=1e-6)
        assert torch.equal(alone.predicted[0], together.predicted[number])
        assert found.scores[number // 2, number % 2] == alone.scores(data, "macro-f1")[0]
        assert found.dev[number // 2, number % 2] == pytest.approx(alone.dev[0])


def test_heads_differ_and_tell_something(found):
    assert found.scores.shape == (3, 2)
    assert len(set(found.scores.ravel().tolist())) > 3
    assert found.scores.max() > 30  # one label for all words has 22
    assert set(found.rates.ravel().tolist()) <= {3e-2, 3e-1}


@pytest.mark.parametrize(("score", "by_sklearn"), [("macro-f1", f1_score), ("metric", accuracy_score)])
def test_scores_are_those_of_scikit_learn_over_all_languages_and_each(score, by_sklearn, model, data):
    """A gold label that there was not in training is a label that is never right."""
    probes = learn_probes(HeadStates(model.model), model.tokenizer, data, QUICK)
    predicted = [[data.task.labels[i] for i in row] for row in probes.predicted.tolist()]
    extra = {"average": "macro", "zero_division": 0} if score == "macro-f1" else {}
    start = 0
    for items in data.test:
        gold = [tag for tags in items.gold for tag in tags]
        by_hand = [100 * by_sklearn(gold, row[start : start + len(gold)], **extra) for row in predicted]
        assert probes.scores(data, score, items.language) == pytest.approx(by_hand)
        start += len(gold)
    gold = [tag for items in data.test for tags in items.gold for tag in tags]
    assert "X" in gold
    assert start == len(gold) == probes.predicted.shape[1]
    assert probes.scores(data, score) == pytest.approx([100 * by_sklearn(gold, row, **extra) for row in predicted])


def test_macro_f1_by_hand():
    """a: 1 right, 2 predicted, 2 gold: 1/2. b: 1, 2, 1: 2/3. c: gold once, never predicted: 0. d is nowhere."""
    predicted = torch.tensor([[0, 0, 1, 1], [3, 3, 3, 3]])
    found = macro_f1(label_counts(predicted, [["a", "c", "b", "a"]], ["a", "b", "c", "d"]))
    assert found[:, 0] == pytest.approx([(1 / 2 + 2 / 3 + 0) / 3, 0])
    others = label_counts(predicted[:1], [["a", "new", "b", "a"]], ["a", "b"])
    assert macro_f1(others)[:, 0] == pytest.approx([(7 / 6) / 3])
    by_item = label_counts(predicted, [["a", "c"], ["b", "a"], []], ["a", "b", "c", "d"])
    assert macro_f1(by_item.sum(1)) == pytest.approx(found[:, 0])


def test_without_test_data_dev_is_scored(model, folder, data):
    on_dev = read_probe_data("halves", str(folder))
    report = probe_heads(model, on_dev, ProbeOptions(epochs=3, learning_rates=(3e-1,), batch_size=8, score="metric"))
    assert report.scored_on == "dev en"
    assert report.scores == pytest.approx(report.dev, abs=1e-4)
    assert report.sizes == {"train": 60, "dev": 30}
    assert data.scored_on == "test de, en"
    assert data.sizes == {"train": 60, "dev": 30, "test": 48}


def test_a_limit_takes_the_first_of_each_language(folder):
    data = read_probe_data("halves", str(folder), test=str(folder), limit=7)
    assert data.sizes == {"train": 7, "dev": 7, "test": 14}
    assert data.languages == ["de"] * 7 + ["en"] * 7


def test_tasks_without_a_label_a_word_and_without_dev_are_refused(folder, tmp_path):
    with pytest.raises(ConfigError, match="Probes need dev data"):
        read_probe_data("halves", str(folder / "train-en.tsv"))
    lines = "1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "en-train.conllu").write_text(lines, "utf-8")
    file = str(tmp_path / "en-train.conllu")
    with pytest.raises(ConfigError, match="A probe gives a label to a word or a text, and parse is no such task"):
        read_probe_data("parse", file, file)


def test_rates_at_an_end_are_told(found):
    """Of the two rates that were tried each is an end."""
    by_hand = ["highest" if rate == 3e-1 else "lowest" for rate in found.rates.ravel()]
    assert found.edges == by_hand
    assert edge_note("x", ["highest", "highest", None, "lowest", None, None, None, None]) == [
        "x: 2 of 8 probes have the highest rate of --lr; a higher one may be better for them."
    ]
    assert edge_note("x", []) == []


def of(name, scores, task="ner"):
    scores = np.array(scores, dtype=float)
    return HeadProbing(
        name=name, task=task, score="macro-f1", scored_on="dev en", scores=scores, languages={"en": scores},
        dev=scores, rates=scores, edges=[None] * scores.size, sizes={"dev": 3},
    )  # fmt: skip


def test_overlaps_by_hand():
    """Best four of a: heads 0 1 2 3; of b: 3 2 4 0. In both 0 2 3: in a 90 70 60, in b 30 80 90, so rho is -1."""
    a, b = of("a", [[90, 80, 70], [60, 50, 40]]), of("b", [[30, 20, 80], [90, 70, 10]])
    four, six = top_overlap(rankings([a, b]), (4, 6))
    assert (four.overlap, four.k, four.chance) == (3, 4, pytest.approx(16 / 6))
    assert four.rho == pytest.approx(-1)
    assert (six.overlap, six.chance) == (6, 6)
    expected = stats.spearmanr(a.scores.ravel(), b.scores.ravel())
    assert (six.rho, six.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    [two] = top_overlap(rankings([a, b]), (2,))
    assert (two.overlap, two.rho, two.p_value) == (0, None, None)


def test_of_equal_heads_the_lower_comes_first():
    assert order_of(np.array([[5, 7], [7, 5]])).tolist() == [1, 2, 0, 3]
    assert order_of(np.zeros((12, 12))).tolist() == list(range(144))


def test_k_is_the_share_of_the_paper():
    assert default_top(144) == (40, 60, 80)
    assert default_top(6) == (2, 3)
    pairs = top_overlap({"a": np.eye(12), "b": np.eye(12)})
    assert [pair.k for pair in pairs] == [40, 60, 80]
    assert [pair.chance for pair in pairs] == pytest.approx([11.1, 25.0, 44.4], abs=0.05)


def test_other_shapes_and_k_out_of_range_are_refused():
    with pytest.raises(ConfigError, match="a 2x2, b 1x2; compare models of one encoder"):
        top_overlap({"a": np.eye(2), "b": np.ones((1, 2))})
    with pytest.raises(ConfigError, match="K from 1 to 4, the number of heads, got 5; type --top 2"):
        top_overlap({"a": np.eye(2), "b": np.eye(2)}, (5,))


def test_names_are_told_apart():
    assert list(rankings([of("a", [[1]]), of("a", [[1]]), of("b", [[1]])])) == ["a", "a (2)", "b"]
    assert list(rankings([of("a", [[1]]), of("a", [[1]], "pos")])) == ["a on ner", "a on pos"]
    assert list(by_language([of("a", [[1]]), of("b", [[1]])])) == ["a en", "b en"]


def test_tables_and_notes():
    a, b = of("a", [[90, 80], [60, 50]]), of("b", [[1, 2], [3, 4]], "pos")
    overlaps = top_overlap(rankings([a, b]), (3,))
    tables = head_tables([a, b], overlaps)
    assert tables[0].rows == [["1", "85.0", "90.0", "80.0"], ["2", "55.0", "60.0", "50.0"]]
    assert [row[0] for row in tables[3].rows] == ["2.2", "2.1", "1.2", "1.1"]
    assert tables[-1].rows == [["a on ner, b on pos", "3", "2", "2.2", "–", "–"]]
    assert any("not all probed on the same data" in note for note in head_notes([a, b], overlaps))


def test_runs_are_probed_as_they_are_after_training(tiny_folder, folder, tmp_path, data):
    given = {"train_data": str(folder), "model": str(tiny_folder), "epochs": 8, "fusion": "last", "batch_size": 8}
    run = train("halves", **given, tuning="peft-lora:4", learning_rate=3e-2, out=tmp_path / "run")
    trained = probe_heads(open_run(run), data, QUICK)
    assert trained.name == str(tmp_path / "run")
    assert not np.allclose(trained.scores, probe_heads(open_encoder(str(tiny_folder)), data, QUICK).scores)


def test_the_command_prints_draws_and_gives_json_to_compare_with(tiny_folder, folder, tmp_path, found):
    words = ["analyze", "head-probing", "halves", "--model", str(tiny_folder), "--train", str(folder), "--data"]
    words += [str(folder), "--epochs", "3", "--lr", "3e-2,3e-1"]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    saved = tmp_path / "heads.json"
    saved.write_text(done.stdout, "utf-8")
    record = json.loads(done.stdout)
    assert record["overlaps"] == []
    [read] = read_probings(saved)
    assert read.to_dict() == record["models"][0]
    assert np.array(record["models"][0]["scores"]).shape == (3, 2)
    plot = tmp_path / "heads.svg"
    done = CliRunner().invoke(app, [*words, "--with", str(saved), "--plot", str(plot), "--top", "3", "--by-language"])
    assert done.exit_code == 0, done.output
    assert "The K best heads of two" in done.output
    assert plot.read_text("utf-8").count('id="axes_') == 4  # two maps with their scales


@pytest.mark.parametrize("content", ["nothing", "[]", '{"models": [{"scores": [1]}]}', '{"models": [3]}'])
def test_another_file_to_compare_with_is_refused(content, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(content, "utf-8")
    with pytest.raises(RunError, match="give what dlfa analyze head-probing --json printed"):
        read_probings(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ner", "Name what is to be looked at"),
        ("mine --model x", "There are no samples of 'mine'"),
        ("ner --model x --score f2", "score must be one of macro-f1, metric; got 'f2'"),
        ("ner --model x --lr 0", "learning_rate must be a number above 0"),
        ("ner --model x --train none", "none: expected a file or a folder"),
        ("ner --model x --data none", "none: expected a file or a folder"),
        ("ner --model x --with none.json", "none.json: expected a file"),
        ("ner --model x --top k", "expected K such as"),
        ("ner --model ./none", "The encoder './none' cannot be loaded"),
        ("ner none", "There is no run folder none"),
    ],
)
def test_mistakes_are_told_before_anything_is_loaded(words, said, monkeypatch):
    monkeypatch.setattr("dlfa_adapters.encoders.load.load_encoder", None)
    done = CliRunner().invoke(app, ["analyze", "head-probing", *words.split()])
    assert done.exit_code != 0
    assert said in f"{done.output} {done.exception}".replace("\n", " ")
