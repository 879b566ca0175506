"""The fused state of a sentence depends on its own tokens (in training also on its mates'), never on padding."""

import pytest
import torch

from dlfa_adapters.fusion import DLFA, ConcatMLP, ScalarMix

from .batches import buffers_of, pad, random_batch, random_sentences, unpad

OPTIONS = [
    {"gate": gate, "branches": branches, "norm": norm}
    for gate in ("product", "attention")
    for branches in ("both", "global", "local")
    for norm in ("batch", "layer", "none")
]


def make(seed=0, **options):
    torch.manual_seed(seed)
    return DLFA(8, **options).double()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
@pytest.mark.parametrize("training", [True, False])
def test_more_padding_and_the_other_side(options, training):
    outputs, buffers = [], []
    for padding in (
        {"length": 4},
        {"length": 9},
        {"length": 9, "side": "left"},
        {"length": 9, "fill": 7.0},
        {"length": 9, "fill": float("inf")},
        {"length": 9, "fill": float("nan"), "side": "left"},
    ):
        dlfa = make(**options).train(training)
        states, mask = random_batch(1, **padding)
        outputs.append(torch.cat(unpad(dlfa(*states, attention_mask=mask), mask)))
        buffers.append(buffers_of(dlfa))
    for other in range(1, len(outputs)):
        torch.testing.assert_close(outputs[other], outputs[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(buffers[other], buffers[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
def test_batch_mates_do_not_matter_in_evaluation(options):
    dlfa = make(**options)
    states, mask = random_batch(1)
    dlfa(*states, attention_mask=mask)  # running statistics that are not 0 and 1
    dlfa = dlfa.float().eval()
    lower, upper = (random_sentences(seed, (4, 1, 3, 6), 8, torch.float32) for seed in (2, 3))
    (batch_lower, mask), (batch_upper, _) = pad(lower), pad(upper)
    together = unpad(dlfa(batch_lower, batch_upper, attention_mask=mask), mask)
    for one_lower, one_upper, fused in zip(lower, upper, together, strict=True):
        alone = dlfa(one_lower[None], one_upper[None], attention_mask=torch.ones(1, len(one_lower)))
        torch.testing.assert_close(alone[0], fused, rtol=0, atol=1e-5)


def test_paddings_gradient_does_not_depend_on_what_stands_there():
    gradients = []
    for fill in (0.0, 1e4):
        dlfa = make()
        states, mask = random_batch(1, fill=fill)
        fused = dlfa(*states, attention_mask=mask)
        fused[mask.bool()].square().sum().backward()
        gradients.append({name: parameter.grad for name, parameter in dlfa.named_parameters()})
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


def test_padding_counted_does_matter():
    """The option that counts padding is not a no-op."""
    short, long = (random_batch(1, length=length) for length in (4, 9))
    fused = [
        torch.cat(unpad(make(mask_padding=False)(*states, attention_mask=mask), mask)) for states, mask in (short, long)
    ]
    assert (fused[0] - fused[1]).abs().max() > 0.01


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.float32, torch.float16])
def test_masks_of_every_dtype(dtype):
    states, mask = random_batch(1)
    want = make()(*states, attention_mask=mask)
    torch.testing.assert_close(make()(*states, attention_mask=mask.to(dtype)), want, rtol=0, atol=0)


def test_a_mask_of_ones_is_no_mask():
    states, mask = random_batch(1, lengths=(4, 4))
    torch.testing.assert_close(make()(*states, attention_mask=mask), make()(*states), rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_a_row_of_padding_is_as_if_it_were_not_there(training):
    states, mask = random_batch(1)
    with_row, without_row = make().train(training), make().train(training)
    longer = [torch.cat([state, torch.full_like(state[:1], 5.0)]) for state in states]
    fused = with_row(*longer, attention_mask=torch.cat([mask, torch.zeros_like(mask[:1])]))
    want = without_row(*states, attention_mask=mask)
    torch.testing.assert_close(fused[:3][mask.bool()], want[mask.bool()], rtol=0, atol=1e-12)
    torch.testing.assert_close(buffers_of(with_row), buffers_of(without_row), rtol=0, atol=1e-12)
    assert fused.isfinite().all()


@pytest.mark.parametrize("make_control", [lambda: ScalarMix(2), lambda: ConcatMLP(8)])
def test_the_controls_look_at_each_position_alone(make_control):
    torch.manual_seed(0)
    control = make_control().double()
    states, mask = random_batch(1)
    want = control(*states)
    torch.testing.assert_close(control(*states, attention_mask=mask), want, rtol=0, atol=0)
    alone = control(*(state[1:2, 2:3] for state in states))
    torch.testing.assert_close(alone[0, 0], want[1, 2], rtol=0, atol=1e-12)
