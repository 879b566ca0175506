"""Table 2 of XMULTI: English labels against those of four languages, on POS, NER, PAWS-X and reviews.

    python recipes/paper/xmulti_table2.py                               # the paper's setting, data from the hub
    python recipes/paper/xmulti_table2.py --data FOLDER --tasks ner pos # FOLDER/panx, udpos, ...
    python recipes/paper/xmulti_table2.py --data FOLDER --tasks ner --tuning features --model offline    # no GPU

Reproduces: Table 2 of XMULTI ("Enhancing Cross-Lingual Training with Knowledge Learned from Multi-Lingual Training"):
macro-F1 of a model of English (cross) and of one of English, German, Spanish and French (multi), both in these four
languages. The paper has multi above cross in all cells but English POS. What it leaves open: here both have the same
number of steps, which is that of five epochs of English; languages are drawn by their number of sentences, or with
`--temperature` otherwise; macro-F1 of tags is that of words, O among them; the epoch is chosen on dev data of the
languages of the labels. The task `sentiment`, XLM-T with three classes, is one more.
Data: training, dev and test files in the four languages, in a folder as panx, udpos, pawsx, marc, xlmt.
Time and memory: two trainings a task and seed, each as long as one of `dlfa train`; not measured here for multilingual
BERT. A training that was cut short goes on when the recipe is called again. In small, with another encoder:
docs/results/knowledge.md.
"""

import argparse
import logging
import statistics
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters import train
from dlfa_adapters.kinds.examples import label_macro_f1
from dlfa_adapters.predict.run import predict_run

LANGUAGES = ["en", "de", "es", "fr"]
HUB = {"pos": "hub:udpos", "ner": "hub:panx", "pawsx": "hub:pawsx", "marc": "hub:marc", "sentiment": "hub:xlmt"}
FOLDERS = {"pos": "udpos", "ner": "panx", "pawsx": "pawsx", "marc": "marc", "sentiment": "xlmt"}


def main(argv: Sequence[str] | None = None) -> None:
    """Train both models of each task, print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with panx, udpos, pawsx, marc, xlmt; default: the hub")
    parser.add_argument("--tasks", nargs="+", default=["pos", "ner", "pawsx", "marc"], choices=HUB)
    parser.add_argument("--languages", nargs="+", default=LANGUAGES, help="English first: the cross-lingual model's")
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--tuning", default="full", help="lora, features: a frozen encoder")
    parser.add_argument("--fusion", default="last", help="dlfa: with layer fusion, which the paper has not")
    parser.add_argument("--temperature", type=float, help="default: 1, each sentence as often as every other")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, help="score only the first items of each language")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="default: 5, and the tuning's where it is not `full`")
    parser.add_argument("--out", type=Path, default=Path("runs/xmulti-table2"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    print(f"| model, macro-F1 | {' | '.join(args.languages)} |\n|---|{'---:|' * len(args.languages)}")
    for task in args.tasks:
        source = args.data / FOLDERS[task] if args.data else HUB[task]
        for name, sources in (("cross", args.languages[:1]), ("multi", args.languages)):
            scores: dict[str, list[float]] = {language: [] for language in args.languages}
            for seed in range(args.seeds):
                out = args.out / f"{task}-{name}-{args.tuning.replace(':', '-')}-{seed}"
                if not out.exists():
                    train(
                        task,
                        train_data=source,
                        language=",".join(sources),
                        source_temperature=args.temperature if len(sources) > 1 else None,
                        model=args.model,
                        tuning=args.tuning,
                        fusion=args.fusion,
                        learning_rate=1e-5 if args.tuning == "full" else None,  # the paper's
                        epochs=args.epochs or (5 if args.tuning == "full" else None),
                        seed=seed,
                        out=out,
                        resume="auto",
                    )
                predictions = predict_run(out, source, split=args.split, languages=args.languages, limit=args.limit)
                for each in predictions.languages:
                    value = label_macro_f1(predictions.task, each.predicted, each.gold)
                    scores[each.language].append(100 * (value or 0.0))
            cells = [_cell(of_language) for of_language in scores.values()]
            print(f"| {task}, {name} | {' | '.join(cells)} |", flush=True)


def _cell(scores: list[float]) -> str:
    """The mean over seeds, and its standard deviation."""
    spread = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.1f}{spread}"


if __name__ == "__main__":
    main()
