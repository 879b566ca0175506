"""Which heads a sweep trains: the baseline, D_1..D_L, and by request everything that they are compared with.

A request is a list of names, e.g. `["gates", "branches:7", "nested:10-7-4"]`. Behind a colon stand the layers of one
head; without them the ablations are made at the task's default layer, the others at all layers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from dlfa_adapters.fusion import check_fuse_layer
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.sweeps.asked import check_seeds, split_extra
from dlfa_adapters.sweeps.trainings import BASELINE

_NESTED_OF_12 = ((9, 6), (10, 7, 4), (11, 9, 7, 5, 3))
_Layers = tuple[int, ...]


def make_variants(
    base: HeadSpec,
    num_layers: int,
    *,
    layers: Iterable[int] | None = None,
    extra: Iterable[str] = (),
    at: int | None = None,
) -> list[HeadSpec]:
    """The heads of a sweep, from one seed.

    Args:
        base: Options that all DLFA heads share, and the seed; its name and layers are not used.
        num_layers: Number of blocks L of the encoder.
        layers: Which D_k; default: all. The control D_L is always there.
        extra: Names of `asked.EXTRAS`, each with or without layers.
        at: Where ablations are made when they name no layer; default: two thirds of the depth.

    Returns:
        The specs in the order of a table; no two are the same head.

    Raises:
        ConfigError: If a name is unknown, or the encoder has no such layer.
    """
    wanted = list(range(1, num_layers + 1)) if layers is None else [*layers]
    found = [replace(base, name=BASELINE, fusion="last", fuse_layer=())]
    found += [_dlfa(base, _checked((k,), num_layers)) for k in dict.fromkeys([*wanted, num_layers])]
    for item in extra:
        name, at_layers = split_extra(item)
        chosen = _checked(_numbers(at_layers, item), num_layers) if at_layers else None
        found += EXTRAS[name](base, num_layers, chosen, at or max(1, round(8 * num_layers / 12)))
    return list({spec.name: spec for spec in found}.values())


def with_seeds(specs: Iterable[HeadSpec], seeds: int) -> list[HeadSpec]:
    """Each head from several seeds, one after the other, beginning with its own.

    Raises:
        ConfigError: If there shall be none.
    """
    check_seeds(seeds)
    return [replace(spec, seed=spec.seed + i) for spec in specs for i in range(seeds)]


def _dlfa(base: HeadSpec, layers: _Layers, suffix: str = "", **options: object) -> HeadSpec:
    name = f"D_{'-'.join(map(str, layers))}{suffix and ' '}{suffix}"
    return replace(base, name=name, fusion="dlfa", fuse_layer=layers, **options)  # type: ignore[arg-type]


def _gates(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
    other = "product" if base.gate == "attention" else "attention"
    for chosen in [layers] if layers else [(k,) for k in range(1, num_layers + 1)]:
        yield _dlfa(base, chosen, other, gate=other)


def _ablation(option: str, values: Sequence[object], title: str) -> "_Extra":
    """Heads that differ from the base in one option."""

    def make(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
        for value in values:
            if value != getattr(base, option):
                yield _dlfa(base, layers or (at,), title.format(value), **{option: value})

    return make


def _single(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
    for k in layers or range(num_layers):
        yield replace(base, name=f"layer {k}", fusion="layer", fuse_layer=(k,))


def _mix(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
    yield replace(base, name="mix", fusion="scalar_mix", fuse_layer=())


def _concat(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
    for chosen in [layers] if layers else [(k,) for k in range(1, num_layers)]:
        yield replace(base, name=f"concat {'-'.join(map(str, chosen))}", fusion="concat", fuse_layer=chosen)


def _nested(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
    for of_12 in [layers] if layers else _NESTED_OF_12:
        chosen = layers or tuple(dict.fromkeys(max(1, round(k * num_layers / 12)) for k in of_12))
        if len(chosen) > 1:
            yield _dlfa(base, chosen)


def _controls(base: HeadSpec, num_layers: int, layers: _Layers | None, at: int) -> Iterator[HeadSpec]:
    for make in (_single, _mix, _concat):
        yield from make(base, num_layers, layers, at)


_Extra = Callable[[HeadSpec, int, _Layers | None, int], Iterator[HeadSpec]]

EXTRAS: dict[str, _Extra] = {
    "gates": _gates,
    "branches": _ablation("branches", ("both", "global", "local"), "{}"),
    "norms": _ablation("norm", ("batch", "layer", "none"), "norm {}"),
    "init": _ablation("init", ("kaiming", "identity"), "{}"),
    "reductions": _ablation("reduction", (1, 4, 16), "r={}"),
    "nested": _nested,
    "layers": _single,
    "mix": _mix,
    "concat": _concat,
    "controls": _controls,
}
"""`gates`: the other gate; `branches`, `norms`, `init`, `reductions`: ablations; `nested`: several layers; `layers`,
`mix`, `concat`: one layer alone, all of them, an MLP of equal size; `controls`: these three."""


def _numbers(text: str, item: str) -> _Layers:
    try:
        return tuple(int(part) for part in text.split("-"))
    except ValueError:
        raise ConfigError(f"expected layers behind the colon, such as nested:10-7-4, got {item!r}.") from None


def _checked(layers: _Layers, num_layers: int) -> _Layers:
    try:
        return check_fuse_layer(layers, num_layers)
    except ValueError as error:
        raise ConfigError(str(error)) from error
