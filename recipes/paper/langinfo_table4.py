"""Table 4 of LANGINFO: XNLI with everything learning, with six layers frozen, and languages shifted at layer 6.

    python recipes/paper/langinfo_table4.py                                 # multilingual BERT; needs the hub and a GPU
    python recipes/paper/langinfo_table4.py --data xtreme --alpha text      # no label of a target language is looked at
    python recipes/paper/langinfo_table4.py --data samples:nli --model offline --max-steps 60    # too few to learn much

Reproduces: Table 4 of Liu et al. 2020 (arXiv 2004.09205): XNLI with everything fine-tuned, with the first six layers
frozen, and that model with languages moved towards English at layer 6 when it predicts (mean-difference shift). Without
English the paper has 58.00, 61.80 and 62.24 in the mean of 11 languages, one run each. Its alpha is picked for each
language on its labelled dev data (`--alpha dev`), which is no zero-shot transfer; `--alpha text` needs no labels, and a
line of the table is made for each. The paper does not say what text its means are of: here it is the dev texts of each
language, English included. `--center` trains on centred languages, too, which is not in the paper.
Data: XNLI with MultiNLI to train on, from the hub, or a folder in XTREME's layout (`train-en.tsv`, `dev-de.tsv`...).
The samples have dev data in English alone, so there means are of their test texts, and alpha is not picked by labels.
Time and memory: not measured here. Trainings that are there are used again.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from dlfa_adapters import evaluate, train
from dlfa_adapters.analysis.language_text import text_of_data
from dlfa_adapters.analysis.means import measure_encoder_means
from dlfa_adapters.encoders import load_encoder

LANGUAGES = "en de es ar el fr hi ru th tr vi zh"  # of Table 4; XNLI has bg, sw and ur too


def main(argv: Sequence[str] | None = None) -> None:
    """Train two models, score them as they are and shifted, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="hub:xnli", help="hub:NAME, a folder, or samples:NAME")
    parser.add_argument("--model", default="bert-base-multilingual-cased", help="on the hub, a folder, or `offline`")
    parser.add_argument("--languages", nargs="+", help="default: those of the table, or all that samples have")
    parser.add_argument("--layer", type=int, help="frozen up to here, and shifted here; default: half of the depth")
    parser.add_argument(
        "--alpha", nargs="+", help="dev: on target labels; text: without; or numbers; default: dev text"
    )
    parser.add_argument("--center", action="store_true", help="also train on centred languages")
    parser.add_argument("--fusion", default="last", help="`last`: none, as in the paper")
    parser.add_argument("--limit", type=int, help="score only so many pairs of each language")
    parser.add_argument("--epochs", type=int, help="default: those of the tuning")
    parser.add_argument("--max-steps", type=int, default=-1, help="to stop early")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/langinfo-table4"))
    args = parser.parse_args(argv)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("dlfa_adapters").setLevel(logging.INFO)
    samples = args.data.startswith("samples:")
    languages = args.languages or (None if samples else LANGUAGES.split())
    alphas = args.alpha or (["text"] if samples else ["dev", "text"])

    layer = args.layer or load_encoder(args.model).model.config.num_hidden_layers // 2
    frozen, means = f"layers above {layer}", args.out / "means.safetensors"
    systems = {"all layers": ("full", None), frozen: (f"freeze:{layer}", None)}
    if args.center:
        systems[f"{frozen}, centred"] = (f"freeze:{layer}", str(means))
    runs = {}
    for name, (tuning, center) in systems.items():
        runs[name] = args.out / f"{tuning.replace(':', '-')}{'-centred' if center else ''}"
        if not runs[name].exists():
            train(
                "xnli",
                train_data=args.data,
                model=args.model,
                tuning=tuning,
                center=center,
                fusion=args.fusion,
                epochs=args.epochs,
                max_steps=args.max_steps,
                seed=args.seed,
                out=runs[name],
            )
        # Up to the last frozen layer the states of a trained model are those of the encoder, and so are their means.
        if not means.exists():
            texts, _ = text_of_data(args.data, "xnli", "test" if samples else "dev", languages)
            measure_encoder_means(load_encoder(args.model), texts).save(means)

    scored = {"languages": languages, "limit": args.limit}
    reports = {
        name: evaluate(run, args.data, out=args.out / f"{run.name}-scores", **scored) for name, run in runs.items()
    }
    for alpha in alphas:
        reports[f"{frozen}, shift, alpha {alpha}"] = evaluate(
            runs[frozen], args.data, shift=f"{means}@{layer}:{alpha}", out=args.out / f"shift-{alpha}-scores", **scored
        )

    codes = [each.language for each in reports["all layers"].table.languages]
    print("| system | " + " | ".join([*codes, "mean w/o en"]) + " |\n|---|" + "---:|" * (len(codes) + 1))
    for name, report in reports.items():
        scores = {each.language: 100 * (each.scores["accuracy"].value or 0) for each in report.table.languages}
        targets = [score for code, score in scores.items() if code != "en"]
        cells = [*(f"{scores[code]:.2f}" for code in codes), f"{sum(targets) / len(targets):.2f}"]
        print(f"| {name} | " + " | ".join(cells) + " |")
        if shift := report.about["run"].get("shift"):
            picked = [f"{shift['alphas'][code]:g}" if code in shift["alphas"] else "" for code in codes]
            print("| its alphas | " + " | ".join([*picked, ""]) + " |")


if __name__ == "__main__":
    main()
