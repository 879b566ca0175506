"""Saved evaluations: read back as they were, by us and by the readers; whole or not at all."""

import json

import pytest
from damage import damage

from dlfa_adapters.data.readers import read_file
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.scores.compare import compare
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.saved import default_folder, prediction_names, read_evaluation, save_evaluation
from dlfa_adapters.scores.show import markdown
from dlfa_adapters.tasks import PAWSX, classification_task, tagging_task
from tests.predict.fakes import FakeClassifier, FakeTagger, ask, oracle, tagged

ODD = [
    {"language": "de", "words": ["\ufeff", "", "26 000", "#", "1-2"], "tags": ["O", "B-PER", "I-PER", "O", "O"]},
    {"language": "de", "words": ["#"], "tags": ["O"]},
    {"language": "de", "words": ["1"], "tags": ["O"]},
    {"language": "de", "words": ["\u2028"], "tags": ["B-PER"]},
    {"language": "sw", "words": ["1", "2"], "tags": ["O", "B-LOC"]},
]


def ill_formed(words):
    """Tags that a reader left to itself would take for IOB1 and rewrite."""
    return ["I-PER"] * len(words)


def save(folder, predictions):
    report = build_report(predictions, resamples=50)
    return save_evaluation(folder, predictions, report), report


def test_what_was_saved_is_read(tmp_path):
    predictions = ask(FakeTagger(ill_formed), ODD)
    folder, report = save(tmp_path / "e", predictions)
    again = read_evaluation(folder)
    assert again.task == predictions.task
    assert again.source_languages == ["en"]
    for was, now in zip(predictions.languages, again.languages, strict=True):
        assert (now.language, now.inputs, now.gold, now.predicted) == (
            was.language,
            was.inputs,
            was.gold,
            was.predicted,
        )
        assert now.fingerprint() == was.fingerprint()
    saved = json.loads((folder / "evaluation.json").read_text("utf-8"))
    del saved["files"]
    assert saved == report.to_dict()
    assert (folder / "evaluation.md").read_text("utf-8") == markdown(report)


def test_the_readers_read_the_predictions(tmp_path):
    rows = tagged("de", "Anna/B-PER Lee/I-PER met/O", "Rome/B-LOC")
    folder, _ = save(tmp_path / "e", ask(FakeTagger(oracle(rows, first=1)), rows))
    assert (folder / "predictions" / "de.tsv").read_text("utf-8") == (
        "Anna\tB-PER\tB-PER\nLee\tI-PER\tO\nmet\tO\tO\n\nRome\tB-LOC\tB-LOC\n\n"
    )
    read = read_file(folder / "predictions" / "de.tsv", tag_column=2)
    assert [item.words for item in read.items] == [["Anna", "Lee", "met"], ["Rome"]]
    assert [item.tags for item in read.items] == [["B-PER", "O", "O"], ["B-LOC"]]
    assert read_file(folder / "predictions" / "de.tsv", tag_column=1).items[0].tags == ["B-PER", "I-PER", "O"]


def test_texts_and_pairs(tmp_path):
    rows = [
        {"id": "7", "language": "de", "text": 'a "b"\tc\n', "text_pair": "NS", "label": "0", "placeholder": True},
        {"id": "8", "language": "de", "text": "\u2028x", "text_pair": "y", "label": "1"},
    ]
    predictions = ask(FakeClassifier(lambda a, b: "1", PAWSX.labels), rows, PAWSX)
    folder, _ = save(tmp_path / "e", predictions)
    again = read_evaluation(folder)
    assert again.languages == predictions.languages
    assert again.languages[0].placeholder == [True, False]
    read = read_file(folder / "predictions" / "de.jsonl")
    assert [(x.id, x.text, x.text_pair, x.label) for x in read.items] == [
        ("7", 'a "b"\tc\n', "NS", "1"),
        ("8", "\u2028x", "y", "1"),
    ]


@pytest.mark.parametrize(
    "task", [tagging_task("mine", ["A", "B"]), tagging_task("ner", ["O", "B-X", "I-X"]), classification_task("t", "ab")]
)
def test_a_task_of_ones_own_comes_back(task, tmp_path):
    if task.kind == "tagging":
        rows = tagged("de", f"x/{task.labels[1]}", f"y/{task.labels[0]}")
        predictions = ask(FakeTagger(oracle(rows), task.labels), rows, task)
    else:
        rows = [{"text": "x", "label": "a", "language": "de"}, {"text": "y", "label": "b", "language": "de"}]
        predictions = ask(FakeClassifier(lambda a, b: "b", task.labels), rows, task)
    folder, _ = save(tmp_path / "e", predictions)
    again = read_evaluation(folder)
    assert again.task.labels == task.labels
    assert again.task.metric == task.metric
    assert build_report(again, resamples=50).table.means == build_report(predictions, resamples=50).table.means


def test_comparing_saved_evaluations_is_comparing_predictions(tmp_path):
    a, b = ask(FakeTagger(oracle(ODD)), ODD), ask(FakeTagger(ill_formed), ODD)
    saved = [read_evaluation(save(tmp_path / name, each)[0]) for name, each in (("a", a), ("b", b))]
    assert compare(*saved).languages == compare(a, b).languages
    assert compare(*saved).means == compare(a, b).means


@pytest.mark.parametrize("language", ["../../x", "a/b", "", ".", "..", "C:\\x", "x" * 300, "日本", "con\0"])
def test_odd_language_names_stay_inside(language, tmp_path):
    rows = [{**row, "language": language} for row in tagged("de", "Anna/B-PER", "x/O")]
    rows = [row if row["language"] else {"words": row["words"], "tags": row["tags"]} for row in rows]
    folder, _ = save(tmp_path / "deep" / "e", ask(FakeTagger(oracle(rows)), rows))
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["e"]
    assert len(list((folder / "predictions").iterdir())) == 1
    assert read_evaluation(folder).languages[0].language == (language or "und")


def test_file_names_are_distinct_where_case_does_not_count():
    assert prediction_names(["de", "DE", "zh-min-nan", "../x", "eng_Latn"]) == [
        "de",
        "language.2",
        "zh-min-nan",
        "language.4",
        "eng_Latn",
    ]
    names = prediction_names(["language_2", "../x", "language-2", "LANGUAGE_2"])
    assert len({name.lower() for name in names}) == 4


def test_an_earlier_evaluation_is_replaced_whole(tmp_path):
    save(tmp_path / "e", ask(FakeTagger(oracle(ODD)), ODD))
    rows = tagged("nl", "Anna/B-PER", "x/O")
    folder, _ = save(tmp_path / "e", ask(FakeTagger(oracle(rows)), rows))
    assert [path.name for path in (folder / "predictions").iterdir()] == ["nl.tsv"]
    assert [path.name for path in tmp_path.iterdir()] == ["e"]


def test_a_word_that_cannot_stand_in_columns_leaves_the_earlier_evaluation(tmp_path):
    folder, _ = save(tmp_path / "e", ask(FakeTagger(oracle(ODD)), ODD))
    before = (folder / "evaluation.json").read_bytes()
    rows = [{"language": "de", "words": ["a\tb"], "tags": ["O"]}]
    with pytest.raises(DataError, match="would not be read back"):
        save(tmp_path / "e", ask(FakeTagger(oracle(rows)), rows))
    assert (folder / "evaluation.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["e"]


def test_something_else_in_the_way_is_left_alone(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("text")
    (tmp_path / "file").write_text("text")
    for name in ("thesis", "file"):
        with pytest.raises(ConfigError, match="exists and is not a saved evaluation"):
            save(tmp_path / name, ask(FakeTagger(oracle(ODD)), ODD))
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "text"


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damage("evaluation.json", "missing"), "lacks evaluation.json"),
        (damage("evaluation.json", "cut"), "is damaged"),
        (damage("evaluation.json", "[]"), "is damaged"),
        (damage("evaluation.json", '{"format": 1}'), "is damaged"),
        (damage("evaluation.json", "[" * 100_000), "is damaged"),
        (damage("evaluation.json", '{"format": 1, "task": {}, "files": {}, "source_languages": 7}'), "is damaged"),
        (damage("evaluation.json", '{"format": 99}'), "has evaluation format 99"),
        (damage("predictions/de.tsv", "missing"), "lacks de.tsv"),
        (damage("predictions/de.tsv", "cut"), "is not the file that was written"),
    ],
)
def test_a_harmed_evaluation_is_one_sentence(harm, message, tmp_path):
    folder, _ = save(tmp_path / "e", ask(FakeTagger(oracle(ODD)), ODD))
    harm(folder)
    with pytest.raises(RunError, match=message) as caught:
        read_evaluation(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("samples:ner", "samples-ner-dev"),
        ("hub:panx", "hub-panx-dev"),
        ("/data/xtreme/panx/", "panx-dev"),
        ("../odd name?.tsv", "odd-name-tsv-dev"),
        ("..", "data-dev"),
    ],
)
def test_the_default_place_is_beside_the_run(source, name, tmp_path):
    assert default_folder(tmp_path / "runs" / "r", source, "dev") == tmp_path / "runs" / "r-evaluated" / name
