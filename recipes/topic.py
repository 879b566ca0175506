"""Topics: learn 7 topics from 701 English sentences of SIB-200, sort sentences in other languages into them.

    python recipes/topic.py --data sib200/data/annotated                  # a clone of the data set's repository
    python recipes/topic.py --fusion last --out runs/topic-last           # the baseline; then: dlfa compare
    python recipes/topic.py --tuning lora --languages swh_Latn yor_Latn   # the encoder stays frozen
    python recipes/topic.py --model offline --tuning features             # no GPU

Reproduces: the setting of the zero-shot transfer from English in SIB-200 (Adelani et al. 2024, arXiv 2309.07445); the
DLFA paper has no such task. So the default layer is a guess, two thirds of the depth; `dlfa sweep topic` tries all.
Data: `hub:sib200`, or a folder with a folder for each language. Languages have FLORES-200 codes, such as swh_Latn.
Time and memory: the last command with 24 languages takes 162 s of processor time and 2.0 GB; multilingual BERT was
not measured here.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters.learning import train
from dlfa_adapters.scores.evaluate import evaluate_run
from dlfa_adapters.scores.show import markdown

SOURCE = "eng_Latn"
LANGUAGES = (
    "amh_Ethi arb_Arab ben_Beng deu_Latn ell_Grek eng_Latn fra_Latn heb_Hebr hin_Deva jpn_Jpan kat_Geor kor_Hang "
    "rus_Cyrl spa_Latn swh_Latn tam_Taml tha_Thai tur_Latn vie_Latn yor_Latn zho_Hans"
).split()


def main(argv: Sequence[str] | None = None) -> None:
    """Train on English sentences, sort those of every language, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="hub:sib200", help="hub:NAME or a folder")
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--tuning", default="full", help="full, freeze:6, lora, bottleneck, stack:FOLDER, features")
    parser.add_argument("--fusion", default="dlfa", help="`last` is the baseline")
    parser.add_argument("--fuse-layer", type=int, help="default: two thirds of the depth of the encoder")
    parser.add_argument("--languages", nargs="+", help="to sort; default: 21, or all of the folder")
    parser.add_argument("--split", default="test", help="to sort")
    parser.add_argument("--language-adapters", nargs="+", default=[], metavar="CODE=FOLDER", help="with stack:FOLDER")
    parser.add_argument("--max-steps", type=int, default=-1, help="to stop early; default: the epochs of the tuning")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/topic"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)

    # Train on English. Kept is the checkpoint with the best accuracy on English dev data; targets choose nothing.
    run = train(
        "topic",
        train_data=args.data,
        language=SOURCE,
        model=args.model,
        tuning=args.tuning,
        fusion=args.fusion,
        fuse_layer=args.fuse_layer,
        max_steps=args.max_steps,
        seed=args.seed,
        out=args.out,
    )

    # Sort the sentences of every language; they are parallel, so the languages can be compared. Scores have bootstrap
    # intervals, and are saved beside the run with every prediction.
    languages = args.languages or (LANGUAGES if args.data.startswith("hub:") else None)
    adapters = dict(pair.split("=", 1) for pair in args.language_adapters)
    report = evaluate_run(run, args.data, split=args.split, languages=languages, language_adapters=adapters)
    print(markdown(report))


if __name__ == "__main__":
    main()
