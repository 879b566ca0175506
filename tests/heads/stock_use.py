"""A script that uses `adapters` with stock heads only, and writes down all that can be seen of it.

    echo FOLDER [TAB FOLDER_TO_LOAD] | python stock_use.py plain|imported

Once without and once with `import dlfa_adapters`, the two must see the same. With a second folder it loads what
another process saved there, and writes down what came. Each line is the work of a process that has done nothing but
import, a fork of this one; its exit code is printed when it ends.
"""

import gc
import json
import os
import sys
from pathlib import Path

import torch
import transformers
from adapters import AdapterTrainer, AutoAdapterModel, Fuse, Stack
from transformers import TrainingArguments

if sys.argv[1] == "imported":
    import dlfa_adapters  # noqa: F401

gc.freeze()  # what was imported stays, in the forks as well
OUT = SAVED = Path()
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
SIZES = {
    "vocab_size": 100,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
METHODS = ("seq_bn", "seq_bn_inv", "lora", "ia3", "prefix_tuning", "prompt_tuning", "loreft", "mam", "unipelt")
BATCH = {"input_ids": torch.arange(5, 19).reshape(2, 7), "labels": torch.tensor([[0, 1, 2, 0, 1, 2, 0]] * 2)}
seen = {}


def fresh(seed=0):
    torch.manual_seed(seed)
    return AutoAdapterModel.from_config(transformers.BertConfig(**SIZES, max_position_embeddings=40)).eval()


def moved(model):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return model


def names(config):
    return sorted((config.id2label or {}).items()), sorted((config.label2id or {}).items())


def look(where, model):
    """What comes out, which head is active, and the names of the labels."""
    output = model(**BATCH)
    keys = [key for key in output if isinstance(output[key], torch.Tensor)]
    numbers = {key: [round(x, 4) + 0.0 for x in output[key].flatten()[:12].tolist()] for key in keys}
    seen[where] = [numbers, model.active_head, str(model.active_adapters), names(model.config)]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def tagger(*adapters, method="seq_bn"):
    model = fresh()
    for name in adapters:
        model.add_adapter(name, config=method)
        model.add_tagging_head(name, num_labels=3, id2label={0: "O", 1: f"B-{name}", 2: f"I-{name}"})
    return model


def every_method():
    for method in METHODS:
        place = f"methods/{method}"
        if SAVED == OUT:
            model = moved(tagger("a", method=method))
            model.save_adapter(str(OUT / place.replace("/", "-")), "a")
        else:
            model = moved(tagger("a", method=method))
            model.delete_adapter("a")
            model.delete_head("a")
            info = {}
            model.load_adapter(str(SAVED / place.replace("/", "-")), loading_info=info)
            seen[f"{place} missing"] = sorted(info["missing_keys"]) + sorted(info["unexpected_keys"])
        model.set_active_adapters("a")
        look(place, model)


def compositions():
    model = moved(tagger("a", "b"))
    model.add_adapter_fusion(["a", "b"])
    moved(model)
    if SAVED == OUT:
        model.save_all_adapters(str(OUT / "all-adapters"))
        model.save_all_heads(str(OUT / "all-heads"))
        model.save_all_adapter_fusions(str(OUT / "all-fusions"))
        model.save_adapter_fusion(str(OUT / "fusion"), Fuse("a", "b"), with_head="b")
        model.save_adapter_setup(str(OUT / "setup"), Stack("a", "b"), head_setup="b")
        model.save_head(str(OUT / "head"), "b")
        model.save_pretrained(OUT / "model")
        model.active_head = "a"
        model.set_active_adapters("b")
        model.save_adapter(str(OUT / "adapter"), "b")
        model.add_adapter("c")
        model.set_active_adapters("c")
        model.save_adapter(str(OUT / "no-head"), "c")
    else:
        model = moved(fresh())
        model.load_adapter_setup(str(SAVED / "setup"), set_active=True)
        look("setup", model)
        model.load_adapter_fusion(str(SAVED / "all-fusions" / "a,b"))
        model.load_head(str(SAVED / "head"), load_as="again")
        for name in "ab":
            model.load_adapter(str(SAVED / "all-adapters" / name))
            model.load_head(str(SAVED / "all-heads" / name))
        look("whole", AutoAdapterModel.from_pretrained(SAVED / "model").eval())
    model.set_active_adapters(Fuse("a", "b"))
    look("fuse", model)


def label_names():
    model = tagger("a", "b")
    for step in ("a", None, "b", ["a", "b"]):
        model.active_head = step
        seen[f"names {step}"] = names(model.config)
    model.add_masked_lm_head("lm")
    seen["names lm"] = names(model.config)
    model.active_head = "a"
    model.delete_head("a")
    seen["names deleted"] = [names(model.config), model.active_head]
    seen["attributes"] = hasattr(model, "accepts_loss_kwargs")


def training():
    rows = [{"input_ids": list(range(5 + i, 12 + i)), "labels": [0, 1, 2, 0, 1, 2, 0]} for i in range(8)]
    model = tagger("a")
    model.train_adapter("a")
    options = TrainingArguments(
        str(OUT / "training"), max_steps=2, per_device_train_batch_size=2, gradient_accumulation_steps=2,
        learning_rate=0.01, report_to="none", use_cpu=True, label_names=["labels"], seed=0, disable_tqdm=True,
    )  # fmt: skip
    trainer = AdapterTrainer(model, options, train_dataset=rows)
    trainer.train()
    seen["losses"] = [round(entry["train_loss"], 4) for entry in trainer.state.log_history if "train_loss" in entry]
    look("trained", model.eval())


for line in sys.stdin:
    if not (child := os.fork()):
        sys.stdout = sys.stderr  # Trainer prints
        OUT, SAVED = (Path(line.strip().split("\t")[at]) for at in (0, -1))
        every_method()
        compositions()
        if SAVED == OUT:
            label_names()
            training()
            seen["files"] = files(OUT)
        (OUT / "seen.json").write_text(json.dumps(seen, indent=1))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
