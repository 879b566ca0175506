"""A frozen sweep of 13 heads, 5 epochs, against 13 trainings by Transformers' Trainer with a frozen encoder.

    python benchmarks/frozen_vs_trainer.py --random 12x384 --sentences 500
    python benchmarks/frozen_vs_trainer.py --random 12x384 --device cuda --out frozen.json

Both sides see the same sentences, batch size and number of steps. Ours is everything: the encoder once over the data,
then baseline and D_1 .. D_12 side by side. The peer runs the encoder in every step, without gradients; it is measured
on two of its 13 models, the baseline and D_8, for some steps after a warm-up, and extrapolated: 13 times the mean of
the two times the number of steps, start-up and evaluation not counted. On a CPU it is processor time. Targets: 25 times
on a GPU, 10 times on two CPU cores.
"""

import argparse
from typing import Any

import torch
from measuring import finish, machine
from peers import Clock, Corpus, arguments, encoder_and_corpus, precision, trainer_seconds

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.kinds.tagging.span_f1 import SpanScorer
from dlfa_adapters.learning.frozen import HeadSpec, TaggedStates, compute_states, train_heads
from dlfa_adapters.tasks import NER


def ours(model: Any, corpus: Corpus, specs: list[HeadSpec], args: argparse.Namespace) -> tuple[float, float]:
    """Seconds for the states, and for all heads and epochs; the dev data are ten sentences, the peer has none."""
    model.to(args.device)
    clock = Clock(args.device)

    def states(part: Corpus) -> TaggedStates:
        found = compute_states(model, part.windows, part.padding, cache_on=args.device)
        return TaggedStates(part.words, part.tags, part.windows, AlignmentCounts(), found)

    train, dev = states(corpus), states(corpus.first(10))
    encoded = clock.seconds()
    train_heads(specs, train, dev, NER.labels, SpanScorer, epochs=args.epochs, batch_size=args.batch_size)
    total = clock.seconds()
    model.to("cpu")
    return encoded, total - encoded


def main() -> None:
    """Time both sides."""
    parser = arguments(__doc__)
    parser.set_defaults(sentences=None)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=None, help="steps of the peer to time; default: 150, on a CPU 10")
    parser.add_argument("--warmup", type=int, default=None, help="steps before them; default: 30, on a CPU 2")
    args = parser.parse_args()
    gpu = args.device == "cuda"
    args.sentences = args.sentences or (20_000 if gpu else 500)
    args.steps, args.warmup = args.steps or (150 if gpu else 10), args.warmup or (30 if gpu else 2)
    model, corpus = encoder_and_corpus(args)
    layers = model.config.num_hidden_layers
    specs = [HeadSpec.of(name="last", fusion="last")]
    specs += [HeadSpec.of(name=f"D_{k}", fuse_layer=(k,), gate="attention") for k in range(1, layers + 1)]
    peers = {}
    for spec in (specs[0], specs[max(1, round(8 * layers / 12))]):
        seconds, _ = trainer_seconds(model, spec, corpus, args, steps=args.steps, warmup=args.warmup, frozen=True)
        peers[spec.name] = seconds
        print(f"Trainer, {spec.name}: {1000 * seconds:.1f} ms a step", flush=True)
    if gpu:
        ours(model, corpus.first(500), specs, args)  # kernels are loaded and chosen
    encoded, trained = ours(model, corpus, specs, args)
    steps = args.epochs * -(-len(corpus.windows) // args.batch_size)
    theirs = len(specs) * steps * sum(peers.values()) / len(peers)
    finish(
        {
            "benchmark": f"frozen sweep, {len(specs)} heads, {args.epochs} epochs, against {len(specs)} Trainer runs",
            "machine": machine(args.device),
            "header": [
                "sentences",
                "steps",
                "states, s",
                "heads, s",
                f"{len(specs)} x Trainer, s (extrapolated)",
                "ratio",
            ],
            "rows": [
                [
                    f"{len(corpus.words):,} ({corpus.name})",
                    steps,
                    f"{encoded:.1f}",
                    f"{trained:.1f}",
                    f"{theirs:.0f}",
                    f"{theirs / (encoded + trained):.1f}",
                ]
            ],
            "trainer": peers,
            "precision of the peer": precision(args),
            "arguments": vars(args),
        },
        args.out,
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
