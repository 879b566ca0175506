"""All attention heads of an encoder probed side by side, against one after another, on the same kept outputs.

    python benchmarks/head_probing.py --layers 12 --heads 12 --out head-probing.json
    python benchmarks/head_probing.py --device cuda --sentences 5000

The encoder is a random BERT; sentences are random pieces, words of one to three of them, with a tag each. Both sides
train the same probes on the same batches, at one learning rate, and score them on dev after every epoch. Those that
learn one after another get the outputs of their own head alone, already computed and cut out, so that neither side is
charged for the encoder; its one pass over all data, which both need, is timed by itself. With --sample N the probes of
N heads are trained one after another, spread over the layers, and their time is taken for that many.
"""

import argparse
import time
from pathlib import Path

import torch
from measuring import finish, in_turn, machine
from transformers import BertConfig, BertModel

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.windows import Window
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.head_states import HeadStates
from dlfa_adapters.learning.frozen import HeadSpec, HiddenStates, Linear, Rate, TaggedStates, learn_on_states
from dlfa_adapters.tasks import POS

RATE = Rate(1e-2)


def sentences(number: int, seed: int) -> tuple[list[Window], list[list[str]]]:
    """Windows of 8 to 24 words, and their tags."""
    generator = torch.Generator().manual_seed(seed)

    def random(low: int, high: int, size: int) -> list[int]:
        return torch.randint(low, high, (size,), generator=generator).tolist()

    windows, tags = [], []
    for sentence in range(number):
        [words] = random(8, 25, 1)
        ends = torch.tensor(random(1, 4, words)).cumsum(0).tolist()
        pieces = tuple((1 + start, 1 + end) for start, end in zip([0, *ends], ends, strict=False))
        ids = [0, *random(5, 1000, ends[-1]), 1]
        windows.append(Window(sentence, ids, tuple(range(words)), pieces))
        tags.append([POS.labels[ids[start] % len(POS.labels)] for start, _ in pieces])
    return windows, tags


def probe_data(model: HeadStates, windows: list[Window], tags: list[list[str]]) -> TaggedStates:
    """The output of every head for the first piece of each word."""
    kept = [[start for start, _ in window.pieces] for window in windows]
    states = compute_states(model, windows, 0, kept=kept, cache_on=model.device)
    short = [Window(w.sentence, [], w.words, tuple((i, i + 1) for i in range(len(w.words)))) for w in windows]
    return TaggedStates([["w"] * len(each) for each in tags], tags, short, AlignmentCounts(), states)


def of_head(data: TaggedStates, head: int) -> TaggedStates:
    """The same with the output of one head."""
    states = data.states
    assert isinstance(states, HiddenStates)
    alone = HiddenStates(states.tokens[:, head : head + 1].contiguous(), states.offsets, (0,), 1)
    return TaggedStates(data.words, data.tags, data.windows, data.counts, alone)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--size", type=int, default=32, help="values of a head")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, help="train so many heads one after another; default: all")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    total = args.layers * args.heads
    sample = [i * total // (args.sample or total) for i in range(args.sample or total)]
    config = BertConfig(
        vocab_size=1000, hidden_size=args.heads * args.size, num_hidden_layers=args.layers,
        num_attention_heads=args.heads, intermediate_size=4 * args.heads * args.size,
    )  # fmt: skip
    torch.manual_seed(0)
    model = HeadStates(BertModel(config, add_pooling_layer=False).to(args.device).eval())
    start = time.perf_counter()
    train, dev = (probe_data(model, *sentences(number, seed)) for number, seed in ((args.sentences, 0), (100, 1)))
    once = time.perf_counter() - start
    alone = {head: (of_head(train, head), of_head(dev, head)) for head in sample}
    schedule = Linear(args.epochs)

    def side_by_side() -> list[float]:
        specs = [HeadSpec.of(str(head), fusion="layer", fuse_layer=(head,)) for head in range(total)]
        return [
            trial.head.dev_score for trial in learn_on_states(specs, train, dev, POS, schedule, rates=[[RATE]] * total)
        ]

    def one_after_another() -> list[float]:
        spec = HeadSpec.of("0", fusion="layer", fuse_layer=(0,))
        return [
            learn_on_states([spec], *parts, POS, schedule, rates=[[RATE]])[0].head.dev_score for parts in alone.values()
        ]

    together, single = side_by_side(), one_after_another()
    apart = max(abs(together[head] - score) for head, score in zip(sample, single, strict=True))
    sides = {"side by side": side_by_side, "one after another": one_after_another}
    times = in_turn(sides, args.rounds, device=args.device, warmup=0)
    scale = total / len(sample)
    ours, theirs = times["side by side"], [scale * seconds for seconds in times["one after another"]]
    ratios = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    row = [
        f"{args.layers} x {args.heads}", args.size, args.sentences, f"{once:.2f}", f"{min(ours):.3f}",
        f"{min(theirs):.3f}", f"{ratios[len(ratios) // 2]:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})", f"{apart:.2g}",
    ]  # fmt: skip
    header = [
        "heads", "values", "sentences", "encoder once, s", "side by side, s",
        "one after another, s" + (f" ({len(sample)} measured)" if scale > 1 else ""), "times faster",
        "dev scores differ by",
    ]  # fmt: skip
    told = machine(args.device)
    name = f"probes of attention heads, {args.epochs} epochs"
    finish({"benchmark": name, "machine": told, "header": header, "rows": [row], "seconds": times}, args.out)


if __name__ == "__main__":
    main()
