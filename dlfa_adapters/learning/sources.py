"""Several source languages in one training: their mixture, and what a run says of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from dlfa_adapters.data.mixture import Mixture, shares_by_temperature, shares_by_weight
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.settings import StepOptions
from dlfa_adapters.learning.source_options import named_languages, read_weights


def mixture_of(train: Examples, languages: Sequence[str], steps: StepOptions) -> Mixture | None:
    """How the rows of several source languages are drawn; None where fewer than two are named.

    An epoch has as many rows as the first language, so that a training on several languages has the steps of one on
    the first alone.

    Raises:
        DataError: If a language has no rows.
    """
    if len(languages) < 2:
        return None
    every = train.rows_by_language()
    if missing := [code for code in languages if code not in every]:
        raise DataError(f"expected training data in {', '.join(missing)}, but there is nothing to learn from.")
    rows = {code: every[code] for code in languages}
    counts = {code: len(of_language) for code, of_language in rows.items()}
    if steps.source_weights is not None:
        weights = read_weights(steps.source_weights)
        shares = shares_by_weight({code: weights[code] for code in languages})
    else:
        shares = shares_by_temperature(counts, steps.source_temperature or 1.0)
    return Mixture(rows, shares, counts[languages[0]], steps.seed)


def mixed(examples: Examples, named: Sequence[str], steps: StepOptions) -> Examples:
    """Data that need not be in all of the source languages, with those that they are in drawn as `mixture_of` says."""
    there = examples.rows_by_language()
    examples.mixture = mixture_of(examples, [code for code in named if code in there], steps)
    return examples


def mix(train: Examples, source: Any, language: str | None, steps: StepOptions) -> dict[str, dict[str, Any]]:
    """Let training data from a source, in languages with commas between them, be drawn as `mixture_of` says.

    Returns:
        For a run, under `sources`: items and rows of each source language, and how often it is drawn; {} where training
        data are not drawn.
    """
    train.mixture = mixture_of(train, named_languages(source, language), steps)
    if train.mixture is None:
        return {}
    items, shares = train.items_by_language(), train.mixture.shares
    sources = {
        language: {"items": len(items[language]), "rows": len(rows), "share": round(shares[language], 6)}
        for language, rows in train.mixture.rows.items()
    }
    return {"sources": sources}


def in_a_line(sources: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    """The same for the screen: a line, or none."""
    if not sources:
        return []
    parts = [f"{language} {of['items']:,} items, {100 * of['share']:.3g} %" for language, of in sources.items()]
    first = next(iter(sources))
    return [f"Sources: {'; '.join(parts)} of the rows that are drawn; an epoch has as many as {first} alone"]
