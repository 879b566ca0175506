"""16 bits: statistics stay in float32 and finite however the module or its features come to be narrow."""

import pytest
import torch
from torch import nn

from dlfa_adapters.fusion import AIF, DLFA, MaskedBatchNorm

from .batches import pad, random_batch
from .test_masked_batch_norm import SENTENCES

NARROW = [torch.float16, torch.bfloat16]


def statistics(module):
    return {name: buffer for name, buffer in module.named_buffers() if "running" in name}


def assert_wide_and_finite(module):
    assert statistics(module)
    for name, buffer in statistics(module).items():
        assert buffer.dtype == torch.float32, name
        assert buffer.isfinite().all(), name


def by_constructor(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return DLFA(8, gate="attention")
    finally:
        torch.set_default_dtype(before)


def by_load(dtype, assign):
    dlfa = DLFA(8, gate="attention")
    narrow = {name: x.to(dtype) if x.is_floating_point() else x for name, x in dlfa.state_dict().items()}
    dlfa.load_state_dict(narrow, assign=assign)
    return dlfa if assign else dlfa.to(dtype)


CASTS = {
    "to": lambda dtype: DLFA(8, gate="attention").to(dtype),
    "method": lambda dtype: {torch.float16: nn.Module.half, torch.bfloat16: nn.Module.bfloat16}[dtype](
        DLFA(8, gate="attention")
    ),
    "keyword": lambda dtype: DLFA(8, gate="attention").to(device="cpu", dtype=dtype),
    "constructor": by_constructor,
    "load": lambda dtype: by_load(dtype, assign=False),
    "load_assign": lambda dtype: by_load(dtype, assign=True),
    "meta": lambda dtype: DLFA(8, gate="attention").to("meta").to(dtype).to_empty(device="cpu"),
}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("cast", CASTS)
def test_statistics_stay_in_float32(cast, dtype):
    torch.manual_seed(0)
    dlfa = CASTS[cast](dtype)
    if cast == "meta":
        dlfa.reset_parameters()
    states, mask = random_batch(1, dtype=torch.float32)
    states = [state.to(dtype) for state in states]
    for training in (True, False):
        fused = dlfa.train(training)(*states, attention_mask=mask)
        assert fused.dtype == dtype
        assert fused.isfinite().all()
    assert {parameter.dtype for parameter in dlfa.parameters()} == {dtype}
    assert_wide_and_finite(dlfa)
    assert all(norm.num_batches_tracked == 1 for norm in dlfa.modules() if isinstance(norm, MaskedBatchNorm))


def test_casting_does_not_round_the_statistics():
    norm = MaskedBatchNorm(1)
    norm.running_mean.fill_(0.1)
    norm.half().bfloat16().float()
    assert norm.running_mean.item() == pytest.approx(0.1, abs=1e-8)  # 0.1 in 16 bits is 0.09998


def test_double_widens_and_half_does_not_narrow_again():
    norm = MaskedBatchNorm(1).double()
    assert norm.running_var.dtype == torch.float64
    assert norm.half().running_var.dtype == torch.float64
    assert norm.weight.dtype == torch.float16


@pytest.mark.parametrize("dtype", NARROW)
def test_features_whose_squares_overflow(dtype):
    """Times 400: mean 1200, variance 160 000, above the 65 504 of float16."""
    norm = MaskedBatchNorm(1, momentum=1.0).to(dtype)
    x, mask = pad([400 * sentence for sentence in SENTENCES])
    out = norm(x.to(dtype), mask)
    assert norm.running_mean.item() == 1200
    assert norm.running_var.item() == 160_000
    assert out[mask.bool()].flatten().tolist() == pytest.approx([-1.118, 1.118, -1.118, 1.118, 0], abs=0.01)


@pytest.mark.parametrize("module", [AIF, lambda width: DLFA(width, gate="attention")])
def test_large_features_in_float16_give_finite_states(module):
    torch.manual_seed(0)
    fusion = module(8).half()
    (lower, upper), mask = random_batch(1, dtype=torch.float32)
    states = [400 * lower.half(), 400 * upper.half()]
    assert max(state.abs().max() for state in states) > 500
    fused = fusion(*states, attention_mask=mask) if isinstance(fusion, DLFA) else fusion(states[0], mask)
    assert fused.isfinite().all()
    assert_wide_and_finite(fusion)


def test_the_printed_gate_squares_the_features_and_so_overflows_float16():
    """A limit of equation (4) itself: W = 400, its sigmoid 1/2, so L = 800 * 200 = 160 000. bfloat16 holds it."""
    lower, upper = torch.full((2, 3, 8), 800.0), torch.zeros(2, 3, 8)
    assert (DLFA(8)(lower, upper) == 160_000).all()
    assert DLFA(8).half()(lower.half(), upper.half()).isinf().all()
    assert (DLFA(8).bfloat16()(lower.bfloat16(), upper.bfloat16()) / 160_000 - 1).abs().max() < 0.01


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_autocast(norm):
    torch.manual_seed(0)
    dlfa = DLFA(8, gate="attention", norm=norm)
    states, mask = random_batch(1, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fused = dlfa(*(400 * state for state in states), attention_mask=mask)
    fused.float()[mask.bool()].sum().backward()
    assert fused.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in dlfa.parameters())
    if norm == "batch":
        assert_wide_and_finite(dlfa)


@pytest.mark.parametrize("with_mask", [True, False])
def test_a_long_mean_in_16_bits(with_mask):
    """4096 tokens of 100 sum to more than float16 holds."""
    aif = AIF(4).half()
    x = torch.full((2, 4096, 4), 100.0, dtype=torch.float16)
    assert aif(x, torch.ones(2, 4096) if with_mask else None).isfinite().all()


@pytest.mark.parametrize("dtype", NARROW)
def test_close_to_float32(dtype):
    torch.manual_seed(0)
    dlfa = DLFA(8)
    states, mask = random_batch(1, dtype=torch.float32)
    want = dlfa(*states, attention_mask=mask)
    got = dlfa.to(dtype)(*(state.to(dtype) for state in states), attention_mask=mask)
    tolerance = 0.01 if dtype == torch.float16 else 0.1
    assert (got.float() - want)[mask.bool()].abs().max() < tolerance
