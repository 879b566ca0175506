"""What a DLFA head costs: a training step and a forward pass against a stock head, on one encoder.

    python benchmarks/head_overhead.py
    python benchmarks/head_overhead.py --device cuda --out head-gpu.json
    python benchmarks/head_overhead.py --device cuda --modes compiled --shapes 12x768 --out head-compiled.json

Both sides have an encoder of BERT's kind with the same random weights, a tagging head of seven labels, the same batch
(a quarter of it padding) and the same optimizer; they run in turn, and a row's ratio is the median of the pairs'. The
vocabulary has 1,000 pieces, so that no embedding matrix hides the head. Under bf16 the training step runs in autocast,
as Trainer's does; the forward pass has weights in bf16 as with `--precision bf16`.

Eager, both are models of `adapters` with its tagging head or ours; `fusion` compiles the fusion alone, as
`dlfa train --compile` does. Compiled, they are `BertForTokenClassification` and
`DLFAForTokenClassification`: in the models of `adapters` the compiler's graph breaks at every layer. On a GPU the head
runs once with `torch.cuda.set_sync_debug_mode("error")`, which ends the script if anything in it waits for the GPU.
Targets: 1.05, compiled 1.03.
"""

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from adapters import AutoAdapterModel
from measuring import Times, as_ratio, finish, in_turn, machine, milliseconds, ratio
from transformers import BertConfig, BertForTokenClassification, BertModel

from dlfa_adapters import DLFAForTokenClassification
from dlfa_adapters.predict.forms import cast

SHAPES = {"12x384": (384, 1536), "12x768": (768, 3072)}
LABELS = 7


def build(shape: str, head: str, device: str, compiled: bool = False) -> Any:
    """An encoder with the head `stock` or `dlfa`, the same weights for both."""
    width, inner = SHAPES[shape]
    config = BertConfig(
        vocab_size=1000, hidden_size=width, intermediate_size=inner, num_hidden_layers=12, num_attention_heads=12,
        num_labels=LABELS,
    )  # fmt: skip
    torch.manual_seed(0)
    if compiled and head == "stock":
        return BertForTokenClassification(config).to(device)
    if compiled:
        return DLFAForTokenClassification.from_encoder(BertModel(config), 8, num_labels=LABELS).to(device)
    model = AutoAdapterModel.from_config(config)
    if head == "stock":
        model.add_tagging_head("head", num_labels=LABELS, layers=1)
    else:
        model.add_dlfa_head("head", head_type="tagging", num_labels=LABELS, layers=1, fuse_layer=8)
    return model.to(device)


def batch_of(rows: int, length: int, device: str) -> dict[str, torch.Tensor]:
    """Random pieces and labels; lengths fall evenly from `length` to half of it."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 1000, (rows, length), generator=generator)
    lengths = torch.linspace(length, length / 2, rows).long()
    mask = (torch.arange(length) < lengths[:, None]).long()
    labels = torch.randint(0, LABELS, ids.shape, generator=generator).masked_fill(mask == 0, -100)
    batch = {"input_ids": ids * mask, "attention_mask": mask, "labels": labels}
    return {name: tensor.to(device) for name, tensor in batch.items()}


def training_step(model: Any, batch: dict[str, torch.Tensor], dtype: str, compiled: bool) -> Callable[[], None]:
    """Forward, loss, backward, AdamW."""
    device = batch["input_ids"].device.type
    optimizer = torch.optim.AdamW(model.train().parameters(), 2e-5, fused=device == "cuda")
    run = torch.compile(model) if compiled else model

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "bf16"):
            loss = run(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def forward_pass(model: Any, batch: dict[str, torch.Tensor], dtype: str, compiled: bool) -> Callable[[], None]:
    """Logits, without gradients."""
    model.eval()
    if dtype == "bf16":
        cast(model, torch.bfloat16)
    run = torch.compile(model) if compiled else model
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}

    @torch.no_grad()
    def forward() -> None:
        run(**inputs)

    return forward


def check_waits() -> None:
    """Run the head on a GPU, forward and backward, where waiting for the GPU is an error.

    Without the loss: that is the stock head's own, and copies a number to the GPU.
    """
    model, batch = build("12x384", "dlfa", "cuda").train(), batch_of(8, 32, "cuda")
    batch.pop("labels")
    with torch.no_grad():
        outputs = model.base_model(**batch, output_hidden_states=True, return_dict=True)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    head = model.heads["head"]
    head(outputs, attention_mask=batch["attention_mask"], return_dict=True).logits.sum().backward()
    torch.cuda.set_sync_debug_mode("default")
    print("Nothing in the head waits for the GPU.", flush=True)


def main() -> None:
    """Time every setting, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shapes", default="12x384,12x768")
    parser.add_argument("--batches", help="batch x length, such as 32x128,256x128")
    parser.add_argument("--dtypes", help="fp32,bf16")
    parser.add_argument("--modes", default="eager", help="eager,fusion,compiled")
    parser.add_argument("--rounds", type=int, help="pairs of measurements")
    parser.add_argument("--repeat", type=int, help="calls in one measurement")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    gpu = args.device == "cuda"
    args.batches = args.batches or ("32x128,256x128" if gpu else "8x64")
    args.dtypes = args.dtypes or ("bf16" if gpu else "fp32")
    args.rounds, args.repeat = args.rounds or (20 if gpu else 10), args.repeat or (5 if gpu else 1)
    if gpu:
        check_waits()
    else:
        torch.set_num_threads(1)

    header = ["encoder", "batch", "dtype", "mode", "pass", "stock, ms", "DLFA, ms", "DLFA / stock"]
    rows, raw = [], []
    choices = (args.shapes.split(","), args.batches.split(","), args.dtypes.split(","), args.modes.split(","))
    for setting in itertools.product(*choices, ("training step", "forward")):
        times = measure(*setting, args)
        stock, dlfa = times["stock"], times["dlfa"]
        rows.append([*setting, milliseconds(stock), milliseconds(dlfa), as_ratio(dlfa, stock)])
        raw.append({"setting": setting, "seconds": times, "ratio": ratio(dlfa, stock)})
        print(*rows[-1], flush=True)
    told = {"benchmark": "A DLFA head against a stock head", "machine": machine(args.device), "arguments": vars(args)}
    finish({**told, "header": header, "rows": rows, "raw": raw}, args.out)


def measure(shape: str, size: str, dtype: str, mode: str, name: str, args: argparse.Namespace) -> Times:
    """Seconds of both sides in one setting."""
    torch.compiler.reset()
    compiled = mode == "compiled"
    make = training_step if name == "training step" else forward_pass
    batch = batch_of(*map(int, size.split("x")), device=args.device)
    models = {head: build(shape, head, args.device, compiled) for head in ("stock", "dlfa")}
    if mode == "fusion":
        models["dlfa"].heads["head"].fusion.compile(dynamic=True)
    sides = {head: make(model, batch, dtype, compiled) for head, model in models.items()}
    return in_turn(sides, args.rounds, device=args.device, warmup=2, repeat=args.repeat)


if __name__ == "__main__":
    main()
