"""Which layers can be fused, and which states a fusion takes."""

import json

import numpy as np
import pytest
import torch

from dlfa_adapters.fusion import FUSIONS, check_fuse_layer, select_states, state_indices


@pytest.mark.parametrize(
    ("given", "checked"),
    [(0, (0,)), (8, (8,)), (12, (12,)), ((7, 4), (7, 4)), ([7, 4], (7, 4)), ((12,), (12,)), ((4, 12), (4, 12))],
)
def test_layers_that_the_encoder_has(given, checked):
    assert check_fuse_layer(given, 12) == checked


@pytest.mark.parametrize("given", [np.int64(8), (np.int32(8),), [np.uint8(8)]])
def test_numpy_integers_become_plain_ones(given):
    """`for k in np.arange(1, 13)` is how a sweep is written; JSON, which a head is saved in, has plain ints only."""
    checked = check_fuse_layer(given, 12)
    assert checked == (8,)
    assert json.dumps(checked) == "[8]"


@pytest.mark.parametrize(
    "given",
    [
        True,
        False,
        (True,),
        (1, False),
        8.0,
        (8.0,),
        np.float64(8),
        np.bool_(True),
        "8",
        None,
        (),
        [],
        (7, None),
        {7, 4},
        ((7,),),
    ],
)
def test_what_is_no_layer_number(given):
    with pytest.raises(
        ValueError, match=r"^fuse_layer must be a layer number 0\.\.12, or a tuple of them, got "
    ) as error:
        check_fuse_layer(given, 12)
    assert repr(given) in str(error.value)
    assert str(error.value).endswith("type e.g. fuse_layer=8.")


@pytest.mark.parametrize(("num_layers", "example"), [(1, 1), (2, 1), (6, 4), (24, 16)])
def test_the_example_in_the_message_is_a_layer_of_this_encoder(num_layers, example):
    with pytest.raises(ValueError, match=f"type e.g. fuse_layer={example}.$"):
        check_fuse_layer("x", num_layers)


@pytest.mark.parametrize(("given", "named"), [(-1, -1), (13, 13), ((4, 13), 13), ((-12, 4), -12), (np.int64(13), 13)])
def test_a_layer_that_the_encoder_does_not_have(given, named):
    message = (
        rf"^fuse_layer must lie in 0\.\.12 \(0 the embeddings, 12 the last block of this encoder\), got {named}\.$"
    )
    with pytest.raises(ValueError, match=message):
        check_fuse_layer(given, 12)


@pytest.mark.parametrize("given", [(4, 4), [7, 4, 7], (4, np.int64(4))])
def test_a_layer_named_twice(given):
    with pytest.raises(ValueError, match=r"^fuse_layer names a layer twice: .*; type each layer once.$"):
        check_fuse_layer(given, 12)


def test_state_indices_of_every_fusion():
    got = {fusion: state_indices(fusion, (7, 4), 12) for fusion in FUSIONS if fusion != "layer"}
    assert got == {"dlfa": (7, 4, 12), "concat": (7, 4, 12), "last": (12,), "scalar_mix": tuple(range(13))}
    assert state_indices("layer", (7,), 12) == (7,)
    assert state_indices("last", (), 12) == (12,)
    assert state_indices("dlfa", (12,), 12) == (12, 12)  # the paper's control, D_12


def test_the_upper_state_is_the_last_hidden_state():
    """Some encoders norm `last_hidden_state` but not `hidden_states[-1]`."""
    hidden = tuple(torch.full((1, 2, 3), float(k)) for k in range(5))
    last = torch.full((1, 2, 3), 99.0)
    assert [state[0, 0, 0].item() for state in select_states((0, 3, 4), hidden, last)] == [0, 3, 99]
    assert select_states((4,), hidden, last)[0] is last
    assert select_states((4, 4), hidden, last) == (last, last)
    mixed = select_states(state_indices("scalar_mix", (), 4), hidden, last)
    assert [state[0, 0, 0].item() for state in mixed] == [0, 1, 2, 3, 99]
