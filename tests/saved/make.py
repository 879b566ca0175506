"""Saves a tiny thing of every sort into a folder, with what it computes, for later versions to load.

    PYTHONPATH=. python tests/saved/make.py tests/saved/format-1

What is there stays as it was written; a new format gets a folder of its own.
`tests/test_saved_before.py` reads every folder `format-*` beside this file.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
import transformers
from adapters import AutoAdapterModel
from safetensors.torch import save_file
from tiny_tokenizer import character_tokenizer
from typer.testing import CliRunner

import dlfa_adapters
from dlfa_adapters import DLFAForSequenceClassification, DLFAForTokenClassification
from dlfa_cli.main import app

TAGS = {"Anna": "B-PER", "Bob": "B-PER", "Rome": "B-LOC", "York": "I-LOC", "New": "B-LOC", "Acme": "B-ORG"}
SENTENCES = {
    "en/train": ["Anna met Bob in Rome .", "Rome", "New York is far", "the Acme met Anna", "Bob and Anna met",
                 "in Rome", "Acme met Bob", "a b c d e f g h"],
    "en/dev": ["Bob met Anna in Rome .", "New York", "the end is far"],
    "en/test": ["Anna met Acme .", "is Bob in New York", "so far"],
    "de/test": ["Anna traf Bob in Rome .", "New York ist fern", "und Acme"],
    "sw/test": ["Bob alikuja Rome", "Anna na Bob", "mbali sana " * 4],
}  # fmt: skip
MASKED = ["Anna met Bob in Rome", "New York is far", "the Acme met Anna in York", "Bob and Anna met", "a b c d e f g h"]
TEXTS = ["Bob in Rome.", "far", "the Bank"]
HEAD = {"num_labels": 3}
HEADS = {
    "batch": ("tagging", {"fuse_layer": 2, **HEAD}),
    "attention": ("tagging", {"fuse_layer": 1, "gate": "attention", "pooling": "last", **HEAD}),
    "layer-norm": ("tagging", {"fuse_layer": 2, "norm": "layer", "pooling": "mean", **HEAD}),
    "no-norm": ("tagging", {"fuse_layer": 0, "norm": "none", "reduction": 2, **HEAD}),
    "nested": ("tagging", {"fuse_layer": (3, 2, 1), "gate": "attention", "norm": "layer", **HEAD}),
    "identity": ("tagging", {"fuse_layer": 2, "init": "identity", "mask_padding": False, **HEAD}),
    "global": ("tagging", {"fuse_layer": 2, "branches": "global", **HEAD}),
    "local": ("tagging", {"fuse_layer": 2, "branches": "local", "gate": "attention", **HEAD}),
    "scalar-mix": ("tagging", {"fusion": "scalar_mix", **HEAD}),
    "concat": ("tagging", {"fusion": "concat", "fuse_layer": (2, 1), **HEAD}),
    "last": ("tagging", {"fusion": "last", "layers": 2, **HEAD}),
    "layer": ("tagging", {"fusion": "layer", "fuse_layer": 1, **HEAD}),
    "bilstm": ("tagging", {"fuse_layer": 2, "classifier": "bilstm", "lstm_hidden": 4, "lstm_dropout": 0.2, **HEAD}),
    "text": ("classification", {"fuse_layer": 2, "id2label": {0: "z", 1: "a", 2: "m"}}),
    "text-bilstm": (
        "classification",
        {"fuse_layer": 1, "norm": "layer", "classifier": "bilstm", "lstm_hidden": 4, "pooling": "mean", **HEAD},
    ),
    "several": ("multilabel_classification", {"fuse_layer": 2, "gate": "attention", **HEAD}),
    "choice": ("multiple_choice", {"fuse_layer": 2, "num_choices": 3}),
    "answer": ("question_answering", {"fuse_layer": 2}),
}
PLAIN = {
    "tagger": (DLFAForTokenClassification, {"task": "ner", "fuse_layer": (2, 1), "gate": "attention"}),
    "classifier": (
        DLFAForSequenceClassification,
        {"id2label": {0: "sad", 1: "glad"}, "fuse_layer": 2, "norm": "layer", "classifier": "bilstm", "lstm_hidden": 4,
         "pooling": "mean"},
    ),
}  # fmt: skip
SMALL = ["--model", "encoder", "--language", "en", "--max-length", "32", "--context", "8"]
STEPS = ["--batch-size", "4", "--epochs", "10", "--lr", "1e-2", "--head-lr", "3e-2"]
DATA = {
    "ner": ["--train", "data/ner/en/train.tsv", "--dev", "data/ner/en/dev.tsv"],
    "mood": ["--train", "data/mood/en/train.tsv", "--dev", "data/mood/en/dev.tsv"],
    "xnli": ["--train", "data/xnli/en/train.tsv", "--dev", "data/xnli/en/dev.tsv"],
}
TUNINGS = {
    "full": ["--tuning", "full", "--fuse-layer", "2"],
    "freeze": ["--tuning", "freeze:1", "--fuse-layer", "2", "--norm", "layer"],
    "lora": ["--tuning", "lora:2", "--fuse-layer", "2"],
    "peft-lora": ["--tuning", "peft-lora:2", "--fuse-layer", "2"],
    "bottleneck": ["--tuning", "bottleneck", "--fuse-layer", "1", "--gate", "attention"],
    "stack": ["--tuning", "stack:adapters/en", "--fuse-layer", "2"],
    "features": ["--tuning", "features", "--fuse-layer", "2", "--fuse-layer", "1"],
    "features-bilstm": ["--tuning", "features", "--fusion", "scalar_mix", "--classifier", "bilstm", "--lstm-hidden",
                        "4"],
}  # fmt: skip
TRAIN = {
    f"{task}-{tuning}": ["train", task, *DATA[task], *SMALL, *STEPS, *TUNINGS[tuning], "--out", f"runs/{task}-{tuning}"]
    for task, tunings in {
        "ner": [name for name in TUNINGS if name != "freeze"], "mood": ("freeze", "peft-lora", "features"),
        "xnli": ("lora", "features-bilstm"),
    }.items()
    for tuning in tunings
}  # fmt: skip
SWEEP = [
    "sweep", "ner", *DATA["ner"], "--data", "data/ner", "--languages", "de,sw", *SMALL, "--batch-size", "4",
    "--head-lr", "1e-2,1e-1", "--seeds", "1", "--layers", "2", "--no-plots", "--json",
]  # fmt: skip
SWEEPS = {
    "features": [*SWEEP, "--epochs", "6", "--with", "mix", "--out", "sweeps/features"],
    "full": [*SWEEP, "--epochs", "6", "--tuning", "full", "--lr", "1e-2", "--out", "sweeps/full"],
    "cut-short": [*SWEEP, "--epochs", "24", "--out", "sweeps/cut-short"],
}
EVALUATE = {
    name: ["evaluate", f"runs/{name}", "--data", f"data/{name.partition('-')[0]}", "--resamples", "50", "--out",
           f"evaluations/{name}"]
    for name in ("ner-features", "ner-full", "mood-features")
}  # fmt: skip
COMPARE = ["compare", "evaluations/ner-features", "evaluations/ner-full", "--resamples", "50", "--json"]
CUT_SHORT = [
    "train", "ner", *DATA["ner"], *SMALL, "--batch-size", "4", "--epochs", "24", "--head-lr", "3e-2", "--tuning",
    "features", "--fuse-layer", "2", "--out", "runs/cut-short",
]  # fmt: skip


def command(words: list[str]) -> str:
    result = CliRunner().invoke(app, words)
    if result.exit_code:
        raise SystemExit(f"dlfa {' '.join(words)}\n{result.output}\n{result.exception}")
    return result.stdout


def write_data() -> None:
    """Two splits and three languages of a tagging task, one of texts and one of pairs."""
    for place, sentences in SENTENCES.items():
        for task in ("ner", "mood", "xnli"):
            Path("data", task, place).parent.mkdir(parents=True, exist_ok=True)
        rows = ["".join(f"{word}\t{TAGS.get(word, 'O')}\n" for word in text.split()) for text in sentences]
        Path("data", "ner", f"{place}.tsv").write_text("\n".join(rows), "utf-8")
        moods = [f"{text}\t{('glad', 'sad')[i % 2]}\n" for i, text in enumerate(sentences)]
        Path("data", "mood", f"{place}.tsv").write_text("text\tlabel\n" + "".join(moods), "utf-8")
        names = ("entailment", "neutral", "contradiction")
        pairs = zip(sentences, reversed(sentences), strict=True)
        rows = [f"{one}\t{two}\t{names[i % 3]}\n" for i, (one, two) in enumerate(pairs)]
        Path("data", "xnli", f"{place}.tsv").write_text("sentence1\tsentence2\tlabel\n" + "".join(rows), "utf-8")
    text = [f"{MASKED[i % 5]} {'abcdefg'[i % 7] * (1 + i % 3)} {i // 5 * 'h'}" for i in range(100)]
    Path("data/en.txt").write_text("\n".join(text) + "\n", "utf-8")


def write_encoder() -> None:
    """A random BERT of three layers and its tokenizer, with which letters are pieces."""
    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=3, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=48,
    )  # fmt: skip
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained("encoder")
    tokenizer.save_pretrained("encoder")


def shaken(
    model: torch.nn.Module, parts: tuple[str, ...] = ("heads", "classifier", "fusion", "loras")
) -> torch.nn.Module:
    """New weights and running means moved from where they start."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if any(part in name for part in parts) and tensor.is_floating_point() and "running_var" not in name:
                tensor.add_(0.1 * torch.randn(tensor.shape, generator=generator))
    return model.eval()


def logits(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    with torch.no_grad():
        output = model.eval()(**batch)
    names = [name for name in ("logits", "start_logits", "end_logits") if output.get(name) is not None]
    return {name: output[name].contiguous() for name in names}


def add_head(model: object, name: str, head_type: str, options: dict[str, object]) -> None:
    options = dict(options)
    model.add_dlfa_head(name, options.pop("fuse_layer", None), head_type, **options)


def main(folder: Path) -> None:
    """Make a new folder, or none."""
    torch.set_num_threads(1)
    if folder.exists():
        raise SystemExit(f"{folder} is there already; what a version wrote stays.")
    with tempfile.TemporaryDirectory() as made:
        before = Path.cwd()
        os.chdir(made)  # names of encoders and data are written down as they are typed
        make()
        os.chdir(before)
        shutil.copytree(made, folder)


def make() -> None:
    """Write into the working directory."""
    write_data()
    write_encoder()
    tokenizer = transformers.AutoTokenizer.from_pretrained("encoder")
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    batch = {name: encoded[name] for name in ("input_ids", "attention_mask")}
    states = transformers.AutoModel.from_pretrained("encoder").eval()
    with torch.no_grad():
        tensors = {**batch, "states": states(**batch).last_hidden_state}  # how this machine computes, without us

    def keep(name: str, model: torch.nn.Module) -> None:
        tensors.update({f"{name}/{key}": value for key, value in logits(model, batch).items()})

    def fresh() -> object:
        return AutoAdapterModel.from_pretrained("encoder")

    for name, (head_type, options) in HEADS.items():
        torch.manual_seed(2)
        model = fresh()
        add_head(model, "x", head_type, options)
        shaken(model).save_head(f"heads/{name}", "x")
        again = fresh()
        again.load_head(f"heads/{name}")
        keep(f"heads/{name}", again)
    torch.manual_seed(3)
    model = fresh()
    model.add_adapter("x", config="lora")
    model.add_dlfa_head("x", 2, "tagging", num_labels=3)
    model.set_active_adapters("x")
    shaken(model).save_adapter("adapters/x", "x")
    again = fresh()
    again.load_adapter("adapters/x", set_active=True)
    keep("adapters/x", again)
    model.save_pretrained("models/with-adapter")
    again = AutoAdapterModel.from_pretrained("models/with-adapter")
    again.set_active_adapters("x")
    keep("models/with-adapter", again)
    for name, (cls, options) in PLAIN.items():
        torch.manual_seed(4)
        shaken(cls.from_encoder("encoder", **options)).save_pretrained(f"models/{name}")
        keep(f"models/{name}", cls.from_pretrained(f"models/{name}"))

    command(["train-language", "en", "--text", "data/en.txt", "--model", "encoder", "--steps", "4", "--batch-size", "4",
             "--max-length", "32", "--reduction", "4", "--out", "adapters/en"])  # fmt: skip
    expected = {}
    for name, words in TRAIN.items():
        command(words)
        loaded = dlfa_adapters.load_run(f"runs/{name}")
        keep(f"runs/{name}", loaded.model)
        texts = SENTENCES["en/test"]
        inputs = {"ner": [[text.split() for text in texts]], "mood": [texts], "xnli": [texts, texts[::-1]]}
        expected[name] = loaded.predict(*inputs[name.partition("-")[0]])
    for words in EVALUATE.values():
        command(words)
    Path("compared.json").write_text(command(COMPARE), "utf-8")
    for name in ("features", "full"):
        command(SWEEPS[name])
    keep("sweeps/features/best", dlfa_adapters.load_run("sweeps/features/best").model)
    command([*CUT_SHORT[:-1], "runs/whole"])
    keep("runs/cut-short", dlfa_adapters.load_run("runs/whole").model)
    shutil.rmtree("runs/whole")
    cut(CUT_SHORT, "runs/cut-short.training/epoch.safetensors")
    command([*SWEEPS["cut-short"][:-1], "sweeps/whole"])
    expected["sweep"] = json.loads(Path("sweeps/whole/sweep.json").read_text("utf-8"))["heads"]
    shutil.rmtree("sweeps/whole")
    folder = "sweeps/cut-short/trainings"
    cut(SWEEPS["cut-short"], f"{folder}/epoch-*.safetensors", f"{folder}/rates-*-1.json")
    Path("expected.json").write_text(json.dumps(expected) + "\n", "utf-8")
    commands = {"train": TRAIN, "evaluate": EVALUATE, "compare": COMPARE, "sweep": SWEEPS, "cut short": CUT_SHORT}
    Path("commands.json").write_text(json.dumps(commands) + "\n", "utf-8")
    save_file(tensors, "logits.safetensors")


def cut(words: list[str], file: str, after: str = "data/en.txt") -> None:
    """Kill a training when it has written its first epoch, one that is later than some other file."""

    def there() -> bool:
        others = [path.stat().st_mtime_ns for path in Path().glob(after)]
        return bool(others) and any(path.stat().st_mtime_ns > max(others) for path in Path().glob(file))

    process = subprocess.Popen([sys.executable, "-m", "dlfa_cli", *words], stdout=subprocess.DEVNULL)
    while process.poll() is None and not there():
        time.sleep(0.001)
    process.kill()
    process.wait()
    if not there():
        raise SystemExit(f"It was not cut short: dlfa {' '.join(words)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
