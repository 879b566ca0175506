"""What is left out of an evaluation stands in its result with the reason: on the screen, in JSON, in Markdown."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dlfa_adapters
from dlfa_adapters.data.assemble import REASONS
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.show import notes
from dlfa_adapters.sweeps.prepare import Request, _targets
from dlfa_adapters.tasks import NER
from dlfa_cli.main import app

TSV = "Anna\tB-PER\nmet\tO\nBob\tB-PER\n\nRome\tB-LOC\nfell\tO\n"
FILES = {
    "test-de.tsv": "-DOCSTART-\tO\n\n" + TSV + ".\to\n",
    "zh-min-nan/test.tsv": TSV,
    "train-en.tsv": TSV,
    "notes/more-de.tsv": TSV,
    "test-fr.tsv.zip": "",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "data"


def test_it_stands_in_every_form_of_the_result(tiny_run, folder, tmp_path):
    given = ["evaluate", str(tiny_run.run.folder), "--data", str(folder), "--resamples", "5"]
    screen = CliRunner().invoke(app, [*given, "--markdown", str(tmp_path / "r.md")], catch_exceptions=False).stdout
    report = json.loads(CliRunner().invoke(app, [*given, "--json"], catch_exceptions=False).stdout)
    assert [row["language"] for row in report["languages"]] == ["de", "zh-min-nan"]
    assert report["data"]["dropped"] == {"docstart_marker": 1, "file_not_taken": 2}
    files, slip = report["data"]["remarks"]
    for said in (screen, (tmp_path / "r.md").read_text("utf-8")):
        assert "Left out: files (2), -DOCSTART- rows (1)." in said
        assert f"{files}." in said
        assert f"{slip}." in said
    assert "2 files of the folder were not taken" in files
    assert files.endswith("notes/more-de.tsv, test-fr.tsv.zip")
    assert "test-de.tsv, line 9: the label 'o' (1 word, line 9) looks like 'O' (another case)" in slip
    assert report["languages"][0]["unknown_gold_labels"] == {"o": 1}
    assert report["languages"][0]["support"] == 4  # three spans, and the slip, which is missed


def test_sentences_without_words_and_items_in_other_languages_are_counted(tiny_run):
    rows = [{"words": w, "tags": t, "language": "de"} for w, t in ((["Rom"], ["B-LOC"]), ([], []), (["a"], ["O"]))]
    rows.append({"words": ["York"], "tags": ["B-LOC"], "language": "en"})
    predictions = predict_run(tiny_run.run, rows, languages=["de"])
    assert predictions.about["data"]["dropped"] == {"other_language": 1, "no_words": 1}
    assert [language.language for language in predictions.languages] == ["de"]
    said = "\n".join(notes(build_report(predictions, resamples=5)))
    assert "Left out: items in languages that were not asked for (1), sentences without words (1)." in said


def test_languages_that_are_asked_for_and_absent_are_an_error(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("de:Rom\tB-LOC\n\nsw:Roma\tB-LOC\n\n", "utf-8")
    assert load_source(path, "ner", languages=["sw"]).dropped == {"other_language": 1}
    with pytest.raises(DataError, match="expected items in fr, but there are items in de, sw"):
        load_source(path, "ner", languages=["de", "fr"])
    with pytest.raises(DataError, match="expected items in fr, but there are items in de"):
        load_source([{"words": ["Rom"], "tags": ["B-LOC"], "language": "de"}], "ner", languages=["fr"])
    with pytest.raises(DataError, match="expected items in de, sw, but there are items in und"):
        load_source([(["Rom"], ["B-LOC"])], "ner", languages=["de", "sw"])


def test_a_sweep_keeps_it_too(folder):
    request = Request(task="ner", target_data=folder)
    _, described, *_ = _targets(request, NER, folder)
    assert described["dropped"] == {"docstart_marker": 1, "file_not_taken": 2}
    assert "2 files of the folder were not taken" in described["remarks"][0]


def test_many_remarks_are_cut_on_the_screen_and_counted(tiny_run):
    rows = [
        {"words": ["Rom", "a", "b"], "tags": ["B-LOC", "O", "o"], "language": f"q{chr(97 + i // 5)}{chr(97 + i % 5)}"}
        for i in range(25)
    ]
    report = build_report(predict_run(tiny_run.run, rows), resamples=5)
    assert len(report.about["data"]["remarks"]) == 25
    said = notes(report)
    assert sum("looks like 'O'" in note for note in said) == 20
    assert "There are 5 more remarks on the data; the JSON report has all." in said


def test_every_reason_has_words():
    code = "".join(path.read_text("utf-8") for path in Path(dlfa_adapters.__file__).parent.rglob("data/**/*.py"))
    assert set(re.findall(r'\.drop\(\s*"([a-z_]+)"', code)) - set(REASONS) == set()
