"""Batch statistics over the real tokens only: worked examples, torch as the oracle, and too few tokens."""

import pytest
import torch

from dlfa_adapters.fusion import AIF, DLFA, MaskedBatchNorm

from .batches import buffers_of, pad, random_batch

# One channel; mean (2 + 4 + 2 + 4 + 3) / 5 = 3, unbiased variance (1 + 1 + 1 + 1 + 0) / 4 = 1.
SENTENCES = [torch.tensor([[2.0], [4.0], [2.0], [4.0]]), torch.tensor([[3.0]])]


@pytest.mark.parametrize("fill", [0.0, 1e6, float("inf"), float("nan")])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("length", [4, 9])
def test_running_statistics_do_not_see_padding(length, side, fill):
    norm = MaskedBatchNorm(1, momentum=1.0)
    x, mask = pad(SENTENCES, length, side, fill)
    out = norm(x, mask)
    assert norm.running_mean.item() == 3.0
    assert norm.running_var.item() == 1.0
    assert norm.num_batches_tracked.item() == 1
    # biased variance 4 / 5: (2 - 3) / sqrt(0.8) = -1.118
    assert out[mask.bool()].flatten().tolist() == pytest.approx([-1.11803, 1.11803, -1.11803, 1.11803, 0], abs=1e-4)


def test_without_a_mask_padding_counts():
    norm = MaskedBatchNorm(1, momentum=1.0)
    norm(pad(SENTENCES)[0])
    assert norm.running_mean.item() == 1.875
    assert norm.running_var.item() == pytest.approx(2.98214, abs=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.1, 0.25])
def test_like_torch_on_the_real_tokens_alone(momentum):
    ours, theirs = MaskedBatchNorm(8, momentum=momentum).double(), torch.nn.BatchNorm1d(8, momentum=momentum).double()
    for seed in range(3):
        (x,), mask = random_batch(seed, num_states=1)
        torch.testing.assert_close(ours(x, mask)[mask.bool()], theirs(x[mask.bool()]), rtol=0, atol=1e-12)
    torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()), rtol=0, atol=1e-12)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(x, mask)[mask.bool()], theirs(x[mask.bool()]), rtol=0, atol=1e-12)


def test_two_tokens_are_enough():
    norm = MaskedBatchNorm(1, momentum=1.0, eps=0.0)
    out = norm(torch.tensor([2.0, 4.0, 9.0]).reshape(1, 3, 1), torch.tensor([[1, 1, 0]]))
    assert (norm.running_mean.item(), norm.running_var.item()) == (3.0, 2.0)
    assert out[0, :2, 0].tolist() == pytest.approx([-1.0, 1.0])


def test_channels_far_from_zero_keep_their_variance():
    x = 1e4 + torch.tensor([2.0, 4.0, 2.0, 4.0, 3.0]).reshape(1, 5, 1)
    norm = MaskedBatchNorm(1, momentum=1.0)
    norm(x)
    assert norm.running_var.item() == pytest.approx(1.0, abs=1e-4)  # E[x^2] - E[x]^2 in float32 would be off by 8


@pytest.mark.parametrize("make", [lambda: MaskedBatchNorm(8), lambda: AIF(8)])
@pytest.mark.parametrize("real", [0, 1])
def test_with_fewer_than_two_tokens_the_running_statistics_serve_and_stay(real, make):
    torch.manual_seed(0)
    module = make()
    (x,), mask = random_batch(1, num_states=1, dtype=torch.float32)
    module(x, mask)
    before = buffers_of(module)
    few = torch.zeros_like(mask)
    few[1, :real] = 1
    out = module(x.requires_grad_(), few)
    torch.testing.assert_close(buffers_of(module), before, rtol=0, atol=0)
    torch.testing.assert_close(out, module.eval()(x, few), rtol=0, atol=1e-6)  # another kernel
    out.sum().backward()
    assert out.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


def test_one_sentence_alone_in_training():
    """A sentence has many tokens but one mean: the local branch learns its statistics, the global one keeps them."""
    torch.manual_seed(0)
    dlfa = DLFA(8)
    (lower, upper), mask = random_batch(1, lengths=(4,), dtype=torch.float32)
    assert dlfa(lower, upper, attention_mask=mask).isfinite().all()
    global_branch, local_branch = dlfa.aif[0].branches
    assert global_branch.norm1.num_batches_tracked == 0
    assert (global_branch.norm2.running_var == 1).all()
    assert local_branch.norm1.num_batches_tracked == 1
    assert (local_branch.norm2.running_var != 1).all()


def test_evaluation_changes_no_buffer():
    torch.manual_seed(0)
    dlfa = DLFA(8).double()
    states, mask = random_batch(1)
    dlfa(*states, attention_mask=mask)
    before = buffers_of(dlfa)
    dlfa.eval()(*states, attention_mask=mask)
    torch.testing.assert_close(buffers_of(dlfa), before, rtol=0, atol=0)
