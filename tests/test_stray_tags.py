"""One stray tag of hundreds changes no metric: in check, train, evaluate, sweep and tune, and all of them name it."""

import json

import pytest
import torch
from typer.testing import CliRunner

from dlfa_adapters.data.check import check_data
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning import train
from dlfa_adapters.learning.dataset import task_for
from dlfa_adapters.predict import Predictions
from dlfa_adapters.predict.items import check_fit, items_by_language
from dlfa_adapters.predict.run import predict, predict_run
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.show import markdown
from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.tasks import NER
from dlfa_cli.main import app
from tests.predict.fakes import FakeTagger, oracle

SENTENCES = [
    "Anna{i}\tB-PER\nmet\tO\nBob\tB-PER\n.\tO\n",
    "in\tO\nNew{i}\tB-LOC\nYork\tI-LOC\n.\tO\n",
    "it{i}\tO\nfell\tO\n",
]
SPANS = 150
STRAYS = ["o", "O ", "0", "zzz", "header"]


def write(path, stray, sentences=150):
    """Clean IOB2 with three spans in three sentences, and one stray tag in the last one or in a header row."""
    lines = "\n".join(SENTENCES[i % 3].format(i=i) for i in range(sentences))
    if stray == "header":
        lines = "word\ttag\n" + lines
    elif stray:
        lines = lines.removesuffix("O\n") + stray + "\n"
    path.write_text(lines, "utf-8")
    return path


@pytest.fixture(params=STRAYS)
def stray(request):
    return request.param


def scores(path, task, tagger):
    """The report on a file of a model that is not learned."""
    loaded = load_source(path, task)
    items, _ = items_by_language(loaded)
    check_fit(items, task, loaded.source)
    predicted = predict(tagger, items)
    about = {"data": {"source": loaded.source, "split": "test", "dropped": dict(loaded.dropped)}}
    predictions = Predictions(name="fake", task=task, source_languages=["en"], languages=predicted, about=about)
    return build_report(predictions, resamples=10), loaded


def test_the_task_is_one_of_spans_and_does_not_learn_the_stray_tag(stray, tmp_path):
    task = task_for("names", load_source(write(tmp_path / "train-en.tsv", stray), "names", "train"), None)
    assert task.metric == "span_f1"
    assert task.labels == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def test_check_says_so_and_names_it(stray, tmp_path):
    result = check_data(write(tmp_path / "train-en.tsv", stray))
    assert result.metric == "span_f1"
    assert result.scheme == "IOB2"
    if stray not in ("header", "O "):  # which readers may take for what they are
        [problem] = [problem for problem in result.problems if problem.kind == "slip"]
        assert (problem.line, problem.level) == (649, "warning")
        assert f"the label {stray!r} (1 word, line 649)" in problem.message


@pytest.mark.parametrize("clean", [True, False])
def test_an_oracle_has_all_and_a_tagger_that_says_nothing_none(clean, stray, tmp_path):
    path = write(tmp_path / "test-en.tsv", stray)
    task = task_for("names", load_source(write(tmp_path / "train-en.tsv", "" if clean else stray), "names"), None)
    data = load_source(path, task).dataset
    perfect, _ = scores(path, task, FakeTagger(oracle(data)))
    silent, _ = scores(path, task, FakeTagger(lambda words: ["O"] * len(words)))
    [row], [none] = perfect.table.languages, silent.table.languages
    assert list(row.scores) == ["span_f1_lenient", "span_f1_strict"]
    assert {name: score.value for name, score in row.scores.items()} == {"span_f1_lenient": 1.0, "span_f1_strict": 1.0}
    assert {score.value for score in none.scores.values()} == {0.0}
    assert none.words_scored == none.words_total
    assert none.words_total in ((500, 501) if stray == "header" else (500,))
    slips = sum(none.unknown_gold_labels.values())
    assert none.support == SPANS + slips  # a slip stays in the denominator
    assert slips == 1 if stray in ("o", "0", "zzz") else slips in (0, 1)
    if slips:
        assert "Gold labels that the model does not have, counted as missed: " in markdown(silent)


def test_the_score_on_dev_is_that_of_spans(stray, tmp_path):
    loaded = load_source(write(tmp_path / "dev-en.tsv", stray), "names", "dev")
    task, gold = task_for("names", loaded, None), list(loaded.dataset["tags"])
    score = kind_of_task(task).scorer()(gold, task.labels)
    ids = [task.labels.index(tag) if tag in task.labels else 0 for tags in gold for tag in tags]
    slips = sum(tag not in task.labels for tags in gold for tag in tags)
    assert score(torch.tensor([ids, [0] * len(ids)])) == pytest.approx([200 * SPANS / (2 * SPANS + slips), 0.0])


def test_of_many_strays_ten_are_named_and_the_others_counted(tmp_path):
    path = write(tmp_path / "train-en.tsv", None)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"x\tzz{i}\n" * (1 + (i == 10)) for i in range(11))
    said = [problem.message for problem in check_data(path).problems if problem.kind == "slip"]
    assert len(said) == 11
    assert said[10].startswith("the label 'zz9' (1 word, line ")
    assert said[0] == "1 more labels that look like slips, of 2 words"


@pytest.mark.parametrize(("tuning", "stray"), [*(("features", stray) for stray in STRAYS), ("lora", "o")])
def test_train_and_evaluate(tuning, stray, tiny_folder, tmp_path, caplog):
    path = write(tmp_path / "train-en.tsv", stray, 9)
    run = train("names", train_data=path, dev_data=path, model=str(tiny_folder), tuning=tuning, epochs=1,
                max_steps=1, out=tmp_path / "run", learning_rate=1e-9, head_learning_rate=1e-9)  # fmt: skip
    assert run.config["metrics"]["name"] == "span_f1_lenient"
    assert stray not in run.config["labels"]
    predictions = predict_run(run, path)
    assert predictions.task.metric == "span_f1"
    if stray in ("o", "0", "zzz"):
        assert f"train-en.tsv, line 38: the label {stray!r} (1 word, line 38) " in "\n".join(caplog.messages)
        assert "is not learnt and counts as an error" in "\n".join(predictions.about["data"]["warnings"])


def test_sweep(stray, tiny_folder, tmp_path, caplog):
    path = write(tmp_path / "train-en.tsv", stray, 9)
    done = run_sweep("names", train_data=path, dev_data=path, target_data=path, languages=["en"], plots=False,
                     model=str(tiny_folder), layers=[1], seeds=1, epochs=1, out=tmp_path / "sweep")  # fmt: skip
    assert done.result.task.metric == "span_f1"
    assert stray not in done.result.task.labels
    assert "span" in json.dumps((tmp_path / "sweep" / "sweep.json").read_text("utf-8"))
    if stray in ("o", "0", "zzz"):
        assert f"line 38: the label {stray!r} " in "\n".join(caplog.messages)


def test_tune(tiny_folder, tmp_path, caplog):
    pytest.importorskip("optuna")
    from dlfa_adapters.learning.tune import tune

    path = write(tmp_path / "train-en.tsv", "o", 9)
    result = tune("names", train_data=path, dev_data=path, model=str(tiny_folder), tuning="features",
                  grid={"epochs": [1]}, out=tmp_path / "best")  # fmt: skip
    assert result.run.config["metrics"]["name"] == "span_f1_lenient"
    assert "line 38: the label 'o' " in "\n".join(caplog.messages)


@pytest.mark.parametrize("slip", ["o", "zzz"])
def test_a_known_task_learns_what_it_knows_and_is_not_stopped_by_a_slip(slip, tmp_path):
    text = f"Anna\tB-PER\nsaw\tO\nAcme\tB-ORG\nin\t{slip}\nRome\tB-LOC\n\nAnn\tB-PER\nLee\tI-PER\nfell\tO\n"
    (tmp_path / "train-en.tsv").write_text(text, "utf-8")
    for labels in (None, "data", "task"):
        task = task_for("ner", load_source(tmp_path / "train-en.tsv", "ner", "train"), labels)
        assert (task.metric, set(task.labels)) == ("span_f1", set(NER.labels))


@pytest.mark.parametrize(
    ("tags", "labels", "said"),
    [
        ("B I O", ("O", "B", "I"), None),
        ("B_PER I_PER O", ("O", "B-PER", "I-PER"), "'B_PER' as 'B-PER'"),
        ("PER-B PER-I O", ("O", "B-PER", "I-PER"), "'PER-B' as 'B-PER'"),
        ("b-per i-per o", ("O", "B-per", "I-per"), "'b-per' as 'B-per'"),
        ("B-PER I-PER 0", ("O", "B-PER", "I-PER"), "'0' as 'O'"),
        ("I I O", ("O", "B", "I"), "IOB1"),
    ],
)
def test_other_notations_are_spans_too(tags, labels, said, tmp_path):
    path = tmp_path / "train-en.tsv"
    path.write_text(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(("pad", "thai", "."), tags.split(), strict=True)) + "\n",
        "utf-8",
    )
    loaded = load_source(path, "names", "train")
    task = task_for("names", loaded, None)
    assert (task.metric, task.labels) == ("span_f1", labels)
    assert [labels.index(tag) for tag in loaded.dataset["tags"][0]] == [1, 2, 0]
    assert any(said in problem.message for problem in loaded.problems) if said else not loaded.problems
    check = check_data(path)
    assert check.metric == "span_f1"
    assert list(check.entities.values()) == [1]
    report, _ = scores(path, task, FakeTagger(oracle(loaded.dataset)))
    [row] = report.table.languages
    assert (row.support, row.scores["span_f1_lenient"].value, row.scores["span_f1_strict"].value) == (1, 1.0, 1.0)
    score = kind_of_task(task).scorer()(list(loaded.dataset["tags"]), task.labels)
    assert score(torch.tensor([[1, 2, 0], [1, 1, 0], [0, 0, 0]])) == [100.0, 0.0, 0.0]


def test_tags_without_prefixes_say_that_entities_are_not_scored(tmp_path, caplog):
    path = tmp_path / "train-en.tsv"
    path.write_text("Anna\tPER\nmet\tO\nBob\tPER\n.\tO\n\nO\tO\n", "utf-8")
    result = CliRunner().invoke(app, ["data", "check", str(path)], catch_exceptions=False)
    assert "write B-PER for the first word of each and I-PER for its others" in " ".join(result.stdout.split())
    assert "scored by" in result.stdout
    load_source(path, "names", "train")
    assert "entities are not" in "\n".join(caplog.messages)


def test_items_from_python_name_their_slips_by_sentence(caplog):
    rows = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"])] * 9 + [(["a", "b"], ["O", "o"])]
    load_source(rows, "names", "train", ["en"])
    assert "en: the label 'o' (1 word, sentence 10) looks like 'O' (another case)" in "\n".join(caplog.messages)


def test_a_part_of_speech_in_another_case_is_named_and_does_not_stop_training(tmp_path, caplog):
    path = tmp_path / "train-en.tsv"
    path.write_text("Anna\tPROPN\nmet\tVERB\nBob\tPROPN\n.\tPUNCT\nand\tCCONJ\n\nsaw\tverb\nran\tVERB\n", "utf-8")
    task = task_for("pos", load_source(path, "pos", "train"), None)
    assert "verb" not in task.labels
    assert "line 7: the label 'verb' (1 word, line 7) looks like 'VERB' (another case)" in "\n".join(caplog.messages)
