"""Which heads a sweep trains: the baseline, D_1..D_L, and by request everything that they are compared with.

A request is a list of names, e.g. `["gates", "branches:7", "nested:10-7-4"]`. Behind a colon stand the layers of one
head; without them the ablations are made at the task's default layer, the others at all layers. Any fusion and any of
its options can be requested: `maximum`, `power.exponent=1/2/4`, `dlfa.mask_padding=false:7`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dlfa_adapters.fusion.build import FUSIONS, check_fuse_layer, options_of_fusion
from dlfa_adapters.fusion.options import no_such_option
from dlfa_adapters.ground.errors import ConfigError, as_config_error

if TYPE_CHECKING:
    from dlfa_adapters.learning.frozen import HeadSpec

BASELINE = "last"
"""Name of the baseline in every sweep: the last layer alone."""
_NESTED_OF_12 = ((9, 6), (10, 7, 4), (11, 9, 7, 5, 3))
_ABLATIONS = {
    "branches": ("dlfa.branches", "{}"),
    "norms": ("dlfa.norm", "norm {}"),
    "init": ("dlfa.init", "{}"),
    "reductions": ("dlfa.reduction=1/4/16", "r={}"),
}
"""What short names stand for, and how the heads are called."""
_OTHERS = {"layers": "layer", "mix": "scalar_mix", "concat": "concat"}
EXTRAS = ("gates", *_ABLATIONS, "nested", *_OTHERS, "controls")
"""`gates`: the other gate; `branches`, `norms`, `init`, `reductions`: ablations; `nested`: several layers; `layers`,
`mix`, `concat`: one layer alone, all of them, an MLP of equal size; `controls`: these three."""

_Layers = tuple[int, ...]


class Extra(NamedTuple):
    """One request.

    Attributes:
        name: A name of `EXTRAS`, or of a fusion.
        layers: The layers behind the colon; () for none.
        option: The option that is varied.
        values: Its values.
        title: What stands behind the name of a head, with a place for the value.
    """

    name: str
    layers: _Layers = ()
    option: str = ""
    values: tuple[object, ...] = ()
    title: str = "{}"


def read_extra(item: str) -> Extra:
    """What is requested by `branches:7` or `power.exponent=1/2/4`.

    Raises:
        ConfigError: If there is nothing of that name, or an option cannot have such values.
    """
    requested, _, behind = item.strip().partition(":")
    layers = _numbers(behind, item) if behind else ()
    if requested in EXTRAS and requested not in _ABLATIONS:
        return Extra(requested, layers)
    pattern, title = _ABLATIONS.get(requested, (requested, ""))
    fusion, _, varied = pattern.partition(".")
    option, _, typed = varied.partition("=")
    if fusion not in FUSIONS:
        raise ConfigError(
            f"expected {', '.join(EXTRAS)} or a fusion in --with, got {requested!r}; type e.g. --with gates,branches:7."
        )
    if not varied:
        return Extra(fusion, layers)
    known = options_of_fusion(fusion)
    if option not in known:
        raise ConfigError(no_such_option(f"The fusion {fusion!r} has no", option, known))
    values = known[option].choices or ((True, False) if known[option].type is bool else ())
    with as_config_error():
        values = tuple(known[option].parse(each) for each in typed.split("/")) if typed else values
    if not values:
        raise ConfigError(f"expected values of {fusion}.{option}; type e.g. {fusion}.{option}=1/2/4.")
    return Extra(fusion, layers, option, values, title or option + "={}")


def make_variants(
    base: "HeadSpec",
    num_layers: int,
    *,
    layers: Iterable[int] | None = None,
    extra: Iterable[str] = (),
    at: int | None = None,
) -> "list[HeadSpec]":
    """The heads of a sweep, from one seed.

    Args:
        base: Options that all DLFA heads share, and the seed; its name and layers are not used.
        num_layers: Number of blocks L of the encoder.
        layers: Which D_k; default: all. The control D_L is always there.
        extra: What else, see `read_extra`, each with or without layers.
        at: Where ablations are made when they name no layer; default: two thirds of the depth.

    Returns:
        The specs in the order of a table; no two are the same head.

    Raises:
        ConfigError: If a name is unknown, or the encoder has no such layer.
    """
    wanted = list(range(1, num_layers + 1)) if layers is None else [*layers]
    at = max(1, round(8 * num_layers / 12)) if at is None else at
    specs = [base.changed(BASELINE, fusion="last", fuse_layer=())]
    specs += [_head(base, "dlfa", _checked((k,), num_layers)) for k in dict.fromkeys([*wanted, num_layers])]
    for item in extra:
        parsed = read_extra(item)
        _checked(parsed.layers, num_layers)
        specs += _made(base, num_layers, parsed, at)
    return list({spec.name: spec for spec in specs}.values())


def with_seeds(specs: "Iterable[HeadSpec]", seeds: int) -> "list[HeadSpec]":
    """Each head from several seeds, one after the other, beginning with its own."""
    check_seeds(seeds)
    return [replace(spec, seed=spec.seed + i) for spec in specs for i in range(seeds)]


def _head(base: "HeadSpec", fusion: str, layers: _Layers, suffix: str = "", **options: object) -> "HeadSpec":
    """A head with a fusion, named after it, its layers and what differs."""
    joined = "-".join(map(str, layers))
    called = {"dlfa": f"D_{joined}", "scalar_mix": "mix"}.get(fusion, f"{fusion} {joined}".strip())
    return base.changed(f"{called}{suffix and ' '}{suffix}", fusion=fusion, fuse_layer=layers, **options)


def _made(base: "HeadSpec", num_layers: int, extra: Extra, at: int) -> "Iterator[HeadSpec]":
    name, layers = extra.name, extra.layers
    every = [layers] if layers else [(k,) for k in range(1, num_layers + 1)]
    if name == "controls":
        for each in _OTHERS:
            yield from _made(base, num_layers, extra._replace(name=each), at)
    elif name == "nested":
        for of_12 in [layers] if layers else _NESTED_OF_12:
            chosen = layers or tuple(dict.fromkeys(max(1, round(k * num_layers / 12)) for k in of_12))
            if len(chosen) > 1:
                yield _head(base, "dlfa", chosen)
    elif name == "gates":
        other = "product" if base.head.fusion_options.gate == "attention" else "attention"
        yield from (_head(base, "dlfa", chosen, other, gate=other) for chosen in every)
    elif extra.option:
        default = getattr(base.changed("", fusion=name).head.fusion_options, extra.option)
        at_layers = (layers or (at,)) if FUSIONS[name].takes_layers else ()
        for value in extra.values:
            if value != default or name != "dlfa":  # the others are not there unless requested
                suffix = extra.title.format(value)
                yield _head(base, name, at_layers, suffix, **{extra.option: value})
    elif _OTHERS.get(name, name) == "layer":
        yield from (_head(base, "layer", (k,)) for k in layers or range(num_layers))
    elif not FUSIONS[_OTHERS.get(name, name)].takes_layers:
        yield _head(base, _OTHERS.get(name, name), ())
    else:
        below = every if layers or name == "dlfa" else every[:-1]
        yield from (_head(base, _OTHERS.get(name, name), chosen) for chosen in below)


def check_seeds(seeds: int) -> None:
    """Refuse, with a `ConfigError`, a number of seeds below 1."""
    if seeds < 1:
        raise ConfigError(f"expected at least one seed, got {seeds}; type --seeds 3.")


def _numbers(text: str, item: str) -> _Layers:
    if not re.fullmatch(r"\d+(-\d+)*", text):
        raise ConfigError(f"expected layers behind the colon, such as nested:10-7-4, got {item!r}.")
    return tuple(map(int, text.split("-")))


def _checked(layers: _Layers, num_layers: int) -> _Layers:
    with as_config_error():
        return check_fuse_layer(layers, num_layers) if layers else ()
