"""The gradient that is written out: autograd's, of every order, in half the kernels, and without waiting for a GPU."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dlfa_adapters.fusion import DLFA, MaskedBatchNorm
from dlfa_adapters.fusion.norm import moments, scale_and_shift

from .batches import random_batch

VIEWS = ("view", "unsqueeze", "expand", "t", "_unsafe_view", "detach", "alias", "slice", "select", "squeeze")


class Operations(TorchDispatchMode):
    """Names of the operations that ran; views, which start no kernel, are left out."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name not in VIEWS:
            self.names.append(name)
        return function(*args, **(kwargs or {}))


def by_autograd(norm, x, mask):
    """The same without the written gradient: what torch.compile takes."""
    found = moments(x, mask.bool().unsqueeze(-1), norm.running_mean, norm.running_var)
    return scale_and_shift(x, found.mean, found.var, norm.weight, norm.bias, norm.eps)


@pytest.mark.parametrize("lengths", [(4, 1, 3), (1, 0, 0)], ids=["tokens", "too few"])
def test_gradients_are_those_of_autograd(lengths):
    """At positions of padding, too: what stands there is normalised, and may be read by whoever wants to."""
    torch.manual_seed(0)
    (x,), mask = random_batch(1, 1, lengths, length=5, fill=2.0)
    norm = MaskedBatchNorm(8).double()
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
            tensor.add_(torch.rand(8, dtype=torch.float64))
    of_output, inputs = torch.randn_like(x), (x.requires_grad_(), norm.weight, norm.bias)
    want = torch.autograd.grad(by_autograd(norm, x, mask), inputs, of_output)
    got = torch.autograd.grad(norm(x, mask), inputs, of_output)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)


def test_second_derivatives():
    torch.manual_seed(0)
    (x,), mask = random_batch(1, 1, (2, 1, 3), 3)
    norm = MaskedBatchNorm(3).double()
    assert torch.autograd.gradgradcheck(lambda x: norm(x, mask)[mask.bool()], x.requires_grad_())


def test_operations_of_a_training_step():
    """On a GPU each costs its start, some microseconds, whatever its size; autograd alone needed 398."""
    dlfa = DLFA(8)
    states, mask = random_batch(1, dtype=torch.float32)
    states = [state.requires_grad_() for state in states]
    with Operations() as forward:
        fused = dlfa(*states, attention_mask=mask)
    with Operations() as backward:
        fused.sum().backward()
    assert len(forward.names) <= 145
    assert len(backward.names) <= 115
    with Operations() as evaluation:
        dlfa.eval()(*states, attention_mask=mask)
    assert len(evaluation.names) <= 38


@pytest.mark.parametrize("training", [True, False])
def test_nothing_waits_for_a_value(training):
    """`.item()`, `bool(tensor)` and selection by a mask would stop the host until a GPU is done."""
    dlfa = DLFA(8, num_lower=2).train(training)
    states, mask = random_batch(1, 3, dtype=torch.float32)
    with Operations() as operations:
        dlfa(*(state.requires_grad_() for state in states), attention_mask=mask).sum().backward()
    assert not {"_local_scalar_dense", "item", "nonzero", "masked_select", "equal"} & set(operations.names)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("training", [True, False])
def test_nothing_waits_for_the_gpu(training):
    dlfa = DLFA(8, num_lower=2).cuda().train(training)
    states, mask = random_batch(1, 3, dtype=torch.float32)
    states, mask = [state.cuda().requires_grad_() for state in states], mask.cuda()
    torch.cuda.set_sync_debug_mode("error")
    try:
        dlfa(*states, attention_mask=mask).sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
