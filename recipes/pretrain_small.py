"""Pre-training study: a small BERT from scratch, how near it brings translations, and whether a task carries over.

    python recipes/pretrain_small.py --text texts --dictionaries en-de.txt en-tr.txt --data download/panx
    python recipes/pretrain_small.py --text texts --dictionaries en-de.txt --data download/panx --sentences 2000
    python recipes/pretrain_small.py --text texts --dictionaries en-de.txt --data download/panx --window 20
    python recipes/pretrain_small.py --text texts --dictionaries en-de.txt --data xtreme --task xnli

Reproduces: one model of Section 3 of Liu et al. 2020 (arXiv 2004.09205), in small, and beside it word2vec on the same
pieces of the same text: word retrieval (its Figures 1 and 3), zero-shot transfer (2 and 4). Run it with few and with
many sentences, with windows of 512 and of 20 pieces (5 and 6). The paper has 200,000 and 1,000,000 sentences of
Wikipedia in 15 languages and models as wide as BERT base; how long it trained them is not said in it.
Data: `--text` is a folder with `en.txt` and so on, a sentence or paragraph a line; dictionaries are those of MUSE or
XLING-BLI, with their languages in their names; `--data` is what a task is learnt from, in English, and scored on.
Scores: docs/results/pretraining.md has them for 98 million pieces, and for 12 million, which leave a window of 512
hardly trained.
Time and memory: by `--pieces`, `--width` and `--blocks`. 98 million pieces with 6 blocks of width 256 took four to ten
minutes and 5 GB on an H200 that other trainings shared.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters import evaluate, train
from dlfa_adapters.analysis.retrieval.show import retrieval_tables
from dlfa_adapters.analysis.retrieval.systems import word_systems
from dlfa_adapters.analysis.retrieval.word_report import word_results
from dlfa_adapters.analysis.retrieval.words import measure_words
from dlfa_adapters.analysis.states import open_encoder
from dlfa_adapters.data.dictionary import by_language, read_dictionary
from dlfa_adapters.learning.pretrain import Shape, pretrain_bert, pretrain_word2vec
from dlfa_adapters.scores.show import markdown


def main(argv: Sequence[str] | None = None) -> None:
    """Train both kinds of vectors, ask them for translations of words, carry a task over to other languages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="folder with en.txt and so on")
    parser.add_argument("--languages", nargs="+", help="default: all that the folder has")
    parser.add_argument("--dictionaries", nargs="+", required=True, help="en-de.txt and so on, of these languages")
    parser.add_argument("--data", required=True, help="of the task: a folder, hub:NAME, samples:NAME")
    parser.add_argument("--task", default="ner", help="a known task, or any name")
    parser.add_argument("--split", default="dev", help="to score; some of WikiANN's test files have no tags")
    parser.add_argument("--sentences", type=int, help="of each language; default: all")
    parser.add_argument("--window", type=int, default=512, help="512, or 20 for a short context")
    parser.add_argument("--pieces", type=int, default=50_000_000, help="to learn from in all, again and again")
    parser.add_argument("--width", type=int, default=256, help="of both models")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--contexts", type=int, default=20, help="of a word, over which its states are averaged")
    parser.add_argument("--learning-rate", type=float, default=3e-4, help="of the task, for BERT: small ones need more")
    parser.add_argument("--max-steps", type=int, default=-1, help="of the task; default: its epochs")
    parser.add_argument("--limit", type=int, help="score only so many items of each language")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/pretrain-small"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    # Train both on the same sentences and the same pieces. What is there is used again: give another --out for others.
    languages = args.languages or sorted(path.stem for path in args.text.glob("*.txt"))
    text = {language: args.text / f"{language}.txt" for language in languages}
    bert, static = args.out / "bert", args.out / "word2vec"
    if not bert.exists():
        shape = Shape(width=args.width, blocks=args.blocks, heads=max(1, args.width // 64))
        options = {"window": args.window, "shape": shape, "pieces": args.pieces, "seed": args.seed}
        pretrain_bert(text, bert, sentences=args.sentences, **options)
    if not static.exists():
        options = {"tokenizer": bert, "width": args.width, "seed": args.seed}
        pretrain_word2vec(text, static, sentences=args.sentences, **options)

    # Word retrieval, by layer: words alone, and the mean over the places where they stand in the whole text.
    asked = [read_dictionary(place) for place in args.dictionaries]
    needed = by_language(asked)
    places = {language: text[language] for language in needed}
    models = (open_encoder(str(folder)) for folder in (bert, static))
    found = measure_words(word_systems(needed, models=models, texts=places, contexts=args.contexts), asked)
    for table in retrieval_tables(word_results(found)):
        print("\n".join(["", table.title, "", *table.markdown()]))

    # Zero-shot transfer: BERT as a whole learns the task, as in the paper; word vectors stay, and an LSTM reads them.
    rate = {"learning_rate": args.learning_rate, "head_learning_rate": args.learning_rate}
    ways = {bert: {"tuning": "full", **rate}, static: {"tuning": "features", "classifier": "bilstm"}}
    for folder, way in ways.items():
        out = args.out / f"{args.task}-{folder.name}"
        run = train(
            args.task, train_data=args.data, language="en", model=str(folder), fusion="last", out=out,
            max_steps=args.max_steps, seed=args.seed, **way,
        )  # fmt: skip
        print("\n" + markdown(evaluate(run, args.data, split=args.split, languages=languages, limit=args.limit)))


if __name__ == "__main__":
    main()
