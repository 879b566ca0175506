"""How hard masked pieces are to guess for what knows no more than how frequent each piece is.

    python benchmarks/unigrams.py --data DATA --out pretraining-unigrams.json

Beside the perplexity of the BERTs of `pretraining_study.py`: of the same sentences, in pieces of the same vocabulary,
what guesses by the frequencies of all text, and what knows the language and guesses by those of its text, has the
perplexity exp(-sum p log p), the mean over pieces of all languages. It is counted on what it is scored on, so that it
is a little too good.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

from measuring import table
from pretraining_study import SIZES, texts


def entropy(counts: Counter[int]) -> float:
    """The sum of -log p over all pieces that were counted, in nats."""
    total = sum(counts.values())
    return -sum(count * log(count / total) for count in counts.values())


def perplexities(counts: Sequence[Counter[int]]) -> tuple[float, float]:
    """By the frequencies of all languages together, and by those of each.

    Args:
        counts: Of the pieces of each language.
    """
    together: Counter[int] = sum(counts, Counter())
    total = sum(together.values())
    return exp(entropy(together) / total), exp(sum(map(entropy, counts)) / total)


def main() -> None:
    """Count and print."""
    from dlfa_adapters.learning.pretrain import read_sentences
    from dlfa_adapters.learning.pretrain.vocabulary import train_tokenizer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with lm_text")
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    read = {size: read_sentences(texts(args.data), sentences) for size, sentences in SIZES.items()}
    largest = max(SIZES, key=lambda size: SIZES[size])
    tokenizer = train_tokenizer((line for lines in read[largest].values() for line in lines), args.vocabulary)
    rows = []
    for size, by_language in read.items():
        pieces = [tokenizer(lines, add_special_tokens=False)["input_ids"] for lines in by_language.values()]
        counts = [Counter(piece for line in lines for piece in line) for lines in pieces]
        together, each = perplexities(counts)
        total = sum(counter.total() for counter in counts)
        rows.append({"text": size, "pieces": total, "all text": round(together, 1), "by language": round(each, 1)})
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    if args.out:
        args.out.write_text(json.dumps(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
