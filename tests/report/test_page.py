"""The HTML report: it shows what the report holds, loads nothing, and nothing that is in the data becomes HTML."""

import json
import os
import re
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.kinds import SpanF1
from dlfa_adapters.report import report_page, write_report
from dlfa_adapters.report.page import render_page
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.report import Report
from dlfa_adapters.scores.saved import read_report
from dlfa_adapters.scores.show import percent
from dlfa_adapters.scores.translations import EARLIER
from dlfa_adapters.tasks import POS, XNLI, tagging_task
from dlfa_cli.main import app
from tests.predict.fakes import tagged
from tests.report.pages import HOSTILE, evaluate, make_run, predict, rows, sweep


class Seen(HTMLParser):
    """Elements with their attributes, and the text outside scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.inside = [], [], []
        self.feed(html)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.texts.append(data)


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "ner-demo")


def page(source):
    return Seen(write_report(source).read_text("utf-8"))


def test_a_run_with_its_evaluation(run):
    folder = evaluate(run)
    file = write_report(run.folder)
    assert file == run.folder.with_name("ner-demo.html")
    seen = Seen(file.read_text("utf-8"))
    report = read_report(folder)
    for row in [*report.table.languages, *report.table.means]:
        for score in row.scores.values():
            assert percent(score.value) in seen.text
            if score.low is not None:
                assert f"{percent(score.low)}–{percent(score.high)}" in seen.text
    words = sum(row.words_total for row in report.table.languages)
    for expected in (
        f"{words} of {words} words were scored.",
        "Indo-European", "other families",  # averages, and how they were made
        "50 resamples", "Languages are resampled one by one",
        "سافرت", "ليلى حداد", "李明", "मीरा जोशी", "דנה לוי",  # examples, in their scripts
        "seed 3", "source samples:ner", "sha256 c0ffee", "encoder offline; head dlfa of layer 8",  # configuration
        report.table.languages[0].fingerprint, "torch",
    ):  # fmt: skip
        assert expected in re.sub(r" (?=[.,])", "", seen.text) or expected in seen.text, expected


def test_every_evaluation_of_the_model_is_shown_and_none_of_an_earlier_one(run, tmp_path):
    evaluate(run, source="old")
    again = make_run(run.folder, seed=4)
    evaluate(again, source="first")
    evaluate(again, source="second")
    seen = page(run.folder)
    assert [title for title in ("first (test)", "second (test)", "old (test)") if title in seen.text] == [
        "first (test)",
        "second (test)",
    ]
    assert "old-test is of an earlier training under this name and is left out" in seen.text


def test_a_run_that_was_not_evaluated(run):
    with pytest.raises(RunError, match=rf"type: dlfa evaluate {run.folder} --data samples:ner --save"):
        write_report(run.folder)
    evaluate(run)
    make_run(run.folder, seed=4)
    with pytest.raises(RunError, match="no saved evaluation of its present model"):
        write_report(run.folder)
    assert not run.folder.with_name("ner-demo.html").exists()


def test_an_evaluation_alone_and_with_its_run(run, tmp_path):
    folder = evaluate(run, folder=tmp_path / "elsewhere" / "e")
    assert "seed 3" in page(folder).text  # the configuration of the run, which is still there
    make_run(run.folder, seed=4)
    seen = page(folder)
    assert "10 items" not in seen.text
    assert "seed 4" not in seen.text
    assert "Scores by language" in seen.text


def test_what_cannot_be_reported(run, tmp_path):
    with pytest.raises(RunError, match="There is no run folder"):
        write_report(tmp_path / "nothing")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "plan.json").write_text("{}", "utf-8")
    with pytest.raises(RunError, match="has not finished; call dlfa sweep again"):
        write_report(tmp_path / "half")
    with pytest.raises(ConfigError, match="give a file with --out"):
        write_report("/")
    folder = evaluate(run)
    whole = json.loads((folder / "evaluation.json").read_text("utf-8"))
    for harm in ({"languages": None}, {"languages": [{}]}, {"means": 3}, {"scores": None}, {"languages": []}):
        (folder / "evaluation.json").write_text(json.dumps({**whole, **harm}), "utf-8")
        with pytest.raises(RunError) as caught:
            write_report(folder)
        assert "\n" not in str(caught.value)


def test_the_command(run, tmp_path):
    evaluate(run)
    done = CliRunner().invoke(app, ["report", str(run.folder), "--out", str(tmp_path / "r.html")])
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'r.html'}\n")
    assert (tmp_path / "r.html").read_text("utf-8").startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.skipif(os.name == "nt", reason="names that Windows does not have")
def test_nothing_in_the_data_becomes_html(tmp_path):
    evil = '"><img src=x onerror=window.hacked=1>'
    harmless = Seen(write_report(_hostile(tmp_path / "a", "word", "PER", "xx")).read_text("utf-8"))
    hostile = Seen(write_report(_hostile(tmp_path / f"b{HOSTILE.replace('/', '')}", HOSTILE, evil, evil)).read_text())
    assert HOSTILE in hostile.text.replace(" ", "")
    assert evil.replace(" ", "") in hostile.text.replace(" ", "")
    count = [sorted((tag, *sorted(attributes)) for tag, attributes in seen.elements) for seen in (harmless, hostile)]
    assert count[0] == count[1]
    assert not [name for _, attributes in hostile.elements for name in attributes if name.startswith("on")]


def _hostile(folder, word, kind, language):
    data = [{"id": word, "language": language, "words": [word, "x", "\x1b[2J\x00", "\ud800"],
             "tags": [f"B-{kind}", f"I-{kind}", "O", f"B-{kind}"]}]  # fmt: skip
    task = tagging_task("names", ["O", f"B-{kind}", f"I-{kind}"])
    run = make_run(folder, encoder={"name": word, "fingerprint": "1"}, note={word: [word]})
    data[0]["words"][3] = "\u202e"  # a lone surrogate cannot be saved; an override of the direction can
    evaluate(run, predict(data, task, first=3), source=f"{word}")
    return run.folder


def test_control_characters_and_surrogates_of_a_file_are_shown_as_escapes(tmp_path):
    folder = sweep(tmp_path / "s", encoder={"name": "a\u0000b\ud800c\u001b"})
    assert r"a\x00b\ud800c\x1b" in page(folder).text


@pytest.mark.parametrize("kind", ["run", "sweep"])
def test_the_page_loads_nothing(kind, run, tmp_path):
    evaluate(run)
    seen = page(run.folder if kind == "run" else sweep(tmp_path / "s"))
    assert all(attributes.get("href", "#").startswith("#") for _, attributes in seen.elements)
    assert not [tag for tag, attributes in seen.elements if "src" in attributes or tag in ("link", "img", "iframe")]
    assert [tag for tag, _ in seen.elements].count("script") == 1
    anchors = {attributes.get("id") for _, attributes in seen.elements}
    assert {attributes["href"][1:] for _, attributes in seen.elements if "href" in attributes} <= anchors


def test_types_of_spans_and_their_whole(run):
    data = rows({"en": ["Anna/B-PER Lee/I-PER met/O Bob/B-PER"], "de": ["Rom/B-LOC und/O Bonn/B-LOC"]})
    evaluate(run, predict(data, first=1))
    [part] = report_page(run.folder).evaluations
    assert part.types.types == ["LOC", "PER"]
    assert part.types.languages == {"en": [None, 0.0], "de": [pytest.approx(2 / 3), None]}
    assert part.pooled == "de"  # the target language
    whole = SpanF1().compute(predictions=[["B-LOC", "O", "O"]], references=[["B-LOC", "O", "B-LOC"]])
    assert part.types.whole == whole["lenient"]["per_type"]


def test_confusion_of_tags(tmp_path):
    run = make_run(tmp_path / "pos", task="pos", labels=list(POS.labels))
    data = tagged("de", "Anna/PROPN schläft/VERB tief/ADV") + tagged("fr", "la/DET la/DET la/X")
    evaluate(run, predict(data, POS, answer=lambda words: ["NOUN" if w != "la" else "DET" for w in words]))
    [part] = report_page(run.folder).evaluations
    table = part.confusion
    assert table.labels == [label for label in POS.labels if label in ("ADV", "DET", "NOUN", "PROPN", "VERB", "X")]
    count = {
        (gold, said): table.counts[i][j]
        for i, gold in enumerate(table.labels)
        for j, said in enumerate(table.labels)
        if table.counts[i][j]
    }
    assert count == {("ADV", "NOUN"): 1, ("PROPN", "NOUN"): 1, ("VERB", "NOUN"): 1, ("DET", "DET"): 2, ("X", "DET"): 1}
    assert table.frequent["fr"] == [("X", "DET", 1)]
    assert sum(table.shares[table.labels.index("DET")]) == 1


def test_many_labels_are_put_together(tmp_path):
    labels = [f"T{i:02}" for i in range(40)]
    task = tagging_task("many", labels)
    data = [{"language": "de", "words": ["w"] * 41, "tags": [*labels, "T00"]}]
    evaluate(make_run(tmp_path / "many"), predict(data, task, first=41))
    [part] = report_page(tmp_path / "many").evaluations
    assert len(part.confusion.labels) == 24
    assert part.confusion.labels[-1] == "(others)"
    assert sum(map(sum, part.confusion.counts)) == 41


def test_texts_and_pairs(tmp_path):
    run = make_run(tmp_path / "xnli", task="xnli", labels=list(XNLI.labels))
    data = [
        {"language": "ar", "text": "يمشي الرجل", "text_pair": "الرجل نائم", "label": "contradiction"},
        {"language": "ar", "text": "a " * 100, "text_pair": "b", "label": "neutral"},
    ]
    evaluate(run, predict(data, XNLI, answer=lambda *_: "neutral"))
    seen = page(run.folder)
    assert "the model says neutral , gold is contradiction" in seen.text
    assert "… 40 more words" in seen.text
    assert {"dir": "rtl", "lang": "ar", "class": "line"} in [attributes for _, attributes in seen.elements]


def test_a_report_is_read_back_as_it_was():
    report = build_report(predict(), resamples=20)
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_a_sweep(tmp_path):
    seen = page(sweep(tmp_path / "ner-sweep"))
    for expected in (
        "35.0 [31.0, 39.0] span F1 (lenient) of D_3, picked on source dev; mean over targets (without en)",
        "D_3 is best on dev data of the source language", "3 seeds", "+35.0", "+33.0 to +37.0, p 0.040", "± 0.7",
        "Dashed: last: 5.0, from 1.0 to 9.0.",
    ):  # fmt: skip
        assert expected in seen.text, expected
    part = report_page(tmp_path / "ner-sweep").sweep
    assert [point.name for point in part.chart.points] == ["1", "2", "3", "4"]
    assert [row.name for row in part.heat] == ["en", "de", "sw", "targets (without en)", "all (with en)"]
    assert [row.best for row in part.heat] == [0.45, 0.44, 0.43, 0.45, 0.45]
    assert {max(row.shades) for row in part.heat} == {100, 97.6, 95.2}


def test_a_sweep_of_many_heads_on_parallel_data(tmp_path):
    """Intervals and p of differences are for all heads at once, and languages are said to be drawn together."""
    folder = sweep(tmp_path / "ner-sweep")
    seen = page(folder).text
    assert "for each head alone: of twenty one seems to differ where none does" in seen
    assert EARLIER.sentence in seen
    whole = json.loads((folder / "sweep.json").read_text("utf-8"))
    for line in whole["table"]["lines"]:
        for found in line["against"]["targets"].values():
            found.update(simultaneous_low=found["low"] - 1, simultaneous_high=found["high"] + 1, adjusted_p=0.3)
    sentence = "Languages are resampled together: items are translations of each other (by sent_id)."
    whole["table"]["drawn"] = {"together": True, "by": "sent_id", "shared": 9, "alone": 0, "sentence": sentence}
    (folder / "sweep.json").write_text(json.dumps(whole), "utf-8")
    seen = page(folder).text
    for expected in ("+32.0 to +38.0, p 0.300", "are for all 4 heads at once (max-T)", sentence):
        assert expected in seen, expected
    assert "for each head alone" not in seen
    assert EARLIER.sentence not in seen


@pytest.mark.parametrize(
    "harm",
    [
        {"format": 99}, {"table": None}, {"table": {}}, {"best": {"name": "D_9"}}, {"encoder": 3}, {"sources": None},
        {"task": []},
    ],
)  # fmt: skip
def test_a_damaged_sweep(harm, tmp_path):
    with pytest.raises(RunError, match=r"sweep format 99|is damaged"):
        render_page(report_page(sweep(tmp_path / "s", **harm)))


def test_a_sweep_file_that_is_no_json(tmp_path):
    (tmp_path / "sweep.json").write_text("{", "utf-8")
    with pytest.raises(RunError, match="is damaged"):
        write_report(tmp_path)
