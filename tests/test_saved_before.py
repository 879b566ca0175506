"""What earlier versions saved loads, and computes what it computed; see `saved/format-1/README.md`.

Only the command line and names that a user may import are used, so that the package can be laid out anew.
"""

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from adapters import AutoAdapterModel
from safetensors.torch import load_file
from typer.testing import CliRunner

import dlfa_adapters
from dlfa_cli.main import app

FOLDERS = sorted(Path(__file__).parent.glob("saved/format-*"))
COMMANDS = {folder: json.loads((folder / "commands.json").read_text("utf-8")) for folder in FOLDERS}
WORDS = [["Anna", "met", "Acme", "."], ["is", "Bob", "in", "New", "York"], ["so", "far"]]
TEXTS = [" ".join(words) for words in WORDS]
INPUTS = {"ner": [WORDS], "mood": [TEXTS], "xnli": [TEXTS, TEXTS[::-1]]}


def each(kind):
    """Every saved thing of a kind, of every format."""
    found = [(folder, name) for folder in FOLDERS for name in sorted({*COMMANDS[folder].get(kind, ())})]
    if kind in ("heads", "models"):
        found = [(folder, path.name) for folder in FOLDERS for path in sorted((folder / kind).iterdir())]
    return pytest.mark.parametrize(
        ("saved", "name"), found, indirect=["saved"], ids=lambda value: getattr(value, "name", value)
    )


@pytest.fixture
def saved(request, tmp_path, monkeypatch):
    """A copy of a folder of one format; the working directory, for runs name encoder and data as they were typed."""
    shutil.copytree(request.param, tmp_path / "saved")
    monkeypatch.chdir(tmp_path / "saved")
    return request.param


every_format = pytest.mark.parametrize("saved", FOLDERS, indirect=True, ids=lambda folder: folder.name)


def check(name, model):
    """Logits are those that were saved, to the bit where Transformers by itself gives the states that it gave then.

    On another processor or with another PyTorch it does not, and neither do we.
    """
    saved = load_file("logits.safetensors")
    batch = {key: saved[key] for key in ("input_ids", "attention_mask")}
    with torch.no_grad():
        states = transformers.AutoModel.from_pretrained("encoder").eval()(**batch).last_hidden_state
        output = model.eval()(**batch)
    expected = {key.rpartition("/")[2]: value for key, value in saved.items() if key.startswith(f"{name}/")}
    assert expected
    exact = torch.equal(states, saved["states"])
    for key, value in expected.items():
        if exact:
            assert torch.equal(output[key], value), (name, key)
        torch.testing.assert_close(output[key], value, atol=1e-4, rtol=1e-4)


def dlfa(*words):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def check_holds(found, expected):
    """All that was told then is told now; there may be more."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys()
        for key, value in expected.items():
            check_holds(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            check_holds(one, two)
    else:
        assert found == (pytest.approx(expected, abs=1e-4) if isinstance(expected, float) else expected)


def test_there_is_something_saved():
    assert [folder.name for folder in FOLDERS] == ["format-1"]
    sizes = [path.stat().st_size for path in FOLDERS[0].rglob("*") if path.is_file()]
    assert sum(sizes) < 600_000


@each("heads")
def test_heads(saved, name):
    model = AutoAdapterModel.from_pretrained("encoder")
    model.load_head(f"heads/{name}", load_as="again")
    check(f"heads/{name}", model)
    if name == "text":
        assert model.get_labels() == ["z", "a", "m"]


@each("models")
def test_models(saved, name):
    if name == "with-adapter":
        model = AutoAdapterModel.from_pretrained("models/with-adapter")
        model.set_active_adapters("x")
    elif name == "tagger":
        model = dlfa_adapters.DLFAForTokenClassification.from_pretrained("models/tagger")
        auto = transformers.AutoModelForTokenClassification.from_pretrained("models/tagger")
        check("models/tagger", auto)
    else:
        model = dlfa_adapters.DLFAForSequenceClassification.from_pretrained(f"models/{name}")
    check(f"models/{name}", model)


@every_format
def test_adapters(saved):
    check("runs/ner-stack", dlfa_adapters.load_run("runs/ner-stack", language_adapter="adapters/en").model)
    model = AutoAdapterModel.from_pretrained("encoder")
    model.load_adapter("adapters/x", set_active=True)
    check("adapters/x", model)


@each("train")
def test_runs(saved, name):
    loaded = dlfa_adapters.load_run(f"runs/{name}")
    check(f"runs/{name}", loaded.model)
    expected = json.loads(Path("expected.json").read_text("utf-8"))[name]
    assert loaded.predict(*INPUTS[name.partition("-")[0]]) == expected


@every_format
def test_a_training_that_was_cut_short_goes_on(saved):
    dlfa("train", "--resume", "runs/cut-short")
    check("runs/cut-short", dlfa_adapters.load_run("runs/cut-short").model)
    assert not Path("runs/cut-short.training").exists()


@each("evaluate")
def test_a_run_evaluates_as_it_did(saved, name):
    before = json.loads(Path("evaluations", name, "evaluation.json").read_text("utf-8"))
    words = COMMANDS[saved]["evaluate"][name]
    now = json.loads(dlfa(*words[: words.index("--out")], "--json"))
    told = ("format", "task", "scores", "source_languages", "interval", "run", "languages", "means")
    check_holds(now, {key: before[key] for key in told})


@each("evaluate")
def test_a_page_of_a_saved_evaluation(saved, name):
    dlfa("report", f"evaluations/{name}", "--out", "page.html")
    page = Path("page.html").read_text("utf-8")
    assert f"runs/{name}" in page
    assert all(language in page for language in ("de", "sw"))


@every_format
def test_saved_evaluations_are_compared(saved):
    before = json.loads(Path("compared.json").read_text("utf-8"))
    now = json.loads(dlfa(*COMMANDS[saved]["compare"]))
    check_holds(now, {key: value for key, value in before.items() if not key.startswith("about")})


@each("sweep")
def test_a_sweep_called_again_ends_with_its_heads(saved, name):
    result, done = Path("sweeps", name, "sweep.json"), name != "cut-short"
    expected = json.loads((result if done else Path("expected.json")).read_text("utf-8"))
    files = {
        path: path.read_bytes() for path in Path("sweeps", name, "trainings").glob("*") if "epoch" not in path.name
    }
    assert files
    now = json.loads(dlfa(*COMMANDS[saved]["sweep"][name]))
    check_holds(now["heads"], expected["heads" if done else "sweep"])
    assert {path: path.read_bytes() for path in files} == files  # nothing that was done is done again
    if done:
        check_holds(now["table"], expected["table"])


@every_format
def test_pages_of_saved_sweeps_and_the_best_head(saved):
    for name in ("features", "full"):
        dlfa("report", f"sweeps/{name}", "--out", "page.html")
        assert "D_2" in Path("page.html").read_text("utf-8")
    best = dlfa_adapters.load_run("sweeps/features/best")
    check("sweeps/features/best", best.model)
