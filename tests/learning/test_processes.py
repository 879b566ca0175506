"""Two processes with half of the batch each do what one does with all of it, batch norm's statistics included."""

import json
from pathlib import Path

import pytest
import torch
from launched import in_two_processes

import dlfa_adapters.learning.trainer as trainer_module
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.settings import make_settings, resolve
from dlfa_adapters.tuning import get_tuning

CASES = {
    "full": {"tuning": "full"},
    "lora": {"tuning": "lora"},
    "peft-lora": {"tuning": "peft-lora"},
    "one layer": {"tuning": "full", "fusion": "layer"},  # the blocks above it get no gradient
    "two sources": {"tuning": "full", "source_temperature": 5.0, "language": None},
    "two tasks": {"tuning": "full", "seed": 1},
    "two tasks, two sources": {"tuning": "full", "language": None, "aux_temperature": 1e9},
    "accumulated": {"tuning": "bottleneck", "norm": "layer", "micro_batch_size": 2},
}
STEP = {"fuse_layer": 2, "batch_size": 8, "max_steps": 1, "language": "en", "dev_data": "none", "seed": 0}


def gradients_of(case, model, train_data, out):
    """Gradients of one step over all eight sentences, and the buffers after it."""
    from dlfa_adapters.learning import train

    found = {}
    if "two sources" in case:
        train_data = {"en": train_data, "de": train_data[:3]}
    aux = {"aux": f"pos={Path(out).parent / 'pos-en.tsv'}"} if "two tasks" in case else {}

    def keep(wrapped, step, learning):
        inner = getattr(wrapped, "module", wrapped)
        found.update({f"gradient of {n}": p.grad.clone() for n, p in inner.named_parameters() if p.grad is not None})
        found.update({f"buffer {n}": b.clone() for n, b in inner.named_buffers() if "running" in n or "tracked" in n})

    original, trainer_module.check_gradients = trainer_module.check_gradients, keep
    try:
        train("ner", model=model, train_data=train_data, out=out, **{**STEP, **CASES[case], **aux})
    finally:
        trainer_module.check_gradients = original
    return found


def write_parts_of_speech(folder, items):
    """The auxiliary data of `two tasks`: more than there are names, so that theirs is the step that is looked at."""
    sentences = 4 * ["".join(f"{w}\t{t}\n" for w, t in zip(*s, strict=True)) for s in items["pos"]]
    (folder / "pos-en.tsv").write_text("\n".join(sentences), "utf-8")


WORKER = """
import json, sys, torch
torch.set_num_threads(1)
sys.path.insert(0, sys.argv[1])
import test_processes as here
model, data, out = sys.argv[2:]
data = json.loads(data)
found = {case: here.gradients_of(case, model, data, f"{out}/{case}") for case in here.CASES}
if torch.distributed.get_rank() == 0:
    torch.save(found, out + "/found.pt")
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def without_dropout(tiny_folder, tmp_path_factory):
    import shutil

    folder = tmp_path_factory.mktemp("still") / "encoder"
    shutil.copytree(tiny_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.fixture(scope="module")
def two_processes(without_dropout, items, tmp_path_factory, request, fresh):
    out = tmp_path_factory.mktemp("two")
    write_parts_of_speech(out, items)
    arguments = [str(request.path.parent), without_dropout, json.dumps(items["ner"]), str(out)]
    in_two_processes(fresh, WORKER, out, *arguments)
    return torch.load(out / "found.pt")


@pytest.mark.parametrize("case", CASES)
def test_gradients_and_buffers_of_one_process(case, two_processes, without_dropout, items, tmp_path):
    write_parts_of_speech(tmp_path, items)
    one = gradients_of(case, without_dropout, items["ner"], tmp_path / "one")
    two = two_processes[case]
    assert one.keys() == two.keys()
    assert sum(name.startswith("gradient") for name in one) > 2
    assert max(float(value.abs().max()) for name, value in one.items() if name.startswith("gradient")) > 1e-3
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, atol=1e-5, rtol=1e-5, msg=name)
    if case not in ("accumulated", "one layer"):
        moved = [name for name in one if name.endswith("running_mean") and "original_module" not in name]
        assert len(moved) == (8 if "two tasks" in case else 4)
        assert sum(float(one[name].abs().max()) > 0 for name in moved) == 4
    if "two tasks" in case:
        heads = {name.split("heads.")[1].split(".")[0] for name in one if "gradient" in name and "heads." in name}
        assert heads == {"pos" if case == "two tasks" else "ner"}


def test_the_batch_is_divided(monkeypatch):
    for processes, micro, expected in ((1, None, 32), (2, None, 16), (4, 2, 2)):
        monkeypatch.setenv("WORLD_SIZE", str(processes))
        assert resolve(make_settings(micro_batch_size=micro), get_tuning("full")).machine.micro_batch_size == expected
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ConfigError, match="batch of 32 cannot be divided among 3 processes with 10 items"):
        resolve(make_settings(), get_tuning("full"))


def test_features_run_in_one_process(monkeypatch, start, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="runs in one process"):
        start("ner", tmp_path / "run", "features")
