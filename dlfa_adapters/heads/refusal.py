"""Compositions that adapters 1.3 computes wrongly, refused with the reason.

`Parallel` and `BatchSplit` promise each adapter's own result. For some methods upstream gives another one, mostly
without an error. A head cannot repair that, so such a composition is refused when it is activated. Everything else is
equal to the single runs: a test compares stock heads over methods and compositions, and finds these and no others.
"""

from collections.abc import Iterator
from typing import Any

from adapters.composition import AdapterCompositionBlock, Average, BatchSplit, Parallel, Stack
from adapters.configuration import (
    BnConfig,
    ConfigUnion,
    LoRAConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    ReftConfig,
)

from dlfa_adapters.ground.errors import ConfigError

_LAYOUT = {
    BnConfig: (
        "is_parallel",
        "mh_adapter",
        "output_adapter",
        "original_ln_before",
        "original_ln_after",
        "residual_before_ln",
        "leave_out",
    ),
    LoRAConfig: ("composition_mode", "selfattn_lora", "intermediate_lora", "output_lora", "attn_matrices", "leave_out"),
    PrefixTuningConfig: ("prefix_length", "encoder_prefix", "cross_prefix", "leave_out"),
}
"""The methods that follow a composition, with the options that decide where and in what order they act."""


def check_composition(setup: AdapterCompositionBlock | None, adapters_config: Any, config: Any) -> None:
    """Refuse a composition that gives other results than its adapters one by one.

    Args:
        setup: The composition.
        adapters_config: The model's own, which has the method of each adapter.
        config: The encoder's own, which tells whether it is a DeBERTa: there LoRA goes wrong too.

    Raises:
        ConfigError: With the reason and what to do instead.
    """
    for block in _blocks(setup):
        reason = _reason(block, setup, adapters_config, config)
        if reason:
            raise ConfigError(
                f"adapters 1.3 does not give each adapter's own result in {block}: {reason}; "
                f"activate the adapters one at a time."
            )


def _blocks(node: Any) -> Iterator[AdapterCompositionBlock]:
    if isinstance(node, (Parallel, BatchSplit)):
        yield node
    if isinstance(node, AdapterCompositionBlock):
        for child in node.children:
            yield from _blocks(child)


def _reason(block: AdapterCompositionBlock, setup: Any, adapters_config: Any, config: Any) -> str | None:
    """Why the block goes wrong, or None. `inside` are the adapters of the block, `every` those of the composition."""
    inside = {name: _methods(adapters_config, name) for name in block.flatten()}
    every = [method for name in setup.flatten() for method in _methods(adapters_config, name)]
    firsts = _firsts(block) if _starts_with(setup, block) else set()
    nested = any(isinstance(child, AdapterCompositionBlock) for child in block.children)
    bottlenecks = [m for methods in inside.values() for m in methods if isinstance(m, BnConfig)]
    if len(firsts) > 1:
        for name in firsts:
            if any(isinstance(m, BnConfig) and m.inv_adapter for m in inside[name]):
                return "only the first adapter's invertible layers are applied"
            if any(isinstance(m, (PromptTuningConfig, ReftConfig)) for m in inside[name]):
                return "only the first adapter's prompt or ReFT is applied"
    if not all(_layout(methods) for methods in inside.values()):
        return "prompt tuning and ReFT do not follow a composition"
    if any(isinstance(m, LoRAConfig) and m.use_dora for methods in inside.values() for m in methods):
        return "the magnitudes of DoRA are applied to all channels"
    if _shares_attention(config) and any(isinstance(m, LoRAConfig) for m in every):
        return "the LoRA layers of DeBERTa do not follow it where they serve positions too (share_att_key)"
    if nested and any(m.original_ln_before for m in bottlenecks):
        return "bottleneck adapters with original_ln_before=True, like seq_bn, add the residual twice in a nested block"
    layouts = [[_layout(inside[name]) for name in _in_order(child)] for child in block.children]
    if any(layout != layouts[0] for layout in layouts) and not _of_one_form(block, layouts):
        return "its adapters differ in method, place or prefix length, and all are treated like the first or last"
    outside = [m for name in setup.flatten() - set(inside) for m in _methods(adapters_config, name)]
    if any(not _acts_within(m, bottlenecks) for m in outside if isinstance(m, BnConfig)):
        return "a bottleneck adapter outside acts where those inside do not"
    return _reason_in_parallel(inside, every) if isinstance(block, Parallel) else None


def _reason_in_parallel(inside: dict[str, list[Any]], every: list[Any]) -> str | None:
    for methods in inside.values():
        parallel = any(isinstance(m, BnConfig) and m.is_parallel for m in methods)
        if parallel and not any(isinstance(m, PrefixTuningConfig) for m in methods):
            return "par_bn adapters take their input before it is replicated"
    if any(isinstance(m, PrefixTuningConfig) and m.use_gating for m in every):
        return "the gates of prefix tuning take their input before it is replicated"
    return None


def _shares_attention(config: Any) -> bool:
    """Whether the maps of tokens are also those of relative positions, which are no batch: all DeBERTa but some v2."""
    return config.model_type == "deberta" or (config.model_type == "deberta-v2" and config.share_att_key)


def _of_one_form(block: AdapterCompositionBlock, layouts: list[list[list[tuple[Any, ...]]]]) -> bool:
    """Whether channels of other depths differ in nothing else, each an adapter, a stack or an average of them.

    Prefixes of a stack are concatenated, so that depth is length there.
    """
    plain = all(
        isinstance(child, str) or (isinstance(child, (Stack, Average)) and all(isinstance(c, str) for c in child))
        for child in block.children
    )
    forms = [form for layout in layouts for form in layout]
    has_prefix = any(method == PrefixTuningConfig.__name__ for method, *_ in forms[0])
    return plain and not has_prefix and all(form == forms[0] for form in forms)


def _acts_within(outer: Any, bottlenecks: list[Any]) -> bool:
    """Whether every place and layer of a bottleneck adapter is also one of the first of `bottlenecks`."""
    if not bottlenecks:
        return False
    inner = bottlenecks[0]
    places = all(getattr(inner, place) or not getattr(outer, place) for place in ("mh_adapter", "output_adapter"))
    return places and set(inner.leave_out or ()) <= set(outer.leave_out or ())


def _methods(adapters_config: Any, name: str) -> list[Any]:
    """The configurations of an adapter: one, or several of a union such as MAM."""
    config = adapters_config.get(name)
    return list(config.configs) if isinstance(config, ConfigUnion) else [config]


def _layout(methods: list[Any]) -> list[tuple[Any, ...]]:
    layout = [
        (type_.__name__, *(str(getattr(m, option)) for option in options))
        for m in methods
        for type_, options in _LAYOUT.items()
        if isinstance(m, type_)
    ]
    return sorted(layout)


def _in_order(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    return [name for child in node.children for name in _in_order(child)]


def _firsts(node: Any) -> set[str]:
    """The adapters that would come first if each channel ran alone."""
    if isinstance(node, (Parallel, BatchSplit)):
        return {name for child in node.children for name in _firsts(child)}
    return {node if isinstance(node, str) else node.first()}


def _starts_with(setup: Any, block: AdapterCompositionBlock) -> bool:
    """Whether the block is where the composition begins."""
    while setup is not block and isinstance(setup, AdapterCompositionBlock):
        setup = setup.children[0]
    return setup is block
