"""An adaptation in two processes, with half of the rows of a step each, learns what one process learns from all."""

import json
import math
from pathlib import Path

import pytest
import torch
from launched import in_two_processes
from safetensors.torch import load_file
from tiny_masked import save_masked_encoder

import dlfa_adapters.learning.trainer as trainer_module
from dlfa_adapters.encoders.adapted import RECORD

CASES = {
    "full": {"learns": "full"},
    "freeze": {"learns": "freeze:1", "whole_words": True},
    "lora": {"learns": "lora:2"},
    "adapter": {"learns": "adapter"},
    "accumulated": {"learns": "full", "micro_batch_size": 2},
}
STEPS = 5


def adapted(case, encoder, text, out):
    """The gradients of each step, and what is in the folder."""
    from dlfa_adapters.learning import adapt_encoder

    gradients = []

    def keep(wrapped, step, learning):
        inner = getattr(wrapped, "module", wrapped)
        gradients.append({n: p.grad.clone() for n, p in inner.named_parameters() if p.grad is not None})

    original, trainer_module.check_gradients = trainer_module.check_gradients, keep
    try:
        done = adapt_encoder(
            {"en": f"{text}/en.txt", "de": f"{text}/de.txt"}, model=encoder, out=out, batch_size=8, max_length=32,
            steps=STEPS, learning_rate=1e-2, **CASES[case],
        )  # fmt: skip
    finally:
        trainer_module.check_gradients = original
    weights = {
        (f.name, name): t for f in sorted(Path(done.folder).glob("*.safetensors")) for name, t in load_file(f).items()
    }
    return {"gradients": gradients, "weights": weights}


WORKER = """
import sys, torch
torch.set_num_threads(1)
sys.path[:0] = sys.argv[1:3]
import test_adapt_processes as here
encoder, text, out = sys.argv[3:]
found = {case: here.adapted(case, encoder, text, f"{out}/{case}") for case in here.CASES}
if torch.distributed.get_rank() == 0:
    torch.save(found, out + "/found.pt")
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Without dropout, which draws other numbers in two processes than in one."""
    folder = tmp_path_factory.mktemp("still")
    save_masked_encoder(folder, max_position_embeddings=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return str(folder)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Texts of very different lengths, so that two halves of a step have unequally many hidden pieces."""
    folder, words = tmp_path_factory.mktemp("text"), "anna bob met in rome new york is far the bank of acme".split()
    for language, shift in (("en", 0), ("de", 5)):
        texts = [
            " ".join(words[(i * 7 + shift + k) % len(words)] for k in range(1 + i % 9)) + f" {i}" for i in range(60)
        ]
        (folder / f"{language}.txt").write_text("\n".join(texts) + "\n", "utf-8")
    return str(folder)


@pytest.fixture(scope="module")
def two_processes(encoder, text, tmp_path_factory, request, fresh):
    out = tmp_path_factory.mktemp("two")
    tests = request.path.parent
    in_two_processes(fresh, WORKER, out, str(tests), str(tests.parent), encoder, text, str(out))
    return out, torch.load(out / "found.pt")


@pytest.mark.parametrize("case", CASES)
def test_gradients_weights_and_perplexity_of_one_process(case, two_processes, encoder, text, tmp_path):
    out, found = two_processes
    one, two = adapted(case, encoder, text, tmp_path / "one"), found[case]
    assert len(one["gradients"]) == len(two["gradients"]) == STEPS
    for step, gradients in enumerate(one["gradients"]):
        assert gradients.keys() == two["gradients"][step].keys()
        assert max(float(value.abs().max()) for value in gradients.values()) > 1e-3
        for name, value in gradients.items():
            torch.testing.assert_close(two["gradients"][step][name], value, atol=1e-5, rtol=1e-3, msg=f"{step} {name}")
    assert one["weights"].keys() == two["weights"].keys()
    for name, value in one["weights"].items():
        torch.testing.assert_close(two["weights"][name], value, atol=1e-4, rtol=1e-4, msg=str(name))
    record = RECORD if case != "adapter" else "language.json"
    ours, theirs = (json.loads((folder / record).read_text("utf-8")) for folder in (tmp_path / "one", out / case))
    assert ours["text"] == theirs["text"]
    for when, measured in ours["perplexity"].items():
        assert theirs["perplexity"][when] == pytest.approx(measured, rel=1e-4)
        assert all(map(math.isfinite, measured.values()))
