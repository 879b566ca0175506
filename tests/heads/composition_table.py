"""The table of `docs/reference/compositions.md`, from running every composition with every method.

    python tests/heads/composition_table.py        # prints it

A cell says what a model with DLFA heads does:

    yes          it runs, every adapter acts, and in Parallel and BatchSplit each channel is its own single run
    first only   it runs, and only the first adapter acts; last only likewise
    -            the package adapters has no such composition for the method
    1, 2, ...    it is refused, for the reason below the table
"""

import torch
from adapters import (
    AutoAdapterModel,
    BatchSplit,
    CompacterConfig,
    DoubleSeqBnInvConfig,
    Fuse,
    IA3Config,
    LoRAConfig,
    LoReftConfig,
    MAMConfig,
    MTLLoRAConfig,
    Parallel,
    ParBnConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    SeqBnConfig,
    Stack,
    UniPELTConfig,
)
from adapters.composition import Average, MultiTask, Split
from transformers import BertConfig

import dlfa_adapters  # noqa: F401
from dlfa_adapters.ground.errors import ConfigError

METHODS = {
    "`seq_bn`": SeqBnConfig(reduction_factor=4),
    "`double_seq_bn`": "double_seq_bn",
    "`par_bn`": ParBnConfig(reduction_factor=4),
    "`seq_bn_inv`": "seq_bn_inv",
    "`double_seq_bn_inv`": DoubleSeqBnInvConfig(reduction_factor=4),
    "`compacter`": CompacterConfig(phm_dim=2, reduction_factor=4),
    "`lora`": LoRAConfig(r=2, init_weights="bert"),
    "`lora`, DoRA": LoRAConfig(r=2, use_dora=True),
    "`ia3`": IA3Config(),
    "`vera`": "vera",
    "`mtl_lora`": MTLLoRAConfig(r=2, n_up_projection=2, init_weights="bert"),
    "`prefix_tuning`": PrefixTuningConfig(prefix_length=3, bottleneck_size=8),
    "`prompt_tuning`": PromptTuningConfig(prompt_length=3),
    "`loreft`": LoReftConfig(r=1, prefix_positions=1, suffix_positions=1),
    "`mam`": MAMConfig(),
    "`unipelt`": UniPELTConfig(),
}
_ONES = {"batch_sizes": [1, 1]}
_WITHOUT_ONE_RUN_TO_COMPARE = {
    "`Stack(a, b)`": Stack("a", "b"),
    "`Fuse(a, b)`": Fuse("a", "b"),
    "`Split(a, b)`": Split("a", "b", splits=[3, 4]),
    "`Average(a, b)`": Average("a", "b"),
    "`MultiTask(a, b)`": MultiTask("a", "b"),
}
_CHANNELS = {  # the composition, and what each of the two channels is alone
    "`Parallel(a, b)`": (Parallel("a", "b"), "a", "b"),
    "`Stack(l, Parallel(a, b))`": (Stack("l", Parallel("a", "b")), Stack("l", "a"), Stack("l", "b")),
    "`Parallel(Stack(l, a), Stack(m, b))`": (
        Parallel(Stack("l", "a"), Stack("m", "b")),
        Stack("l", "a"),
        Stack("m", "b"),
    ),
    "`Parallel(Stack(l, a), b)`": (Parallel(Stack("l", "a"), "b"), Stack("l", "a"), "b"),
    "`BatchSplit(a, b)`": (BatchSplit("a", "b", **_ONES), "a", "b"),
    "`Stack(l, BatchSplit(a, b))`": (Stack("l", BatchSplit("a", "b", **_ONES)), Stack("l", "a"), Stack("l", "b")),
    "`BatchSplit(Stack(l, a), Stack(m, b))`": (
        BatchSplit(Stack("l", "a"), Stack("m", "b"), **_ONES),
        Stack("l", "a"),
        Stack("m", "b"),
    ),
    "`BatchSplit(Stack(l, a), b)`": (BatchSplit(Stack("l", "a"), "b", **_ONES), Stack("l", "a"), "b"),
}
BATCH = {"input_ids": torch.arange(5, 19).reshape(2, 7)}


def build(method):
    """A model of two blocks with the adapters a, b, l, m and two heads, away from where they start."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=100, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40,
    )  # fmt: skip
    model = AutoAdapterModel.from_config(config).eval()
    for name in "ablm":
        model.add_adapter(name, config=METHODS[method])
    if method == "`mtl_lora`":
        model.share_parameters(MultiTask("a", "b"))
    if "bn" in method or "compacter" in method:
        model.add_adapter_fusion(["a", "b"])
    for name in "ab":
        model.add_dlfa_head(f"head_{name}", 1, "tagging", num_labels=3)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(f".{adapter}." in name for adapter in "ablm") or "heads" in name or "fusion" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return model


def acts(model, adapter, run):
    """Whether the result changes with the adapter's weights."""
    before, generator = run(), torch.Generator().manual_seed(2)
    own = [p for name, p in model.named_parameters() if f".{adapter}." in name and "heads" not in name]
    kept = [parameter.clone() for parameter in own]
    for parameter in own:
        parameter.add_(torch.randn(parameter.shape, generator=generator))
    after = run()
    for parameter, value in zip(own, kept, strict=True):
        parameter.copy_(value)
    return not torch.allclose(before, after, atol=1e-6)


@torch.no_grad()
def cell(method, name):
    """What happens: `yes`, `first only`, `-`, or the reason of a refusal."""
    model = build(method)

    def activate(setup, heads):
        model.active_head = None
        model.set_active_adapters(setup)
        model.active_head = heads

    try:
        if name in _WITHOUT_ONE_RUN_TO_COMPARE:
            setup = _WITHOUT_ONE_RUN_TO_COMPARE[name]
            tasks = {"task_ids": torch.tensor([0, 1])} if isinstance(setup, MultiTask) else {}
            activate(setup, "head_a")
            acting = [adapter for adapter in "ab" if acts(model, adapter, lambda: model(**BATCH, **tasks).logits)]
            return {"ab": "yes", "a": "first only", "b": "last only"}["".join(acting)]
        setup, *alone = _CHANNELS[name]
        split = "BatchSplit" in name
        references = []
        for i, (one, head) in enumerate(zip(alone, ("head_a", "head_b"), strict=True)):
            activate(one, head)
            rows = {"input_ids": BATCH["input_ids"][i : i + 1]} if split else BATCH
            references.append(model(**rows).logits)
        heads = ["head_a", "head_b"]
        activate(setup, BatchSplit(*heads, **_ONES) if split else heads)
        outputs = model(**BATCH).head_outputs
        for output, reference in zip(outputs, references, strict=True):
            torch.testing.assert_close(output.logits, reference, atol=1e-5, rtol=0)
    except ConfigError as error:
        return str(error).partition("]: ")[2].rpartition("; ")[0]
    except (NotImplementedError, AttributeError, ValueError):
        if name in _WITHOUT_ONE_RUN_TO_COMPARE:
            return "-"
        raise
    return "yes"


def table():
    """The page's table, and the reasons by number."""
    columns = [*_WITHOUT_ONE_RUN_TO_COMPARE, *_CHANNELS]
    reasons: dict[str, int] = {}
    lines = [f"| composition | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
    for name in columns:
        cells = []
        for method in METHODS:
            found = cell(method, name)
            short = found in ("yes", "first only", "last only", "-")
            cells.append(found if short else str(reasons.setdefault(found, len(reasons) + 1)))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {reason}" for reason, number in reasons.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
