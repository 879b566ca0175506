"""Pseudo-perplexity: every piece of a text hidden in turn, in batches, against one mask at a time.

    python benchmarks/pseudo_perplexity.py PAWSX --task pawsx --languages de en es fr --out speed-pppl-cpu.json

The first texts of each language, from pieces in memory to a log-probability for each piece. The model is the offline
encoder with a decoder of its real size tied to its embeddings (250,037 pieces by 384), with weights as they begin,
unless `--model` names another one.

- ours: `score_pieces`, batches of masked copies of like length, the decoder at the hidden piece of each copy alone;
- one mask at a time: the definition (Salazar et al. 2020, arXiv 1910.14659) written down with Transformers, a row
  without padding for each piece, and the logits that the model gives, which are those of all positions;
- one mask at a time, decoder at the mask: the same, but the decoder reads the hidden position alone, as ours does.

Target: five times as fast as one mask at a time. The largest difference of a log-probability is told.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from measuring import as_ratio, finish, in_turn, machine

from dlfa_adapters.analysis.pseudo_perplexity.score import Windows, score_pieces
from dlfa_adapters.encoders import Encoder, load_encoder
from dlfa_adapters.heads import load_masked_lm
from dlfa_adapters.heads.decoder import add_decoder
from dlfa_adapters.heads.pieces import log_probabilities
from dlfa_adapters.learning.adapt.text import read_unlabelled

Scores = list[np.ndarray]
"""The log-probability of each piece of each text."""


def build(name: str | None) -> Encoder:
    """A masked language model: the one that is named, or the offline encoder with a new decoder."""
    if name is not None:
        return load_masked_lm(name)
    encoder = load_encoder("offline")
    torch.manual_seed(0)
    torch.nn.init.normal_(add_decoder(encoder.model, "masked_lm", None).bias, std=0.3)
    encoder.model.active_head = "masked_lm"
    encoder.model.eval()
    return encoder


@torch.no_grad()
def one_at_a_time(encoder: Encoder, windows: Windows, at_the_mask: bool) -> Scores:
    """A forward pass for each piece."""
    model, mask, found = encoder.model, encoder.tokenizer.mask_token_id, []
    for text, pieces in enumerate(windows.pieces):
        scores = []
        for place, piece in enumerate(pieces):
            row, position = windows.row(text, place, mask)
            ids = torch.tensor([row.input_ids], device=model.device)
            inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            if at_the_mask:
                where = [torch.tensor([value], device=model.device) for value in (position, piece)]
                scores.append(float(log_probabilities(model, inputs, *where)[0]))
            else:
                logits = model(**inputs, return_dict=True).logits[0, position]
                scores.append(float(logits.float().log_softmax(-1)[piece]))
        found.append(np.array(scores))
    return found


def main() -> None:
    """Time the sides, compare what they find, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--task", help="what the data are for, as in dlfa adapt")
    parser.add_argument("--split", default="test")
    parser.add_argument("--languages", nargs="+")
    parser.add_argument("--limit", type=int, default=1, help="texts a language")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", help="a masked language model; default: the offline encoder with a new decoder")
    parser.add_argument("--max-tokens", type=int, help="positions in a batch of ours")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1 if args.device == "cpu" else torch.get_num_threads())

    texts = read_unlabelled(args.data, args.task, args.split, args.languages, split_pairs=True).texts
    encoder = build(args.model)
    encoder.model.to(args.device)
    windows = Windows.of(encoder, [str(text) for of in texts.values() for text in of[: args.limit]])
    sides: dict[str, Callable[[], Scores]] = {
        "ours": lambda: score_pieces(encoder, windows, max_tokens=args.max_tokens),
        "one mask at a time": lambda: one_at_a_time(encoder, windows, False),
        "one mask at a time, decoder at the mask": lambda: one_at_a_time(encoder, windows, True),
    }
    said = {name: np.concatenate(side()) for name, side in sides.items()}  # which is not counted
    times = in_turn(sides, args.rounds, device=args.device, warmup=0)
    pieces, header = len(said["ours"]), ["", "pieces a second", "time / ours", "largest difference"]
    rows = [
        [name, f"{pieces / np.median(spent):.1f}", as_ratio(spent, times["ours"]),
         "" if name == "ours" else f"{np.abs(said[name] - said['ours']).max():.1e}"]
        for name, spent in times.items()
    ]  # fmt: skip
    about = {"texts": len(windows.pieces), "pieces": pieces, "model": encoder.origin, "seconds": times}
    result = {
        "benchmark": "pseudo-perplexity",
        "machine": machine(args.device),
        "header": header,
        "rows": rows,
        **about,
    }
    finish(result, args.out)


if __name__ == "__main__":
    main()
