"""Parsing many languages: our way, in batches, against one sentence at a time with Chu-Liu-Edmonds in Python.

    pip install stanza
    python benchmarks/parsing_speed.py UD --limit 50 --out speed-parsing-cpu.json

The folder has `UD_*/*-test.conllu`; the first sentences of each are parsed, from words in memory to a tree for each.

- ours: windows, batches of similar length under a budget of tokens, `best_tree`;
- one at a time: the same model on one sentence after the other, and Stanza's tree search
  (`stanza.models.common.chuliu_edmonds`, NumPy, in Stanza's parser and, before it, Dozat's).

The encoder is the offline one, the head has random weights, unless `--run` names a parser. Then the tree searches
alone, on scores that are in memory: those of this model, and those of a parser that counts (`counting_parser.py`), of
whose sentences fewer need a search. A third side there is the package ufal.chu_liu_edmonds, C++, which may take several
roots. Targets: one and a half times the peer's speed from words to trees, three times that of its search.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from counting_parser import CountingParser
from measuring import finish, in_turn, machine, ratio

from dlfa_adapters.data.readers import read_conllu
from dlfa_adapters.kinds.parsing.decode import best_tree
from dlfa_adapters.kinds.parsing.parser import Parser
from dlfa_adapters.kinds.parsing.tree import Arc
from dlfa_adapters.tasks import PARSE

Trees = list[list[int]]
"""The heads of the words of each sentence."""


def build(run: Path | None) -> Parser:
    """A parser: that of a run, or the offline encoder with a random head."""
    if run is not None:
        from dlfa_adapters import load_run

        return load_run(run)  # type: ignore[return-value]
    from dlfa_adapters.encoders import load_offline_encoder

    model, tokenizer = load_offline_encoder()
    torch.manual_seed(0)
    model.add_dlfa_head("parse", fuse_layer=8)
    for weight in model.heads["parse"].inner.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Parser(model, tokenizer, PARSE.labels)


def square(scores: np.ndarray, no_arc: float) -> np.ndarray:
    """(words, words + 1) as other packages read them: (words + 1, words + 1), dependents by heads."""
    whole = np.concatenate([np.full((1, scores.shape[1]), no_arc), scores])
    whole[np.isneginf(whole)] = no_arc
    return whole


def search_of_stanza(scores: np.ndarray) -> list[int]:
    """A tree with one root; scores are moved below 0, where its way to one root works."""
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds_one_root

    below = scores - scores[np.isfinite(scores)].max() - 1
    return [int(head) for head in chuliu_edmonds_one_root(square(below, -np.inf))[1:]]


def search_of_ufal(scores: np.ndarray) -> list[int]:
    """A tree with one root or several."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    whole = square(scores.astype(np.float64), np.nan)
    np.fill_diagonal(whole, np.nan)
    return list(chu_liu_edmonds(whole)[0][1:])


def one_at_a_time(parser: Parser, sentences: Sequence[list[str]]) -> Trees:
    """Each sentence through the model by itself, and through Stanza's search; relations are looked up as ours are."""
    parsed = []
    with torch.no_grad():
        for words in sentences:
            scores, rels = scores_of(parser, words)
            heads = search_of_stanza(scores)
            parsed.append([Arc(head, parser.labels[rels[word, head]]) for word, head in enumerate(heads)])
    return [[arc.head for arc in arcs] for arcs in parsed]


def scores_of(parser: Parser, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Scores of arcs, and the best relation for each, of a sentence that is one window."""
    encoded = parser.encode([plain(words)])
    [row] = encoded.rows
    output = parser.model(**{name: x.to(parser.model.device) for name, x in encoded.collate([row], 0).items()})
    [line] = encoded.best([0], encoded.logits_of(output)).cpu().numpy()
    arcs, rels = line[1:].reshape(2, len(words), len(words) + 1)
    return arcs, rels.astype(int)


def plain(words: list[str]) -> Any:
    """Words without parts of speech, as a parser reads them."""
    from dlfa_adapters.kinds.parsing.parser import tagged

    return tagged([words], None)[0]


def compare(sides: dict[str, Callable[[], Trees]], scores: Sequence[np.ndarray], args: Any) -> tuple[list[Any], Any]:
    """Time sides in turn, and compare their trees with those of the first: heads, and sums of scores.

    Returns:
        A row for each side, and the seconds of each.
    """
    said = {name: side() for name, side in sides.items()}  # which is not counted
    times = in_turn(sides, args.rounds, device=args.device, warmup=0)
    first = next(iter(sides))
    rows = []
    for name, spent in times.items():
        pairs = list(zip(said[first], said[name], scores, strict=True))
        other_heads = sum(a != b for ours, other, _ in pairs for a, b in zip(ours, other, strict=True))
        other_sums = sum(abs(total(x, ours) - total(x, other)) > 1e-3 for ours, other, x in pairs)
        middle, low, high = ratio(spent, times[first])
        told = [f"{len(pairs) / np.median(spent):.0f}", f"{middle:.2f} ({low:.2f} to {high:.2f})"]
        words = sum(map(len, scores))
        rows.append([name, *told, f"{other_heads} of {words}", f"{other_sums} of {len(pairs)}"])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows, times


def total(scores: np.ndarray, heads: Sequence[int]) -> float:
    """The score of a tree."""
    return float(scores[np.arange(len(heads)), heads].sum())


def main() -> None:
    """Time the sides, compare their trees, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, default=50, help="sentences a language")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", type=Path, help="the run folder of a parser")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1 if args.device == "cpu" else torch.get_num_threads())

    files = sorted(args.data.glob("UD_*/*-test.conllu"))
    trees: list[Any] = [tree for file in files for tree in read_conllu(file).items[: args.limit]]
    ours = build(args.run)
    ours.model.to(args.device)
    trees = [tree for tree in trees if len(ours.encode([plain(tree.words)]).rows) == 1]  # the peer has no windows
    sentences = [tree.words for tree in trees]
    counting = CountingParser(read_conllu(args.data / "UD_English-EWT" / "en_ewt-ud-train.conllu").items)
    with torch.no_grad():
        scores = {
            "the model": [scores_of(ours, words)[0] for words in sentences],
            "counting": [counting.scores(tree.tags) for tree in trees],
        }
    parsing: dict[str, Callable[[], Trees]] = {
        "ours": lambda: [[arc.head for arc in arcs] for arcs in ours.predict(sentences)],
        "one sentence at a time, Stanza's search": lambda: one_at_a_time(ours, sentences),
    }
    found, times = compare(parsing, scores["the model"], args)
    rows, seconds = [["words to trees", *row] for row in found], {"words to trees": times}
    for whose, each in scores.items():
        searches = {"ours": best_tree, "Stanza's": search_of_stanza, "ufal's, several roots": search_of_ufal}
        sides = {name: partial(lambda search, each: list(map(search, each)), f, each) for name, f in searches.items()}
        found, times = compare(sides, each, args)
        what = f"search, scores by {whose}"
        rows, seconds[what] = [*rows, *([what, *row] for row in found)], times
    searched = {
        whose: sum(best_tree(x, greedy=True) != best_tree(x) for x in each) / len(each)
        for whose, each in scores.items()
    }
    header = ["what", "side", "sentences / s", "ours is faster by", "other heads than ours", "other sums than ours"]
    told = {"benchmark": f"Parsing {len(files)} languages, {len(sentences)} sentences", "machine": machine(args.device)}
    rest = {"arguments": vars(args), "seconds": seconds, "searched": searched}
    finish({**told, "header": header, "rows": rows, **rest}, args.out)


if __name__ == "__main__":
    main()
