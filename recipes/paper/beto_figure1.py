"""Freezing the bottom blocks, and frozen features under an LSTM or DLFA, against fine-tuning: a heat map a task.

    python recipes/paper/beto_figure1.py                                  # multilingual BERT on NER, POS and XNLI
    python recipes/paper/beto_figure1.py --data ner=hub:panx pos=hub:udpos xnli=hub:xnli parse=ud mldoc=MLDOC
    python recipes/paper/beto_figure1.py --ways full freeze:0 freeze:3 freeze:6 freeze:9           # freezing alone
    python recipes/paper/beto_figure1.py --ways full bilstm dlfa-features dlfa      # the feature-based comparison alone
    python recipes/paper/beto_figure1.py --data ner=samples:ner --model offline --languages en de ru sw --epochs 2

Reproduces: Figure 1 of Wu and Dredze 2019 (arXiv 1904.09077): the score of each language with the bottom n blocks and
the embeddings frozen (`freeze:n`), and of a weighted sum of all states under a BiLSTM with the encoder frozen
(`bilstm`), coloured by the difference to fine-tuning everything. Its text reads off it: n = 6 is best for sentences,
n = 3 for words, weak languages gain most, the features are below fine-tuning in each task. Beside that stands what the
paper does not have: DLFA on the frozen encoder (`dlfa-features`) and fine-tuned (`dlfa`). The paper chooses rate, batch
and epochs on English dev (`dlfa tune`); here they are the defaults of each way of learning, or what is typed.
Data: a place for each task, `TASK=PLACE`: on the hub, a folder, or samples; Universal Dependencies for `parse`, the
licensed MLDoc for `mldoc`, of which the first two sentences are read, as in the paper.
Time and memory: not measured here. What is trained and scored already is used again.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from dlfa_adapters import evaluate, train
from dlfa_adapters.analysis.gains import gains_table, measure_gains, plot_gains
from dlfa_adapters.analysis.transfer_scores import read_scores
from dlfa_adapters.tasks import get_task

HUB = {"ner": "hub:panx", "pos": "hub:udpos", "xnli": "hub:xnli"}
WAYS = {
    "full": {"tuning": "full", "fusion": "last"},
    "freeze:0": {"tuning": "freeze:0", "fusion": "last"},  # the embeddings alone
    "freeze:3": {"tuning": "freeze:3", "fusion": "last"},
    "freeze:6": {"tuning": "freeze:6", "fusion": "last"},
    "freeze:9": {"tuning": "freeze:9", "fusion": "last"},
    "bilstm": {"tuning": "features", "fusion": "scalar_mix", "classifier": "bilstm"},
    "dlfa-features": {"tuning": "features", "fusion": "dlfa"},
    "dlfa": {"tuning": "full", "fusion": "dlfa"},
}


def main(argv: Sequence[str] | None = None) -> None:
    """Train each task in each way, score every language, print and draw the differences to the first way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[f"{a}={b}" for a, b in HUB.items()], metavar="TASK=PLACE")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS, help="what others gain over, and they")
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--languages", nargs="+", help="to score; default: the task's on the hub, or all of the place")
    parser.add_argument("--split", default="test", help="`dev` where the test files have no labels")
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--seeds", type=int, default=1, help="of each; scores are means over them")
    parser.add_argument("--epochs", type=int, help="default: 5, and up to 100 for an LSTM")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--plot", help="default: figure1.svg in --out")
    parser.add_argument("--out", type=Path, default=Path("runs/beto-figure1"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    panels = {}
    for task, place in (pair.split("=", 1) for pair in args.data):
        known = get_task(task)
        languages = args.languages or (known.languages if known and place.startswith("hub:") else None)
        scores = {}
        for way in args.ways:
            found = []
            for seed in range(args.seeds):
                name = f"{task}-{way.replace(':', '-')}-{seed}"
                run, scored = args.out / name, args.out / f"{name}-scored"
                # Kept is the checkpoint with the best score on English dev data; targets choose nothing.
                if not run.exists():
                    train(
                        task,
                        train_data=place,
                        model=args.model,
                        first_sentences=2 if task == "mldoc" else None,
                        epochs=args.epochs,
                        batch_size=args.batch_size,
                        seed=seed,
                        out=run,
                        **WAYS[way],
                    )
                if not scored.exists():
                    options = {"split": args.split, "languages": languages, "limit": args.limit}
                    evaluate(run, place, out=scored, **options)
                found += read_scores(scored).values()
            scores[way] = {language: fmean(each[language] for each in found) for language in found[0]}
        panels[task] = measure_gains(scores, args.ways[0])
        print("\n".join([f"\n## {task}\n", *gains_table(task, scores, args.ways[0], panels[task]).markdown()]))
    if len(args.ways) > 1:
        plot_gains(panels, args.ways[0], args.plot or args.out / "figure1.svg")


if __name__ == "__main__":
    main()
