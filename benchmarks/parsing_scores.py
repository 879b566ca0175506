"""UAS and LAS against the official evaluation of the CoNLL 2018 shared task, on every file of a folder of treebanks.

    python benchmarks/parsing_scores.py UD --out parsing-scores.json
    python benchmarks/parsing_scores.py UD --run runs/parser

The folder has `UD_*/*.conllu`. Each file is parsed by a parser that counts (`counting_parser.py`) what is in a training
file, or by a run; what it says is written as CoNLL-U with all else kept, and both sides score it against the gold file.
The official side is `udtools.udeval` of the package udtools. Target: the same to 0.01 % on every file.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from counting_parser import CountingParser
from measuring import finish, machine

from dlfa_adapters.data.readers import Tree, read_conllu, with_arcs, write_conllu
from dlfa_adapters.kinds.parsing.attachment import AttachmentScore
from dlfa_adapters.kinds.parsing.decode import best_tree
from dlfa_adapters.kinds.parsing.tree import Arc

Parse = Callable[[Sequence[Tree]], list[Tree]]


def counted(path: Path) -> Parse:
    """A parser that counted the arcs of a file."""
    parser = CountingParser(read_conllu(path).items)

    def parse(trees: Sequence[Tree]) -> list[Tree]:
        heads = [best_tree(parser.scores(tree.tags or [])) for tree in trees]
        pairs = zip(trees, heads, strict=True)
        return [with_arcs(tree, found, parser.relations(tree.tags or [], found)) for tree, found in pairs]

    return parse


def run_parser(folder: Path) -> Parse:
    """A parser that was trained here."""
    from dlfa_adapters import load_run

    parser = load_run(folder)

    def parse(trees: Sequence[Tree]) -> list[Tree]:
        found = parser.predict([tree.words for tree in trees], [tree.tags for tree in trees])
        pairs = zip(trees, found, strict=True)
        return [with_arcs(tree, [arc.head for arc in arcs], [arc.deprel for arc in arcs]) for tree, arcs in pairs]

    return parse


def ours(gold: Path, system: Path) -> dict[str, Any]:
    """Our scores of a file."""

    def arcs(path: Path) -> list[list[Arc]]:
        trees: list[Any] = read_conllu(path).items
        return [[Arc(*arc) for arc in zip(t.heads(), t.deprels(), t.tags, strict=True)] for t in trees]

    return dict(AttachmentScore(subtypes=True).compute(predictions=arcs(system), references=arcs(gold)))


def official(gold: Path, system: Path) -> dict[str, Any]:
    """The official ones."""
    from udtools import udeval

    return dict(udeval.evaluate(udeval.load_conllu_file(str(gold)), udeval.load_conllu_file(str(system))))


def main() -> None:
    """Score every file on both sides and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--train", default="UD_English-EWT/en_ewt-ud-train.conllu", help="what the parser counts")
    parser.add_argument("--run", type=Path, help="the run folder of a parser instead")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    parse = run_parser(args.run) if args.run else counted(args.data / args.train)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        system = Path(folder) / "system.conllu"
        for path in sorted(args.data.glob("UD_*/*.conllu")):
            trees: list[Any] = read_conllu(path).items
            write_conllu(system, parse(trees))
            mine, theirs = ours(path, system), official(path, system)
            pairs = [(100 * mine[name.lower()], 100 * theirs[name].f1) for name in ("UAS", "LAS")]
            difference = max(abs(a - b) for a, b in pairs)
            others = [100 * mine[name] for name in ("uas_nopunct", "las_nopunct", "las_subtypes")]
            cells = [f"{value:.4f}" for pair in pairs for value in pair]
            rows.append([path.stem, mine["support"], *cells, f"{difference:.1e}", *(f"{x:.2f}" for x in others)])
            print(*rows[-1], flush=True)
    header = ["file", "words", "UAS", "official", "LAS", "official", "difference"]
    header += ["UAS without PUNCT, SYM", "LAS without PUNCT, SYM", "LAS with subtypes"]
    told = {"benchmark": f"UAS and LAS of {len(rows)} files, ours and official", "machine": machine()}
    finish({**told, "header": header, "rows": rows, "arguments": vars(args)}, args.out)


if __name__ == "__main__":
    main()
