"""Every tuning with every kind of task: it trains, says what it trained, and a new process gets the same logits."""

import json
import shutil

import pytest
import torch

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.kinds import metrics_for
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.tuning import TUNINGS, trainable_share

TASKS = ("ner", "pos", "xnli", "mood")
TUNING_NAMES = ("full", "freeze:1", "lora", "peft-lora:2", "bottleneck", "stack", "features", "features, bilstm")
TRAINED = {  # the parts of which something learns, with fuse layer 2 of 3
    "full": {"embeddings", "block 1", "block 2", "block 3", "fusion", "classifier"},
    "freeze:1": {"block 2", "block 3", "fusion", "classifier"},
    "lora": {"LoRA", "fusion", "classifier"},
    "peft-lora:2": {"LoRA", "fusion", "classifier"},
    "bottleneck": {"adapters", "fusion", "classifier"},
    "stack": {"adapters", "fusion", "classifier"},
    "features": {"fusion", "classifier"},
    "features, bilstm": {"fusion", "classifier"},
}
OTHER_PROCESS = """
import json, sys, torch
from dlfa_adapters.predict.load import load_run
def logits(model, tokenizer):
    encoded = tokenizer(["Anna met Bob in Rome.", "far", "the Bank of York"], padding=True, return_tensors="pt")
    with torch.no_grad():
        return model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
found = {}
for folder in json.loads(sys.argv[1]):
    loaded = load_run(folder)
    found[folder] = logits(loaded.model, loaded.tokenizer)
torch.save(found, sys.argv[2])
"""


@pytest.fixture(scope="module")
def table(start, language_adapter, logits, tmp_path_factory):
    """(task, tuning) -> run, plan, weights of the encoder before, logits of the model that was trained."""
    from dlfa_adapters.encoders import load_encoder

    root = tmp_path_factory.mktemp("runs")
    rows = {}
    for task in TASKS:
        for tuning in TUNING_NAMES:
            name, _, classifier = tuning.partition(", ")
            name = f"stack:{language_adapter}" if tuning == "stack" else name
            options = {"fuse_layer": 2, **({"classifier": classifier, "lstm_hidden": 8} if classifier else {})}
            run, plan = start(task, root / f"{task}-{tuning.replace(':', '-')}", name, **options)
            before = load_encoder(plan.encoder.name).model.base_model.state_dict()
            rows[task, tuning] = run, plan, before, logits(plan.model, plan.encoder.tokenizer)
    return rows


def test_there_is_a_row_for_every_tuning():
    assert {tuning.partition(",")[0].partition(":")[0] for tuning in TUNING_NAMES} == set(TUNINGS)


def test_a_new_process_gets_the_same_logits(table, tmp_path, fresh):
    folders = [str(run.folder) for run, *_ in table.values()]
    done = fresh.run(OTHER_PROCESS, json.dumps(folders), tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = torch.load(tmp_path / "out")
    for key, (run, _, _, expected) in table.items():
        assert torch.equal(found[str(run.folder)], expected), key


@pytest.mark.parametrize("tuning", TUNING_NAMES)
@pytest.mark.parametrize("task", TASKS)
def test_what_learns_and_what_does_not(table, task, tuning):
    _, plan, before, _ = table[task, tuning]
    assert {row.part for row in plan.report if row.trainable} == TRAINED[tuning]
    after = {
        name.replace("base_layer.", ""): value
        for name, value in plan.model.state_dict().items()
        if "prompt_tuning" not in name
    }
    compared = 0
    for name, weights in before.items():
        [now] = [value for key, value in after.items() if key.endswith(f".{name}")] or [None]
        if now is None or not weights.is_floating_point():
            continue
        compared += 1
        part = next((f"block {k + 1}" for k in range(3) if f".layer.{k}." in f".{name}"), "embeddings")
        moved = not torch.equal(now, weights)
        padding = "attention.self.key.bias" in name or "token_type" in name or "position" in name
        assert moved == (part in TRAINED[tuning]) or (padding and not moved), name
    assert compared == 53  # all weights of the tiny BERT


@pytest.mark.parametrize("tuning", TUNING_NAMES)
@pytest.mark.parametrize("task", TASKS)
def test_what_a_run_says(table, task, tuning):
    run, plan, *_ = table[task, tuning]
    config = run.config
    assert config["labels"] == list(plan.task.labels)
    assert config["head"]["fuse_layer"] == [2]
    assert config["data"]["train"]["items"] == 8
    assert config["data"]["train"]["language"] == "en"
    assert config["training"]["picked_on"] == "English dev"
    assert 0 <= config["metrics"]["dev"]["en"] <= 100
    assert config["metrics"]["dev"]["en"] == pytest.approx(max(config["training"]["dev_scores"]))
    trainable, total = trainable_share(plan.report)
    assert (config["training"]["trainable_parameters"], config["training"]["parameters"]) == (trainable, total)
    assert config["training"]["peak_memory_mb"] > 0
    assert config["training"]["seconds"] >= 0
    assert config["versions"]["torch"] == torch.__version__
    assert not run.folder.with_name(f"{run.folder.name}.training").exists()


@pytest.mark.parametrize("tuning", TUNING_NAMES)
@pytest.mark.parametrize("task", TASKS)
def test_the_score_on_dev_is_that_of_the_loaded_model(table, items, task, tuning):
    run, *_ = table[task, tuning]
    loaded, gold = load_run(run), [item[-1] for item in items[task][:4]]
    if task in ("ner", "pos"):
        predicted = loaded.predict([item[0] for item in items[task][:4]])
    else:
        pairs = [item[1] for item in items[task][:4]] if task == "xnli" else None
        predicted = loaded.predict([item[0] for item in items[task][:4]], pairs)
    metric = metrics_for(table[task, tuning][1].task)[0]
    score = metric.compute(predictions=predicted, references=gold)[metric.main_score] or 0.0
    assert 100 * score == pytest.approx(run.config["metrics"]["dev"]["en"], abs=1e-3)


def test_lora_of_adapters_and_of_peft_have_equal_size(start, tmp_path):
    sizes = [
        trainable_share(start("ner", tmp_path / name, name, fuse_layer=2, max_steps=1)[1].report)
        for name in ("lora:2", "peft-lora:2")
    ]
    assert sizes[0] == sizes[1]


def test_a_damaged_run_is_refused(table, tmp_path):
    for tuning, file in (("full", "encoder/model.safetensors"), ("lora", "adapters/ner/adapter.safetensors")):
        copy = tmp_path / tuning
        shutil.copytree(table["ner", tuning][0].folder, copy)
        (copy / file).write_bytes((copy / file).read_bytes()[:-8])
        with pytest.raises(RunError, match="is not the file that was written"):
            load_run(copy)
