"""How often the intervals of a mean over languages hold the true value, by simulation.

    python benchmarks/coverage.py
    python benchmarks/coverage.py --sets 2000 --items 500

Data sets are drawn whose accuracy is known, with the same items in every language: whether an item is right in two
languages correlates as much as the first column says. For each, languages are resampled one by one and together, as
`dlfa evaluate`, `dlfa compare` and `dlfa sweep` do it. Then

- coverage: how often the 95 % interval of the mean of one model holds the true accuracy; 95 % is right;
- one difference: how often a model that is as good as the baseline has p < 0.05 against it; 5 % is right;
- any of many: how often at least one of several such models has, by its own p-value and by the adjusted one; 5 % is
  right;
- all of many: how often all their simultaneous intervals hold the true difference, 0; 95 % is right.
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np

from dlfa_adapters.scores.intervals import interval, p_value, simultaneous
from dlfa_adapters.scores.resample import resample_languages
from dlfa_adapters.scores.translations import Drawn, Translations

ACCURACY = 0.7


@dataclass(frozen=True)
class Case:
    """What is simulated.

    Attributes:
        correlation: Of an item's being right in two languages, by the same model.
        languages: Languages.
        items: Items of each.
        variants: Models beside the baseline, all as good as it.
        resamples: Of the bootstrap.
        sets: Data sets.
    """

    correlation: float
    languages: int = 14
    items: int = 300
    variants: int = 12
    resamples: int = 500
    sets: int = 500


@dataclass(frozen=True)
class Rates:
    """Shares of data sets, see above."""

    coverage: float
    false_difference: float
    any_false: float
    any_false_adjusted: float
    simultaneous_coverage: float


def simulate(case: Case, *, together: bool, seed: int = 0) -> Rates:
    """Draw data sets and look at their intervals.

    Args:
        case: What is simulated.
        together: Whether translations are resampled together.
        seed: Of the data; both ways see the same.
    """
    random = np.random.default_rng(seed)
    names = [f"language {i}" for i in range(case.languages)]
    drawn = Drawn(together=True, by="id", shared=case.items, alone=0, sentence="")
    keys: list[str | None] = [str(i) for i in range(case.items)]
    translations = Translations(dict.fromkeys(names, keys), drawn) if together else None
    rows = []
    for number in range(case.sets):
        right = _right(case, random)  # (languages, items, models)
        sums = resample_languages(dict(zip(names, right, strict=True)), translations, case.resamples, number)
        samples = np.mean([each.values for each in sums.values()], axis=0) / case.items  # (resamples, models)
        scores = right.mean(axis=(0, 1))
        low, high = interval(samples[:, 0])
        differences = [samples[:, k] - samples[:, 0] for k in range(1, case.variants + 1)]
        alone = [p_value(difference) for difference in differences]
        at_once = simultaneous(list(scores[1:] - scores[0]), differences)
        rows.append(
            (
                low is not None and high is not None and low <= ACCURACY <= high,
                alone[0] is not None and alone[0] < 0.05,
                any(p is not None and p < 0.05 for p in alone),
                any(p < 0.05 for _, _, p in at_once),
                all(low <= 0 <= high for low, high, _ in at_once),
            )
        )
    return Rates(*(float(share) for share in np.mean(rows, axis=0)))


def _right(case: Case, random: np.random.Generator) -> np.ndarray:
    """Whether each model is right, (languages, items, models): as in all languages now and then, else by itself."""
    shape = (case.languages, case.items, case.variants + 1)
    common = random.random(shape[1:]) < ACCURACY
    own = random.random(shape) < ACCURACY
    return np.where(random.random(shape) < case.correlation**0.5, common, own).astype(np.int64)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Case(0.0)
    for name in ("languages", "items", "variants", "resamples", "sets"):
        parser.add_argument(f"--{name}", type=int, default=getattr(default, name))
    parser.add_argument("--seed", type=int, default=0)
    args = vars(parser.parse_args())
    seed = args.pop("seed")
    print("| correlation | languages resampled | coverage | one difference | any of many | adjusted | all of many |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for correlation in (0.0, 0.3, 0.6, 0.9):
        for together in (False, True):
            found = simulate(replace(default, correlation=correlation, **args), together=together, seed=seed)
            shares = " | ".join(f"{100 * share:.1f} %" for share in vars(found).values())
            print(f"| {correlation} | {'together' if together else 'one by one'} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
