"""Fine-tuning M encoders stacked in one process against one after another by Transformers' Trainer, on the same device.

    python benchmarks/finetuned_sweep.py --random 12x384
    python benchmarks/finetuned_sweep.py --random 12x384 --members 8 13 26 --compile --out stacked.json

Both sides train encoders of BERT's kind (12x384, a vocabulary of 250,037 pieces) with heads of the sweep (D_1, D_2 and
so on) on the same batches, with AdamW, clipping at norm 1 and, on a GPU, bf16 autocast. The peer is measured on two
models, the baseline and D_8, and extrapolated: M models one after another take M times the mean of the two, start-up
not counted. The stacked side is the loop of `sweep.ensemble_training`, its evaluation not counted. Wants a GPU; target:
4 times.
"""

import argparse
import gc
from typing import Any

import torch
from measuring import finish, machine
from peers import Clock, Corpus, arguments, encoder_and_corpus, peak, precision, trainer_seconds

from dlfa_adapters.data.batching import SameLengthSampler
from dlfa_adapters.learning.ensemble import start_ensemble
from dlfa_adapters.learning.ensemble.data import DeviceRows, in_precision
from dlfa_adapters.learning.ensemble.training import EnsembleOptimizer
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.settings import make_settings
from dlfa_adapters.sweeps.finetuned.ranks import bytes_per_member
from dlfa_adapters.tasks import NER


def specs(members: int, num_layers: int) -> list[HeadSpec]:
    """The baseline and D_1 .. D_L, and the same again from other seeds until there are enough."""
    return [
        HeadSpec.of(name="last", fusion="last", seed=seed)
        if not k
        else HeadSpec.of(name=f"D_{k}", fuse_layer=(k,), seed=seed)
        for seed, k in (divmod(number, num_layers + 1) for number in range(members))
    ]


def stacked_seconds(
    model: Any, members: int, corpus: Corpus, args: argparse.Namespace, *, steps: int, warmup: int
) -> tuple[float, float]:
    """Seconds a step of all members, and the most GPU memory in GB."""
    device, rows = torch.device(args.device), corpus.rows()
    if args.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    ensemble = start_ensemble(model, specs(members, model.config.num_hidden_layers), NER, rows, corpus.padding, device)
    if args.compile:
        ensemble.encoder.compile()
    settings = make_settings(learning_rate=2e-5, head_learning_rate=2e-5)
    optimizer = EnsembleOptimizer(ensemble, settings, warmup + steps)
    order = list(SameLengthSampler([len(row.input_ids) for row in rows], args.batch_size, 0))
    batches = [order[i : i + args.batch_size] for i in range(0, len(order), args.batch_size)][: warmup + steps]
    clock = Clock(args.device, warmup, steps)
    for batch in DeviceRows(rows, corpus.padding, device).batches(batches):
        with in_precision(device, precision(args)):
            losses = ensemble.losses(batch)
        losses.sum().backward()
        optimizer.step(losses.detach())
        clock.tick()
    return clock.seconds() / steps, peak(args.device)


def main() -> None:
    """Time both sides."""
    parser = arguments(__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[8, 13, 26])
    parser.add_argument("--steps", type=int, default=150, help="steps to time")
    parser.add_argument("--warmup", type=int, default=30, help="steps before them")
    parser.add_argument("--compile", action="store_true", help="also time the stacked side with torch.compile")
    args = parser.parse_args()
    asked, args.compile = args.compile, False
    model, corpus = encoder_and_corpus(args)
    middle = max(1, round(8 * model.config.num_hidden_layers / 12))
    peers = {}
    for spec in (HeadSpec.of(name="last", fusion="last"), HeadSpec.of(name=f"D_{middle}", fuse_layer=(middle,))):
        seconds, memory = trainer_seconds(model, spec, corpus, args, steps=args.steps, warmup=args.warmup, frozen=False)
        peers[spec.name] = {"seconds a step": seconds, "memory": memory}
        print(f"Trainer, {spec.name}: {1000 * seconds:.1f} ms a step, {memory:.1f} GB", flush=True)
        _free()
    one = sum(peer["seconds a step"] for peer in peers.values()) / len(peers)
    rows, measured = [], []
    for compiled in [False, True] if asked else [False]:
        args.compile = compiled
        for members in args.members:
            seconds, memory = stacked_seconds(model, members, corpus, args, steps=args.steps, warmup=args.warmup)
            measured.append({"members": members, "compiled": compiled, "seconds a step": seconds, "memory": memory})
            estimated = members * bytes_per_member(
                model.config,
                corpus.rows(),
                batch_size=args.batch_size,
                precision=precision(args),
                device=torch.device(args.device),
            )
            rows.append(
                [
                    f"{members}{' (compiled)' if compiled else ''}",
                    f"{1000 * seconds:.1f}",
                    f"{1000 * seconds / members:.2f}",
                    f"{1000 * one:.1f}",
                    f"{members * one / seconds:.1f}",
                    f"{memory:.1f}" if memory else "-",
                    f"{estimated / 1e9:.1f}",
                ]
            )
            print(rows[-1], flush=True)
            _free()
    finish(
        {
            "benchmark": "fine-tuned sweep, M stacked against M by Trainer (M times the mean of two models)",
            "machine": machine(args.device),
            "header": [
                "models at once",
                "ms a step",
                "ms a step and model",
                "Trainer: ms a step",
                "ratio",
                "GB",
                "estimated",
            ],
            "rows": rows,
            "trainer": peers,
            "stacked": measured,
            "corpus": {"name": corpus.name, "rows": len(corpus.windows), "batch": args.batch_size},
            "precision": precision(args),
            "arguments": vars(args),
        },
        args.out,
    )


def _free() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
