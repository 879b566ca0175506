"""The head adds no wait for a GPU to what a stock head of adapters has."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero")


class Waits(TorchDispatchMode):
    """How often an operation ran that needs a value on the host."""

    def __init__(self):
        super().__init__()
        self.count = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        self.count.update([name] if name in WAITS else [])
        return function(*args, **(kwargs or {}))


def waits(model, batch, labels, **inputs):
    with Waits() as found:
        model.train()(**batch, labels=labels, **inputs).loss.backward()
    with Waits() as evaluation, torch.no_grad():
        model.eval()(**batch)
    return found.count + evaluation.count


@pytest.mark.parametrize("kind", ["tagging", "classification"])
def test_no_more_waits_than_a_stock_head(kind, tiny_model, batch):
    stock, dlfa = tiny_model(), tiny_model()
    getattr(stock, f"add_{kind}_head")("head", num_labels=3)
    dlfa.add_dlfa_head("head", head_type=kind, num_labels=3, fuse_layer=2)
    labels = torch.tensor([0, 2]) if kind == "classification" else torch.zeros_like(batch["input_ids"])
    assert waits(dlfa, batch, labels) == waits(stock, batch, labels)
    assert waits(dlfa, batch, labels, num_items_in_batch=torch.tensor(4)) == waits(stock, batch, labels)
