"""ONNX files: the same tags and labels without PyTorch, of every kind of run; and what differs is not written."""

import ast
import json
import subprocess
import sys

import pytest
import torch

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from dlfa_adapters.export import export_onnx
from dlfa_adapters.export import onnx as exporting
from dlfa_adapters.export.files import sources
from dlfa_adapters.ground.errors import ConfigError, DataError, MissingExtraError, RunError
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.kinds.onnx_form import OnnxForm
from dlfa_adapters.kinds.parsing.onnx import OnnxParser
from dlfa_adapters.learning import train
from dlfa_adapters.predict.load import load_run

TAGGED = [(["Anna", "met", "Bob", "in", "Rome"], ["B-PER", "O", "B-PER", "O", "B-LOC"]), (["far"], ["O"])] * 2
PAIRS = [("Anna met Bob", "far", "neutral"), ("in Rome", "New York is far", "entailment")] * 2
DATA = {"ner": TAGGED, "xnli": PAIRS, "parse": "trees.conllu"}
TREES = """\
1\tAnna\t_\tPROPN\t_\t_\t2\tnsubj\t_\t_
2\tmet\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tBob\t_\tPROPN\t_\t_\t2\tobj\t_\t_

1\tin\t_\tADP\t_\t_\t2\tcase\t_\t_
2\tRome\t_\tPROPN\t_\t_\t0\troot\t_\t_

"""
SENTENCES = [["Rome"], [], ["New", "York"] * 60, ["", "x" * 400, "\u200b", "</s>", "\ud800"], ["Anna", "met", "Bob"]]
TEXTS = (
    ["Anna", "", "far " * 90, "Bob met \ud800", "a[SEP][SEP]b", ""],
    ["met", "Rome", "New York " * 90, "", "[PAD]", ""],
)

WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = sys.modules["transformers"] = sys.modules["dlfa_adapters"] = None
sys.path.insert(0, sys.argv[1])
from dlfa_onnx import load
print(json.dumps(load(sys.argv[2]).predict(*json.load(sys.stdin))))
"""


RUNS = [
    "ner full", "ner lora pooling=mean", "ner bottleneck pooling=last", "ner full classifier=bilstm", "xnli features",
    "parse full", "parse peft-lora pooling=mean", "parse bottleneck classifier=bilstm pooling=last",
]  # fmt: skip


@pytest.fixture(scope="module", params=RUNS)
def exported(request, tiny_folder, tmp_path_factory, no_shape_checks):
    """A run, and the file that was made of it."""
    task, tuning, *options = request.param.split()
    folder = tmp_path_factory.mktemp("export")
    (folder / "trees.conllu").write_text(TREES * 4, "utf-8")
    data = str(folder / DATA[task]) if isinstance(DATA[task], str) else DATA[task]
    run = train(
        task, train_data=data, language="en", model=str(tiny_folder), tuning=tuning, out=folder / "run",
        epochs=1, learning_rate=1e-1, batch_size=4, max_length=32, **dict(option.split("=") for option in options),
    )  # fmt: skip
    return run, export_onnx(run, folder / "onnx" / "model.onnx")


def without_torch(file, *inputs, program=WITHOUT_TORCH):
    """What the written package predicts in a process that cannot import torch, transformers or dlfa_adapters."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(file.parent), str(file)],
        input=json.dumps(inputs), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_same_predictions_without_pytorch(exported):
    run, written = exported
    assert written.difference < 1e-4
    assert {path.name for path in written.file.parent.iterdir()} == {
        "model.onnx", "model.json", "tokenizer.json", "dlfa_onnx",
    }  # fmt: skip
    inputs = TEXTS if run.config["task"] == "xnli" else (SENTENCES,)
    want = load_run(run).predict(*inputs)
    if run.config["task"] == "parse":
        want = [[[arc.head, arc.deprel] for arc in arcs] for arcs in want]
    assert without_torch(written.file, *inputs) == want
    assert len({str(label) for row in want for label in ([row] if isinstance(row, str) else row)}) > 1


THREADED = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, sys.argv[1])
from dlfa_onnx import load
model, inputs = load(sys.argv[2]), json.load(sys.stdin)
with ThreadPoolExecutor(8) as threads:
    print(json.dumps(list(threads.map(lambda _: model.predict(*inputs), range(320)))))
"""


@pytest.mark.parametrize("exported", ["ner full", "xnli features"], indirect=True)
def test_many_threads_get_equal_answers(exported):
    run, written = exported
    inputs = (SENTENCES,) if run.config["task"] == "ner" else TEXTS
    want = load_run(run).predict(*inputs)
    assert all(found == want for found in without_torch(written.file, *inputs, program=THREADED))


@pytest.mark.parametrize(
    ("exported", "wrong"), [("ner full", ["Rome"]), ("xnli features", "Rome")], indirect=["exported"]
)
def test_a_string_in_the_place_of_a_list_is_refused(exported, wrong):
    with pytest.raises(AssertionError, match=r"DataError: expected .*, got the text 'Rome'; "):
        without_torch(exported[1].file, wrong)


@pytest.mark.parametrize("exported", ["ner full"], indirect=True)
def test_another_models_tokenizer_is_not_overwritten(exported, tmp_path):
    run, _ = exported
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ConfigError, match="a folder of its own"):
        export_onnx(run, tmp_path / "x.onnx")


@pytest.mark.parametrize("exported", ["ner full"], indirect=True)
def test_what_differs_is_not_written(exported, tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "TOLERANCE", -1.0)
    with pytest.raises(RunError, match="differ from PyTorch's"):
        export_onnx(exported[0], tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())


class ByInput(torch.nn.Module):
    """Its path through the code depends on what it reads, which a trace does not see."""

    def forward(self, input_ids, attention_mask):
        logits = torch.stack((input_ids, attention_mask), -1).float()
        if attention_mask.sum() > 100:
            logits = logits * 2
        return type("Output", (), {"logits": logits})


def test_a_path_that_depends_on_the_input_shows(tmp_path):
    graph = exporting.TensorsOnly(ByInput(), OnnxForm(by_piece=True), segments=False)
    config = type("Config", (), {"vocab_size": 50})
    batches = list(exporting.trial_batches(config, 128, 0, graph))
    exporting.trace(graph, batches[0], tmp_path / "x.onnx")
    assert exporting.largest_difference(graph, tmp_path / "x.onnx", batches[:2]) == 0
    assert exporting.largest_difference(graph, tmp_path / "x.onnx", batches) > 1
    with pytest.raises(ValueError, match="zip"):  # a mistake in a line of ours is not said to be the file's
        exporting.largest_difference(graph, tmp_path / "x.onnx", [batches[0][:1]])


@pytest.mark.parametrize("name", sources())
def test_a_module_beside_a_model_imports_no_other_than_those(name):
    tree = ast.parse(sources()[name].read_text("utf-8"))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    ours = {module.rpartition(".")[2] for module in modules if module.startswith("dlfa_adapters.")}
    assert ours <= sources().keys()


def test_trial_batches_have_padding_one_token_and_a_whole_window():
    config = type("Config", (), {"vocab_size": 50})
    graph = exporting.TensorsOnly(ByInput(), OnnxForm(by_piece=True), segments=True)
    batches = list(exporting.trial_batches(config, 16, 1, graph))
    assert [tuple(ids.shape) for ids, *_ in batches] == [(2, 5), (1, 1), (1, 16), (3, 16), (9, 3)]
    for ids, mask, types in batches:
        assert torch.equal(ids == 1, mask == 0)  # padding is where the mask says so, and nowhere else
        assert (types <= mask).all()


@pytest.fixture(scope="module")
def tagged_parser(tiny_model, tmp_path_factory, no_shape_checks):
    """A graph of a parser that reads parts of speech, its file, and inputs to try it with."""
    model = tiny_model()
    model.add_dlfa_head("parse", 2, upos_size=3)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.heads["parse"].inner.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
    form = kind_named("parsing").onnx_form(model.heads["parse"].config, model.get_labels("parse"))
    graph = exporting.TensorsOnly(model, form, segments=False).eval()
    file = tmp_path_factory.mktemp("tagged") / "x.onnx"
    batches = list(exporting.trial_batches(model.config, 32, 0, graph))
    exporting.trace(graph, batches[0], file)
    return graph, file, batches


def test_a_parser_that_reads_parts_of_speech(tagged_parser):
    graph, file, batches = tagged_parser
    assert graph.inputs == ["input_ids", "attention_mask", "word_ids", "word_mask", "upos_ids"]
    assert exporting.largest_difference(graph, file, batches) < 1e-5
    for ids, mask, word_ids, words, upos in batches:
        assert not word_ids[mask == 0].any()
        assert torch.equal(words.sum(1), word_ids.amax(1))
        assert words[:, 0].all()
        assert not upos[words == 0].any()
        assert ids.shape == word_ids.shape
    assert any(
        (torch.bincount(row[row > 0]) > 1).any() for batch in batches for row in batch[2]
    )  # words of several pieces


@pytest.mark.parametrize("wrong", ["an arc", "a relation", "a mask", "no number"])
def test_what_differs_of_a_parser_shows(wrong, tagged_parser):
    graph, _, batches = tagged_parser
    given = dict(zip(graph.inputs, batches[3], strict=True))
    with torch.no_grad():
        logits, found = graph.logits(*batches[3]), list(graph(*batches[3]))
    assert graph.form.difference(found, logits, given) == 0
    if wrong == "a relation":
        found[1] = found[1].clone()
        found[1][0, 0, 1] = logits[1][0, 0, 1].argmin()
    else:
        found[0] = found[0].clone()
        found[0][0, 0, 1] = {"an arc": 99.0, "a mask": -torch.inf, "no number": torch.nan}[wrong]
    assert not graph.form.difference(found, logits, given) <= 0.01


def test_parts_of_speech_for_an_exported_parser():
    parser = OnnxParser.__new__(OnnxParser)
    parser.about = {"inputs": ["upos_ids"], "upos": ["ADJ", "NOUN"]}
    assert parser._upos([["a", "b"], []], [["NOUN", "ADJ"], []]) == [[2, 1], []]
    for wrong in (None, [["NOUN"], []], [["NOUN", "_"], []]):
        with pytest.raises(DataError, match="expected one of ADJ, NOUN for each word"):
            parser._upos([["a", "b"], []], wrong)


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"something\.onnx"):
        export_onnx("run", tmp_path / "model")
    with pytest.raises(RunError, match="no run folder"):
        export_onnx(tmp_path / "run", tmp_path / "model.onnx")
    monkeypatch.setattr("dlfa_adapters.export.files.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dlfa-adapters\[onnx\]'"):
        export_onnx("run", tmp_path / "model.onnx")
