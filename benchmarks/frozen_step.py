"""A training step of many heads on frozen states: stacked, against the same heads as ordinary modules one by one.

    python benchmarks/frozen_step.py --seeds 5 --out frozen-step.json

States are random numbers in the shape of a batch of PAN-X: 32 windows of 12 to 40 tokens, 13 layers of width 384. A
step is gathering the batch, forward, backward and AdamW. The peer gets the batch padded, as modules take it, once for
all.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import torch
from frozen_sweep import specs
from measuring import as_ratio, finish, in_turn, machine, milliseconds
from torch.nn.functional import cross_entropy

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.windows import Window
from dlfa_adapters.learning.frozen import HeadSpec, HiddenStates, TaggedStates
from dlfa_adapters.learning.frozen.batch import Batch
from dlfa_adapters.learning.frozen.module import new_head
from dlfa_adapters.learning.frozen.stacks import HeadStack, make_stacks

LAYERS, WIDTH, LABELS = 12, 384, 7


def random_data(windows: int, device: str) -> TaggedStates:
    """Windows of random states, of which two tokens in three begin a word."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(12, 41, (windows,), generator=generator).tolist()
    offsets = [0, *torch.tensor(lengths).cumsum(0).tolist()]
    states = torch.randn(offsets[-1], LAYERS + 1, WIDTH, generator=generator).half().to(device)
    pieces = [tuple((i, i + 1) for i in range(1, n - 1) if i % 3) for n in lengths]
    rows = [Window(i, [0] * n, tuple(range(len(p))), p) for i, (n, p) in enumerate(zip(lengths, pieces, strict=True))]
    tags = [[str(int(i)) for i in torch.randint(LABELS, (len(p),), generator=generator)] for p in pieces]
    kept = HiddenStates(states, offsets, tuple(range(LAYERS + 1)), LAYERS)
    return TaggedStates([["w"] * len(p) for p in pieces], tags, rows, AlignmentCounts(), kept)


def stacked(
    heads: Sequence[HeadSpec], data: TaggedStates, batches: list[list[int]]
) -> tuple[Callable[[], None], list[HeadStack]]:
    """A step of all heads at once, as `train_heads` takes it, and what it trains."""
    device = data.states.device
    gold, turn = data.label_ids({str(i): i for i in range(LABELS)}), cycle(batches)
    new = [(spec, new_head(spec, WIDTH, LAYERS, LABELS).to(device)) for spec in heads]
    stacks = make_stacks(new, LAYERS, data.states.layers, tokens=32 * 40)
    weights = [weight for stack in stacks for weight in stack.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-3, weight_decay=0.01, fused=True)

    def step() -> None:
        batch = data.batch(next(turn))
        optimizer.zero_grad()
        for stack in stacks:
            logits = stack(batch, training=True)
            cross_entropy(logits, gold[batch.places].expand(len(logits), -1), reduction="none").mean(1).sum().backward()
        optimizer.step()

    return step, stacks


def one_by_one(
    heads: Sequence[HeadSpec], data: TaggedStates, batches: list[list[int]]
) -> tuple[Callable[[], None], list[torch.nn.Module]]:
    """A step of each head after the other, and the heads."""
    device = data.states.device
    gold, turn = data.label_ids({str(i): i for i in range(LABELS)}), cycle(batches)
    modules = [new_head(spec, WIDTH, LAYERS, LABELS).to(device).train() for spec in heads]
    optimizers = [torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=0.01) for module in modules]

    def step() -> None:
        batch = data.batch(next(turn))
        states, mask, positions = batch.padded()
        for spec, module, optimizer in zip(heads, modules, optimizers, strict=True):
            optimizer.zero_grad()
            logits = module(states[list(spec.head.states(LAYERS))], mask, positions)
            cross_entropy(logits, gold[batch.places]).backward()
            optimizer.step()

    return step, modules


@torch.no_grad()
def difference(
    heads: Sequence[HeadSpec], stacks: list[HeadStack], modules: list[torch.nn.Module], batch: Batch
) -> float:
    """How far apart the logits of both are."""
    states, mask, positions = batch.padded()
    found = 0.0
    for stack in stacks:
        for logits, member in zip(stack(batch, training=True), stack.members, strict=True):
            expected = modules[member](states[list(heads[member].states(LAYERS))], mask, positions)
            found = max(found, float((logits.T - expected).abs().max()))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", nargs="+", default=["core", "controls", "variants"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = random_data(32 * args.rounds, device)
    batches = [list(range(32 * i, 32 * i + 32)) for i in range(args.rounds)]
    rows = []
    for group in args.groups:
        heads = [replace(spec, seed=seed) for spec in specs(group) for seed in range(args.seeds)]
        (ours, stacks), (theirs, modules) = stacked(heads, data, batches), one_by_one(heads, data, batches)
        times = in_turn({"stacked": ours, "alone": theirs}, args.rounds, device=device)
        kinds = len({spec.head.architecture for spec in heads})
        apart = difference(heads, stacks, modules, data.batch(batches[0]))
        cells = (
            milliseconds(times["stacked"]),
            milliseconds(times["alone"]),
            as_ratio(times["alone"], times["stacked"]),
        )
        rows.append([group, len(heads), kinds, *cells, f"{apart:.0e}"])
    header = ["group", "heads", "architectures", "stacked, ms", "one by one, ms", "times faster", "logits differ by"]
    told = machine(device)
    finish({"benchmark": "a step of heads on frozen states", "machine": told, "header": header, "rows": rows}, args.out)


if __name__ == "__main__":
    main()
