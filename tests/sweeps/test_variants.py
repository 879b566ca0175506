"""The grammar of what a sweep trains."""

import pytest

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.ranges import parse_numbers
from dlfa_adapters.sweeps.variants import EXTRAS, make_variants, with_seeds

BASE = HeadSpec.of(name="", gate="attention", seed=3)


def names(num_layers=12, **options):
    return [spec.name for spec in make_variants(BASE, num_layers, **options)]


def test_baseline_all_layers_and_the_control():
    specs = make_variants(BASE, 12)
    assert [spec.name for spec in specs] == ["last", *(f"D_{k}" for k in range(1, 13))]
    assert (specs[0].head.fusion, specs[0].head.layers) == ("last", ())
    assert all(
        (s.head.fusion, s.head.fusion_options.gate, s.seed, s.head.layers) == ("dlfa", "attention", 3, (k,))
        for k, s in enumerate(specs)
        if k
    )


def test_some_layers_and_always_the_control():
    assert names(layers=[7, 4, 7]) == ["last", "D_7", "D_4", "D_12"]
    assert names(layers=[12]) == ["last", "D_12"]
    assert parse_numbers("4-6, 9") == [4, 5, 6, 9]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("gates", [f"D_{k} product" for k in range(1, 13)]),
        ("gates:7", ["D_7 product"]),
        ("branches", ["D_8 global", "D_8 local"]),
        ("branches:4", ["D_4 global", "D_4 local"]),
        ("norms:7", ["D_7 norm layer", "D_7 norm none"]),
        ("init:7", ["D_7 identity"]),
        ("reductions:7", ["D_7 r=1", "D_7 r=16"]),
        ("nested", ["D_9-6", "D_10-7-4", "D_11-9-7-5-3"]),
        ("nested:5-1", ["D_5-1"]),
        ("mix", ["mix"]),
        ("layers:0", ["layer 0"]),
        ("concat:7-4", ["concat 7-4"]),
        ("controls", [*(f"layer {k}" for k in range(12)), "mix", *(f"concat {k}" for k in range(1, 12))]),
    ],
)
def test_what_is_asked_for_comes_behind(extra, expected):
    assert names(extra=[extra], at=8)[13:] == expected


def test_an_ablation_may_be_of_the_embeddings():
    assert names(extra=["branches"], at=0)[13:] == ["D_0 global", "D_0 local"]


def test_an_ablation_differs_in_one_option():
    by_name = {spec.name: spec for spec in make_variants(BASE, 12, extra=EXTRAS)}
    assert by_name["D_8 local"] == HeadSpec.of(
        name="D_8 local", fuse_layer=(8,), gate="attention", branches="local", seed=3
    )
    assert by_name["D_8 norm none"].head.fusion_options.norm == "none"
    assert by_name["D_8 identity"].head.fusion_options.init == "identity"
    assert by_name["D_3 product"].head.fusion_options.gate == "product"
    assert by_name["concat 7"].head.fusion == "concat"
    assert by_name["layer 7"].head.fusion == "layer"


def test_what_is_asked_for_twice_is_there_once():
    assert names(extra=["mix", " mix", "controls", "nested:7"]).count("mix") == 1
    assert len(set(names(extra=list(EXTRAS)))) == len(names(extra=list(EXTRAS)))


def test_a_shallow_encoder():
    assert names(3, extra=["nested"], at=2)[4:] == ["D_2-1", "D_3-2-1"]
    assert names(1, extra=["gates", "controls", "nested"], at=None) == ["last", "D_1", "D_1 product", "layer 0", "mix"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extra": ["gate"]}, "got 'gate'; type e.g. --with gates,branches:7"),
        ({"extra": ["norms:x"]}, "expected layers behind the colon"),
        ({"extra": ["norms:13"]}, "must lie in 0..12"),
        ({"layers": [13]}, "must lie in 0..12"),
        ({"extra": ["nested:4-4"]}, "names a layer twice"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ConfigError, match=message):
        make_variants(BASE, 12, **options)
    with pytest.raises(ConfigError, match="4-9 or 1,7, got 'a'"):
        parse_numbers("a")


def test_seeds_stand_side_by_side():
    seeded = with_seeds(make_variants(BASE, 2), 2)
    assert [(s.name, s.seed) for s in seeded] == [(n, s) for n in ("last", "D_1", "D_2") for s in (3, 4)]
    with pytest.raises(ConfigError, match="at least one seed, got 0"):
        with_seeds(make_variants(BASE, 2), 0)
