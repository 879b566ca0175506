"""Every refusal, by its sentence: what was expected, what came, what to type."""

import re

import pytest
import torch

from dlfa_adapters.fusion import AIF, DLFA, ConcatMLP, OneLayer, ScalarMix, make_fusion


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("branches", "both, global, local"),
        ("norm", "batch, layer, none"),
        ("init", "kaiming, identity"),
        ("gate", "product, attention"),
    ],
)
@pytest.mark.parametrize("make", [lambda **o: DLFA(8, **o), lambda **o: make_fusion("dlfa", 8, num_layers=4, **o)])
def test_an_unknown_value_of_an_option(make, option, allowed):
    with pytest.raises(ValueError, match=f"^{option} must be one of {allowed}; got 'bogus'.$"):
        make(**{option: "bogus"})


def test_an_unknown_fusion():
    with pytest.raises(
        ValueError,
        match=r"^fusion must be one of dlfa, last, layer, scalar_mix, concat; got 'mean'\. One of your own is among",
    ):
        make_fusion("mean", 8, num_layers=4)


@pytest.mark.parametrize("reduction", [0, -1, 9, True, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "make", [AIF, DLFA, ConcatMLP, lambda width, r: make_fusion("concat", width, num_layers=4, reduction=r)]
)
def test_a_reduction_that_leaves_no_width(make, reduction):
    message = f"reduction must lie above 0 and up to the width 8, got {reduction!r}; type reduction=4."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make(8, reduction)


@pytest.mark.parametrize("num_lower", [0, -1])
@pytest.mark.parametrize("fusion", ["dlfa", "concat"])
def test_no_lower_layer(fusion, num_lower):
    with pytest.raises(ValueError, match=f"^num_lower must be at least 1, got {num_lower}; type num_lower=1.$"):
        make_fusion(fusion, 8, num_layers=4, num_lower=num_lower)


def test_one_layer_alone_takes_one():
    with pytest.raises(ValueError, match=r'^fusion="layer" takes one layer, got 2; type e.g. fuse_layer=8.$'):
        make_fusion("layer", 8, num_layers=12, num_lower=2)


@pytest.mark.parametrize(
    ("fusion", "expected"),
    [(DLFA(8), 2), (DLFA(8, num_lower=3), 4), (ScalarMix(5), 5), (ConcatMLP(8, num_lower=2), 3), (OneLayer(), 1)],
)
@pytest.mark.parametrize("difference", [-1, 1])
def test_a_wrong_number_of_states(fusion, expected, difference):
    count = expected + difference
    message = f"{type(fusion).__name__} fuses {expected} states .the last one the upper layer., got {count}.$"
    with pytest.raises(ValueError, match=message):
        fusion(*[torch.zeros(1, 2, 8)] * count)
