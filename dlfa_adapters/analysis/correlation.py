"""Pearson's r over languages, of sub-word overlap and the scores of a model."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dlfa_adapters.analysis.overlap import LanguageOverlap
from dlfa_adapters.analysis.transfer_scores import Scores
from dlfa_adapters.data.languages import main_code
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.scores.intervals import LEVEL

MEASURES = {"p_type": "of types", "p_token": "of tokens"}
"""What is held against scores, and what it is called in a table."""


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Pearson's r over languages between a measure of overlap and the scores of a model.

    Attributes:
        scores: Name of the scores.
        measure: `p_type` or `p_token`.
        with_source: Whether a language of the training data is among the languages.
        languages: The languages that have both.
        r: None where there are fewer than three, or one of the two is the same for all.
        low: Lower end of the 95 % interval by Fisher's transformation; None with fewer than four languages.
        high: Its upper end.
        p_value: Two-sided, of "there is no correlation".
    """

    scores: str
    measure: str
    with_source: bool
    languages: list[str]
    r: float | None
    low: float | None
    high: float | None
    p_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def correlate(overlaps: Sequence[LanguageOverlap], scores: Scores) -> list[Correlation]:
    """Every measure against every model's scores: with the source language, where it is there, and without it.

    Raises:
        DataError: If no language has both, or the scores of a model are of other languages altogether.
    """
    found = []
    for name, by_language in scores.items():
        both = [each for each in overlaps if main_code(each.language) in by_language]
        if not both:
            there = ", ".join(sorted(by_language))
            raise DataError(
                f"expected scores in languages of the test data ({', '.join(each.language for each in overlaps)}), "
                f"but those of {name} are in {there}"
            )
        targets = [each for each in both if not each.is_source]
        for measure in MEASURES:
            groups = [(True, both), (False, targets)] if len(targets) < len(both) else [(False, targets)]
            found += [_correlation(name, measure, source, those, by_language) for source, those in groups]
    return found


def _correlation(
    name: str, measure: str, with_source: bool, overlaps: Sequence[LanguageOverlap], scores: Mapping[str, float]
) -> Correlation:
    languages = [each.language for each in overlaps]
    r, low, high, p = pearson([getattr(x, measure) for x in overlaps], [scores[main_code(x)] for x in languages])
    return Correlation(
        scores=name, measure=measure, with_source=with_source, languages=languages, r=r, low=low, high=high, p_value=p
    )


def pearson(x: Sequence[float], y: Sequence[float]) -> tuple[float | None, float | None, float | None, float | None]:
    """Pearson's r, its interval and its p-value.

    Returns:
        r, lower and upper end of the 95 % interval by Fisher's transformation, and the two-sided p-value; all None with
        fewer than three pairs or where one side does not vary, the interval and the p-value with fewer than four.
    """
    from scipy.stats import ConstantInputWarning, NearConstantInputWarning, pearsonr

    if len(x) < 3:
        return None, None, None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantInputWarning)
        warnings.simplefilter("ignore", NearConstantInputWarning)
        result = pearsonr(x, y)
    r, p = float(result.statistic), float(result.pvalue)
    if r != r:  # one side does not vary
        return None, None, None, None
    if len(x) < 4:
        return r, None, None, p
    ends = result.confidence_interval(LEVEL)
    return r, float(ends.low), float(ends.high), p


def needed(languages: int) -> float:
    """How large |r| must be over so many languages, three at least, for p < 0.05, by Student's t."""
    from scipy.stats import t

    quantile = float(t.ppf(1 - (1 - LEVEL) / 2, languages - 2))
    return quantile / (quantile**2 + languages - 2) ** 0.5


def spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float | None, float | None]:
    """Spearman's rank correlation and its two-sided p-value; None for fewer than three pairs or where one is constant.

    With two pairs rho is 1 or -1 whatever they are.
    """
    from scipy.stats import ConstantInputWarning, spearmanr

    if len(x) < 3:
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantInputWarning)
        result = spearmanr(x, y)
    rho, p = float(result.statistic), float(result.pvalue)
    return (None, None) if rho != rho else (rho, p)
