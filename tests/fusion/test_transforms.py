"""Copies, saved states, meta tensors, `functional_call`, `vmap` and `torch.compile`."""

import copy

import jaxtyping
import pytest
import torch
from safetensors.torch import load, save
from torch.func import functional_call, stack_module_state

from dlfa_adapters.fusion import DLFA, make_fusion

from .batches import random_batch


def trained(seed=0, fusion="dlfa", **options):
    """A fusion whose weights and statistics have moved, with the batch that moved them."""
    torch.manual_seed(seed)
    module = make_fusion(fusion, 8, num_layers=1, **options)
    states, mask = random_batch(seed, dtype=torch.float32)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(*states, attention_mask=mask)[mask.bool()].square().mean().backward()
        optimizer.step()
    return module, states, mask


@pytest.mark.parametrize("assign", [True, False])
@pytest.mark.parametrize("fusion", ["dlfa", "scalar_mix", "concat"])
def test_a_saved_state_comes_back_to_the_bit(fusion, assign):
    module, states, mask = trained(fusion=fusion)
    other = make_fusion(fusion, 8, num_layers=1)
    other.load_state_dict(load(save(module.state_dict())), assign=assign)
    for training in (False, True):
        want = module.train(training)(*states, attention_mask=mask)
        assert torch.equal(other.train(training)(*states, attention_mask=mask), want)
    torch.testing.assert_close(other.state_dict(), module.state_dict(), rtol=0, atol=0)


def test_a_state_without_statistics_is_refused():
    module, *_ = trained()
    state = {name: tensor for name, tensor in module.state_dict().items() if "running_var" not in name}
    with pytest.raises(RuntimeError, match=r"Missing key.*running_var"):
        DLFA(8).load_state_dict(state)


@pytest.mark.parametrize("assign", [True, False])
def test_from_the_meta_device(assign):
    module, states, mask = trained()
    with torch.device("meta"):
        other = DLFA(8)
    if not assign:
        other = other.to_empty(device="cpu")
    other.load_state_dict(module.state_dict(), assign=assign)
    assert {tensor.device.type for tensor in other.state_dict().values()} == {"cpu"}
    assert torch.equal(other(*states, attention_mask=mask), module(*states, attention_mask=mask))


def test_a_copy_shares_nothing():
    module, states, mask = trained()
    before = copy.deepcopy(module.state_dict())
    other = copy.deepcopy(module)
    other(*states, attention_mask=mask)
    other.reset_parameters()
    torch.testing.assert_close(module.state_dict(), before, rtol=0, atol=0)


def test_functional_call_updates_the_buffers_it_is_given():
    module, states, mask = trained()
    before = copy.deepcopy(module.state_dict())
    given = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
    fused = functional_call(module, given, tuple(states), {"attention_mask": mask})
    torch.testing.assert_close(module.state_dict(), before, rtol=0, atol=0)
    assert torch.equal(fused, module(*states, attention_mask=mask))
    torch.testing.assert_close(given, dict(module.state_dict()), rtol=0, atol=0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("fusion", ["dlfa", "scalar_mix", "concat"])
def test_vmap_over_stacked_modules(fusion, norm, training):
    """Three modules as one, on three batches of states with one mask: outputs, statistics and gradients."""
    modules = [trained(seed, fusion, norm=norm)[0].train(training) for seed in range(3)]
    batches = [random_batch(seed, dtype=torch.float32)[0] for seed in (10, 20, 30)]
    mask = random_batch(10)[1]
    parameters, buffers = stack_module_state(modules)
    skeleton = copy.deepcopy(modules[0]).to("meta")

    def one(parameters, buffers, lower, upper):
        return functional_call(skeleton, (parameters, buffers), (lower, upper), {"attention_mask": mask})

    lowers, uppers = (torch.stack(states) for states in zip(*batches, strict=True))
    fused = torch.vmap(one)(parameters, buffers, lowers, uppers)
    fused[:, mask.bool()].square().sum().backward()
    for i, (module, states) in enumerate(zip(modules, batches, strict=True)):
        module.zero_grad()
        want = module(*states, attention_mask=mask)
        want[mask.bool()].square().sum().backward()
        torch.testing.assert_close(fused[i], want, rtol=1e-5, atol=1e-5)
        for name, buffer in module.named_buffers():
            torch.testing.assert_close(buffers[name][i], buffer, rtol=1e-5, atol=1e-5)
        for name, parameter in module.named_parameters():
            torch.testing.assert_close(parameters[name].grad[i], parameter.grad, rtol=1e-4, atol=1e-4)


@pytest.fixture
def unchecked_shapes():
    """Dynamo cannot trace through the checks of shapes."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
    torch.compiler.reset()


@pytest.mark.usefixtures("unchecked_shapes")
def test_compile_traces_one_graph():
    """Nothing branches on a value, so there is no graph break; the eager backend needs no C compiler."""
    module, states, mask = trained()
    other = copy.deepcopy(module)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    got, want = (fusion(*states, attention_mask=mask) for fusion in (compiled, other))
    torch.testing.assert_close(got, want)
    got.sum().backward()
    torch.testing.assert_close(module.state_dict(), other.state_dict())
