"""DLFA against a transcription of the equations: outputs and running statistics, in training and in evaluation."""

import numpy as np
import pytest
import torch

from dlfa_adapters.fusion import DLFA

from . import oracle
from .batches import random_batch

WIDTH = 8
POOLED = {"both": (True, False), "global": (True, True), "local": (False, False)}


def read_norm(module, kind):
    if kind == "none":
        return oracle.Norm("none")
    arrays = [module.weight, module.bias]
    if kind == "batch":
        arrays += [module.running_mean, module.running_var]
    return oracle.Norm(kind, *(array.detach().numpy().copy() for array in arrays))


def read_steps(dlfa, norm, branches):
    """The weights of a DLFA module as the oracle takes them."""
    steps = []
    for aif in dlfa.aif:
        step = []
        for branch, pooled in zip(aif.branches, POOLED[branches], strict=True):
            c1, c2 = (
                oracle.Conv(conv.weight.detach().numpy(), conv.bias.detach().numpy())
                for conv in (branch.conv1, branch.conv2)
            )
            bn1, bn2 = read_norm(branch.norm1, norm), read_norm(branch.norm2, norm)
            step.append(oracle.Branch(pooled, c1, bn1, c2, bn2))
        steps.append(step)
    return steps


def randomised(dlfa, seed):
    """All weights, biases, scales and statistics away from 0 and 1, so that each of them shows."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in dlfa.state_dict().items():
        if "num_batches" not in name:
            noise = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
            tensor.copy_(noise.square() + 0.5 if "var" in name else noise)
    return dlfa


def compare(dlfa, norm, padding, mask_padding=True, num_lower=1, branches="both"):
    """Two training batches and one in evaluation, all of them against the oracle."""
    steps = read_steps(dlfa, norm, branches)
    for seed, train in ((1, True), (2, True), (3, False)):
        lengths = (4, 4) if padding == "none" else (4, 1, 3)
        side = "left" if padding == "left" else "right"
        states, mask = random_batch(
            seed, num_lower + 1, lengths, WIDTH, length=4 if padding == "none" else 6, side=side
        )
        given = None if padding == "none" else mask
        counted = mask.bool().numpy() if mask_padding and given is not None else np.ones(mask.shape, bool)
        got = dlfa.train(train)(*states, attention_mask=given).detach().numpy()
        *lowers, upper = [list(map(list, state.numpy())) for state in states]
        want = np.array(oracle.dlfa(lowers, upper, counted, steps, dlfa.gate, train))
        assert np.abs(got - want).max() < 1e-10
        if norm == "batch":
            compare_statistics(dlfa, steps)


def compare_statistics(dlfa, steps):
    for aif, branches in zip(dlfa.aif, steps, strict=True):
        for ours, theirs in zip(aif.branches, branches, strict=True):
            for norm, want in ((ours.norm1, theirs.bn1), (ours.norm2, theirs.bn2)):
                assert np.abs(norm.running_mean.numpy() - want.running_mean).max() < 1e-10
                assert np.abs(norm.running_var.numpy() - want.running_var).max() < 1e-10
                assert norm.num_batches_tracked.item() == want.batches


@pytest.mark.parametrize("mask_padding", [True, False])
@pytest.mark.parametrize("padding", ["none", "right", "left"])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("branches", ["both", "global", "local"])
@pytest.mark.parametrize("gate", ["product", "attention"])
def test_every_option(gate, branches, norm, padding, mask_padding):
    dlfa = DLFA(WIDTH, branches=branches, gate=gate, norm=norm, mask_padding=mask_padding).double()
    compare(randomised(dlfa, seed=0), norm, padding, mask_padding, branches=branches)


@pytest.mark.parametrize("reduction", [4, 2, 1, 0.5, 8])
def test_reductions(reduction):
    dlfa = DLFA(WIDTH, reduction).double()
    assert dlfa.aif[0].branches[0].conv1.weight.shape == (WIDTH / reduction, WIDTH)
    compare(randomised(dlfa, seed=0), "batch", "left")


@pytest.mark.parametrize("num_lower", [2, 3])
@pytest.mark.parametrize("gate", ["product", "attention"])
def test_several_lower_layers(gate, num_lower):
    dlfa = DLFA(WIDTH, gate=gate, num_lower=num_lower).double()
    compare(randomised(dlfa, seed=0), "batch", "right", num_lower=num_lower)


def test_the_oracle_on_numbers_worked_by_hand():
    """One channel, C1 the identity, C2 the double, no norm, so W = (1 + 3) / 2 = 2 scores 2 * 2 = 4 in each branch."""
    one = oracle.Conv(np.array([[1.0]]), np.zeros(1))
    double = oracle.Conv(np.array([[2.0]]), np.zeros(1))
    branches = [
        oracle.Branch(pooled, one, oracle.Norm("none"), double, oracle.Norm("none")) for pooled in (True, False)
    ]
    lower, upper, real = [[np.array([1.0])]], [[np.array([3.0])]], [[True]]
    a = 1 / (1 + np.exp(-8))  # sigmoid(4 + 4)
    product = oracle.fuse(lower, upper, real, branches, "product", train=True)[0][0]
    attention = oracle.fuse(lower, upper, real, branches, "attention", train=True)[0][0]
    assert product == pytest.approx(1 * 2 * a + 3 * (1 - 2 * a))
    assert attention == pytest.approx(1 * a + 3 * (1 - a))
