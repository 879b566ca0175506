"""A fusion from outside the library with an option of its own: trained, swept, saved, loaded, exported, and typed."""

import json
import re
import sys
from dataclasses import dataclass
from typing import Literal

import pytest
import torch
from typer.testing import CliRunner

from dlfa_adapters.fusion import FUSIONS, Fusion, register_fusion
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning import train
from dlfa_adapters.models import DLFAForTokenClassification
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.sweeps import run_sweep
from dlfa_adapters.sweeps.table import read_sweep

TAGGED = [
    (["Anna", "met", "Bob", "in", "Rome"], ["B-PER", "O", "B-PER", "O", "B-LOC"]),
    (["far"], ["O"]),
    (["Rome", "met", "Anna"], ["B-LOC", "O", "B-PER"]),
] * 2
WORDS = [words for words, _ in TAGGED]


@dataclass(frozen=True)
class PowerOptions:
    """Options of the power mean.

    Attributes:
        exponent: Which power the states are raised to,
            and the root of their mean.
        signs: What becomes of the signs.
    """

    exponent: int | float = 2
    signs: Literal["kept", "dropped"] = "kept"


class PowerMean(Fusion):
    """The power mean of the states, times a learned scale."""

    def __init__(self, hidden_size, *, num_layers, num_lower, exponent, signs):
        super().__init__()
        self.exponent, self.signs = exponent, signs
        self.scale = torch.nn.Parameter(torch.ones(hidden_size))

    def forward(self, *states, attention_mask=None):
        stacked = torch.stack(states)
        mean = (stacked.abs() + 1e-3).pow(self.exponent).mean(0).pow(1 / self.exponent)
        signs = torch.sign(stacked.sum(0)) if self.signs == "kept" else 1
        return mean * signs * self.scale

    def reset_parameters(self):
        torch.nn.init.ones_(self.scale)


@pytest.fixture(autouse=True)
def power(registries):
    register_fusion("power", PowerMean, options=PowerOptions)


@pytest.fixture
def trained(tiny_folder, tmp_path):
    """trained("features", exponent=3): a run."""

    def run(tuning, **options):
        given = {"epochs": 1, "batch_size": 4, "learning_rate": 1e-2, "max_length": 32, "fuse_layer": 2}
        return train(
            "ner", train_data=TAGGED, dev_data=TAGGED[:3], language="en", model=str(tiny_folder), tuning=tuning,
            out=tmp_path / "run", fusion="power", **{**given, **options},
        )  # fmt: skip

    return run


@pytest.mark.parametrize("tuning", ["features", "full"])
def test_it_is_trained_saved_and_loaded(tuning, trained):
    run = trained(tuning, exponent=3, signs="dropped")
    assert (run.config["training"]["exponent"], run.config["training"]["signs"]) == (3, "dropped")
    assert "gate" not in run.config["training"]
    tagger = load_run(run.folder)
    head = tagger.model.heads["ner"]
    assert (head.fusion.exponent, head.fusion.signs, head.config["exponent"]) == (3, "dropped", 3)
    assert "gate" not in head.config
    tags = tagger.predict(WORDS)
    head.fusion.scale.data.mul_(-50.0)
    assert tagger.predict(WORDS) != tags  # the fusion is in use


@pytest.mark.parametrize("tuning", ["features", "full", "peft-lora"])
def test_a_run_with_a_fusion_that_was_not_imported_says_so(tuning, trained):
    run = trained(tuning, exponent=3)
    del FUSIONS["power"]
    with pytest.raises(
        ConfigError, match=r"got 'power'\. One of your own is among them when the module that calls regis"
    ):
        load_run(run.folder)


def test_a_saved_head_is_the_same_again(tiny_model, batch, tmp_path):
    model = tiny_model()
    model.add_dlfa_head("ner", fuse_layer=2, fusion="power", exponent=4)
    model.save_head(str(tmp_path), "ner")
    config = json.loads((tmp_path / "head_config.json").read_text("utf-8"))["config"]
    assert (config["fusion"], config["exponent"], config["signs"]) == ("power", 4, "kept")
    again = tiny_model()
    again.load_head(str(tmp_path))
    assert torch.equal(again(**batch).logits, model(**batch).logits)
    del FUSIONS["power"]
    with pytest.raises(ConfigError, match=r"fusion must be one of dlfa, last, .*; got 'power'"):
        tiny_model().load_head(str(tmp_path))


def test_a_plain_model_has_it_too(tiny_folder, tmp_path):
    batch = {"input_ids": torch.tensor([[2, 5, 6, 7, 3]])}
    model = DLFAForTokenClassification.from_encoder(str(tiny_folder), 2, "ner", fusion="power", exponent=4)
    assert (model.config.exponent, model.classifier.fusion.exponent) == (4, 4)
    model.save_pretrained(tmp_path)
    again = DLFAForTokenClassification.from_pretrained(tmp_path).eval()
    assert again.config.head == model.config.head
    assert torch.equal(again(**batch).logits, model(**batch).logits)


def test_it_is_swept_with_its_option_varied(tiny_folder, tmp_path):
    words = {"en": TAGGED, "de": TAGGED[:3]}
    for language, rows in words.items():
        (tmp_path / "data" / language).mkdir(parents=True)
        text = "\n\n".join("\n".join(f"{w}\t{t}" for w, t in zip(*row, strict=True)) for row in rows) + "\n"
        for split in ("train", "dev", "test") if language == "en" else ("test",):
            (tmp_path / "data" / language / f"{split}.tsv").write_text(text, "utf-8")
    options = {
        "train_data": tmp_path / "data", "model": str(tiny_folder), "epochs": 1, "plots": False, "layers": [1],
        "head_learning_rate": 1e-2, "extra": ["power.exponent=1/3:2", "power:1", "dlfa.mask_padding=false:1"],
    }  # fmt: skip
    done = run_sweep("ner", out=tmp_path / "sweep", seeds=1, **options)
    specs = {row.spec.name: row.spec for row in done.result.rows}
    assert list(specs)[3:] == ["power 2 exponent=1", "power 2 exponent=3", "power 1", "D_1 mask_padding=False"]
    assert [specs[name].head.fusion_options.exponent for name in list(specs)[3:6]] == [1, 3, 2]
    assert specs["D_1 mask_padding=False"].head.fusion_options.mask_padding is False
    records = [head["spec"] for head in json.loads((tmp_path / "sweep" / "sweep.json").read_text("utf-8"))["heads"]]
    assert records == [json.loads(json.dumps(spec.record())) for spec in specs.values()]
    assert records[4] == {
        "name": "power 2 exponent=3", "fusion": "power", "fuse_layer": [2], "exponent": 3, "signs": "kept", "seed": 0,
    }  # fmt: skip
    del FUSIONS["power"]
    lines = read_sweep(tmp_path / "sweep" / "sweep.json").table.lines
    assert [line.name for line in lines] == list(specs)  # a page is made without it


def test_it_is_exported(trained, tmp_path, no_shape_checks):
    pytest.importorskip("onnxruntime")
    from dlfa_adapters.export import export_onnx

    run = trained("full", exponent=2, signs="dropped")
    export_onnx(run, file := tmp_path / "onnx" / "model.onnx")
    sys.path.insert(0, str(file.parent))
    try:
        import dlfa_onnx

        assert dlfa_onnx.load(str(file)).predict(WORDS) == load_run(run.folder).predict(WORDS)
    finally:
        sys.path.remove(str(file.parent))
        sys.modules.pop("dlfa_onnx", None)


@pytest.mark.parametrize("typed", [["--fusion-option", "exponent=5"], ["--exponent", "5"]])
def test_it_is_typed_on_the_command_line(typed, tiny_folder, tmp_path):
    from dlfa_cli.main import app

    data = tmp_path / "train-en.tsv"
    data.write_text("\n\n".join("\n".join(f"{w}\t{t}" for w, t in zip(*row, strict=True)) for row in TAGGED), "utf-8")
    done = CliRunner().invoke(
        app,
        ["train", "ner", "--train", str(data), "--model", str(tiny_folder), "--tuning", "features", "-k", "2",
         "--epochs", "1", "--fusion", "power", *typed, "--out", str(tmp_path / "run"), "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["training"]["exponent"] == 5
    shown = " ".join(re.sub("[│─]", " ", CliRunner().invoke(app, ["train", "--help"]).output).split())
    assert "Which power the states are raised to, and the root of their mean." in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exponent": "x"}, "exponent must be a number; got 'x'"),
        ({"signs": "turned"}, "signs must be one of kept, dropped; got 'turned'"),
        ({"gate": "attention"}, "no .*option 'gate'"),
    ],
)
def test_what_it_does_not_have_is_refused(options, message, tiny_model, trained):
    with pytest.raises(ConfigError, match=message):
        tiny_model().add_dlfa_head("ner", fuse_layer=2, fusion="power", **options)
    with pytest.raises(ConfigError, match=message):
        trained("features", **options)


def test_options_that_cannot_be_registered():
    @dataclass(frozen=True)
    class Needed:
        exponent: int

    with pytest.raises(ValueError, match="options must be a dataclass whose fields have defaults"):
        register_fusion("needed", PowerMean, options=Needed)
    with pytest.raises(ValueError, match="options must be a dataclass whose fields have defaults"):
        register_fusion("needed", PowerMean, options=dict)


@pytest.mark.parametrize("name", ["pooling", "epochs", "fuse_layer"])
def test_an_option_called_like_another_one_is_refused(name, trained):
    options = dataclass(frozen=True)(type("Odd", (), {"__annotations__": {name: int}, name: 1}))
    register_fusion("power", PowerMean, options=options, overwrite_ok=True)
    with pytest.raises(ConfigError, match=f"The fusion 'power' has an option '{name}', as every .* has; rename it"):
        trained("features")


def test_without_options_of_its_own_it_takes_those_of_dlfa(tiny_model):
    seen = {}

    def make(hidden_size, **options):
        seen.update(options)
        return PowerMean(hidden_size, num_layers=4, num_lower=1, exponent=2, signs="kept")

    register_fusion("old", make)
    tiny_model().add_dlfa_head("ner", fuse_layer=2, fusion="old", norm="layer")
    assert seen == {
        "num_layers": 4, "num_lower": 1, "reduction": 4, "branches": "both", "gate": "product", "norm": "layer",
        "init": "kaiming", "mask_padding": True,
    }  # fmt: skip
