"""Documents of which a model reads the first sentences: in training, in a run, and in all that uses one."""

import json

import pytest
import torch
from torch.testing import assert_close
from typer.testing import CliRunner

from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.learning.checks import check_options
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.predict.run import predict_run
from dlfa_cli.main import app

DOCUMENTS = [
    ("Anna met Bob. They left Rome. It was far.", "One."),
    ("Rome fell. So did York.", "Two."),
    ("far", "Three."),
    ("Am 3. Oktober. Bob.", "Four."),
]
READ = [("Anna met Bob.", "They left Rome."), ("Rome fell.", "So did York."), ("far", None), ("Am 3.", "Oktober.")]
GERMAN = [*READ[:3], ("Am 3. Oktober.", "Bob.")]
LABELS = ["CCAT", "ECAT", "GCAT", "MCAT"]
ROWS = [(text, label) for (text, _), label in zip(DOCUMENTS, LABELS, strict=True)] * 2
OPTIONS = {"train_data": ROWS, "dev_data": ROWS[:4], "fuse_layer": 2, "first_sentences": 2}


@pytest.fixture(scope="module", params=["features", "full"])
def trained(request, start, tmp_path_factory):
    return start("mldoc", tmp_path_factory.mktemp("mldoc") / "run", request.param, **OPTIONS)


@pytest.fixture(scope="module")
def run(trained):
    return trained[0]


def expected(run, texts):
    """Probabilities of the sentences as somebody gives them who has cut the documents by hand."""
    classifier = load_run(run)
    classifier.first_sentences = classifier.pair = None
    rows = []
    for first, second in texts:
        rows += classifier.probabilities([first], None if second is None else [second]).tolist()
    return rows


def labels(rows):
    return [LABELS[row.index(max(row))] for row in rows]


def test_the_run_says_so_and_takes_documents(run):
    assert run.config["windows"]["first_sentences"] == 2
    assert run.config["training"]["first_sentences"] == 2
    assert run.config["pair"] is False
    assert "sentencex" in run.config["versions"]


def test_training_reads_the_first_sentences(start, tmp_path, monkeypatch):
    from dlfa_adapters.kinds.classification import classifier

    read = []

    def encode(tokenizer, texts, pairs, **options):
        read.append(list(zip(texts, pairs, strict=True)))
        return encode_texts(tokenizer, texts, pairs, **options)

    monkeypatch.setattr(classifier, "encode_texts", encode)
    start("mldoc", tmp_path / "run", "features", **OPTIONS)
    assert read[:2] == [READ * 2, READ]
    start("topics", tmp_path / "other", "features", **{**OPTIONS, "language": "de", "first_sentences": 1})
    assert read[2] == [(first, None) for first, _ in GERMAN] * 2


def test_predictions_are_those_of_the_sentences(run):
    classifier = load_run(run)
    texts = [text for text, _ in DOCUMENTS]
    assert_close(classifier.probabilities(texts), torch.tensor(expected(run, READ)), atol=1e-5, rtol=0)
    assert classifier.predict(texts) == labels(expected(run, READ))
    german = classifier.probabilities(texts, language="de")
    assert_close(german, torch.tensor(expected(run, GERMAN)), atol=1e-5, rtol=0)
    assert (german[3] - classifier.probabilities(texts)[3]).abs().max() > 1e-5
    with pytest.raises(DataError, match="expected single texts, which this model was trained on"):
        classifier.predict(["One."], ["Two."])


def test_every_language_has_its_own_sentences(run, tmp_path, monkeypatch):
    from dlfa_adapters.kinds.classification import classifier

    read = []
    original = classifier.cut_documents
    monkeypatch.setattr(classifier, "cut_documents", lambda *given: read.append(original(*given)) or read[-1])
    for language in ("en", "de"):
        (tmp_path / f"test-{language}.tsv").write_text("".join(f"{b}\t{a}\n" for a, b in ROWS[:4]), "utf-8")
    found = predict_run(run, tmp_path)
    assert [each.language for each in found.languages] == ["de", "en"]
    assert [list(zip(*cut, strict=True)) for cut in read] == [GERMAN, READ]
    assert [each.predicted for each in found.languages] == [labels(expected(run, each)) for each in (GERMAN, READ)]
    assert found.languages[0].inputs[0] == (DOCUMENTS[0][0], None)  # a report has the whole document


def test_the_command_line(run, tiny_folder, tmp_path):
    def dlfa(*words):
        return json.loads(CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False).stdout)

    for language, read in (((), READ), (("--language", "de"), GERMAN)):
        rows = dlfa("predict", run.folder, DOCUMENTS[3][0], *language)
        assert [row["text"] for row in rows] == [DOCUMENTS[3][0]]
        found = [rows[0]["probabilities"][label] for label in LABELS]
        assert found == pytest.approx(expected(run, read[3:])[0], abs=1e-5)
    path = tmp_path / "english.train.1000"
    path.write_text("".join(f"{label}\t{text}\n" for text, label in ROWS), "utf-8")
    config = dlfa("train", "mldoc", "--train", path, "-m", tiny_folder, "-k", 2, "--max-steps", 1,
                  "--first-sentences", 3, "-o", tmp_path / "run")  # fmt: skip
    assert config["windows"]["first_sentences"] == 3
    assert config["data"]["train"]["language"] == "en"


def test_a_pipeline_reads_them_too(run, tmp_path):
    from transformers import pipeline

    from dlfa_adapters.predict.forms import convert_run

    rows = expected(run, READ)
    for folder in (run.folder, convert_run(run, tmp_path / "plain")):
        found = pipeline("text-classification", model=str(folder))([text for text, _ in DOCUMENTS])
        assert [row["label"] for row in found] == labels(rows)
        assert [row["score"] for row in found] == pytest.approx([max(row) for row in rows], abs=1e-5)


def test_a_sweep_reads_them(tiny_folder, tmp_path):
    from dlfa_adapters.runs import read_run
    from dlfa_adapters.sweeps import run_sweep

    for name in ("train-en.tsv", "dev-en.tsv", "test-de.tsv"):
        (tmp_path / name).write_text("".join(f"{label}\t{text}\n" for text, label in ROWS), "utf-8")
    done = {}
    for number in (None, 2):
        out = tmp_path / f"sweep-{number}"
        done[number] = run_sweep(
            "mldoc", train_data=tmp_path, model=str(tiny_folder), layers=[1], seeds=1, epochs=2, plots=False, out=out,
            first_sentences=number,
        )  # fmt: skip
        windows = read_run(out / "best").config["windows"]
        assert windows.get("first_sentences") == number
    predicted = predict_run(tmp_path / "sweep-2" / "best", tmp_path / "test-de.tsv").languages[0].predicted
    assert predicted == labels(expected(read_run(tmp_path / "sweep-2" / "best"), GERMAN * 2))


def test_an_exported_model_cannot_part_sentences(run, tmp_path):
    pytest.importorskip("onnxruntime")
    from dlfa_adapters.export import export_onnx

    with pytest.raises(ConfigError, match="which the package beside an ONNX file cannot tell apart"):
        export_onnx(run, tmp_path / "model.onnx")


def test_what_has_no_documents_refuses_them(start, tmp_path, items):
    for task, what in (("ner", "words"), ("xnli", "pairs of texts")):
        with pytest.raises(ConfigError, match=f"--first-sentences cuts documents, and {task} is for {what}; leave it"):
            check_options(task, first_sentences=2, train_data=items[task])
    with pytest.raises(ConfigError, match="first_sentences must be a whole number from 1 up, got 0"):
        check_options("mldoc", first_sentences=0, train_data=ROWS)
    with pytest.raises(ConfigError, match="cuts documents, and names has words with tags"):
        start("names", tmp_path / "run", "features", train_data=items["ner"], dev_data="none", first_sentences=2)
    with pytest.raises(DataError, match="takes single texts, but there are pairs"):
        start("twos", tmp_path / "run", "features", train_data=items["xnli"], dev_data="none", first_sentences=2)
