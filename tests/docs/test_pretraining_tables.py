"""What the page of small BERTs says of its rows, by hand."""

import sys
from collections import Counter
from math import isnan, log
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = (
    "pretraining_tables", "translation_tables", "pretraining_study", "unigrams", "language_tables", "measuring",
)  # fmt: skip


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import pretraining_tables

    yield pretraining_tables
    for name in MODULES:
        sys.modules.pop(name, None)


def scores(bleu_1, gap, convert_rate, neither=0.0, low=0.0, high=0.02):
    given = {"bleu_1": bleu_1, "others": 0.01, "gap": gap, "convert_rate": convert_rate, "neither": neither}
    return {name: {"value": value, "low": low, "high": high} for name, value in given.items()}


TRANSLATED = {
    "languages": ["en", "de"],
    "depth": 2,
    "best": {"layer": 2, "alpha": 0.5},
    "copy": scores(0.01, 0.004, 0.02),
    "unshifted": scores(0.02, 0.005, 0.1),
    "cells": [
        {"layer": 1, "alpha": 0.5, "scores": scores(0.03, 0.006, 0.2)},
        {"layer": 1, "alpha": 1.0, "scores": scores(0.04, 0.001, None)},
        {"layer": 2, "alpha": 0.5, "scores": scores(0.05, 0.002, 0.1)},
        {"layer": 2, "alpha": 1.0, "scores": scores(0.01, 0.003, 1.0)},
    ],
}


def test_translations(tables):
    import translation_tables

    found = translation_tables.Translation({"translation.jsonl": [TRANSLATED]}.__getitem__)
    assert found.targets == ["de"]
    assert (found.value("de", "best"), found.value("de", "copy", of="convert_rate")) == (5, 2)
    assert isnan(found.value("de", 1, 1.0, "convert_rate"))
    assert (found.rises("convert_rate", 1, "de"), found.rises("convert_rate", 2, "de")) == (False, True)
    assert (found.rises("bleu_1", 1, "de"), found.rises("bleu_1", 2, "de")) == (True, False)
    assert found.best_gap("de") == pytest.approx(0.6)
    assert found.more_gap("de", 1.0) == [pytest.approx(-0.3), pytest.approx(-0.1)]
    assert found.all("bleu_1", [2]) == [5, 1]
    assert found.grid("convert_rate")[2:] == ["| 1 | 20 / – |", "| 2 | 10 / 100 |"]
    assert found.table()[4] == "| en → de, layer 2, alpha 0.5 | 5.0 | 1.0 | 0.2 (0.0 to 2.0) | 10 |"


def test_gaps_whose_intervals_are_apart(tables):
    import translation_tables

    intervals = [(0.0, 0.02), (0.031, 0.04), (0.0, 0.009), (0.02, 0.03)]
    cells = [{"layer": 1, "alpha": k, "scores": scores(0, 0, 0, low=a, high=b)} for k, (a, b) in enumerate(intervals)]
    row = {"languages": ["en", "de"], "copy": scores(0, 0, 0, low=0.01, high=0.03), "cells": cells}
    found = translation_tables.Translation({"translation.jsonl": [row]}.__getitem__)
    assert (found.gaps_apart("de"), found.gaps_apart("de", -1)) == (1, 1)


def encoder(kind, window, ner, seed=0, perplexity=3.0):
    cell = {"kind": kind, "size": "small", "window": window, "seed": seed}
    shape = {"shape": {"blocks": 1}} if kind == "bert" else {}
    told = {**shape, "text": {"pieces": 10}, "training": {"pieces": 25}, "perplexity": perplexity}
    return {"cell": cell, "pretraining": told, "transfer": [{"task": "ner", "tuning": "features", "languages": ner}]}


def dictionary(name, items, mrr):
    rows = [
        {"system": f"{of}, in context", "state": state, "order": "cosine", "mrr": {"value": x, "low": 0, "high": x}}
        for (of, state), x in mrr.items()
    ]
    return {"dictionary": name, "items": items, "scores": rows}


def test_encoders(tables):
    bert, static = ("bert", "small", 512), ("word2vec", "small", 5)
    mrr = {("bert-small-512-0", "0"): 0.1, ("bert-small-512-0", "1"): 0.3, ("word2vec-small-5-0", "0"): 0.2}
    other = {("bert-small-512-0", "0"): 0.2, ("bert-small-512-0", "1"): 0.2, ("word2vec-small-5-0", "0"): 0.4}
    rows = [
        encoder("bert", 512, {"en": 0.9, "de": 0.4, "fr": 0.6}),
        encoder("word2vec", 5, {"en": 0.8, "de": 0.3, "fr": None}),
        dictionary("en-de", 1, mrr),
        dictionary("en-fr", 2, other),
    ]
    found = tables.Pretraining({"pretraining.jsonl": rows}.__getitem__)
    assert (found.encoders, found.berts) == ([bert, static], [bert])
    assert (found.mrr(*bert), found.mrr(*static, words=["en-fr"])) == (pytest.approx(25), pytest.approx(40))
    assert (found.higher(bert, static), found.higher(static, bert)) == (1, 1)
    assert (found.half_widths(*bert), found.by_chance()) == ([pytest.approx(15), pytest.approx(10)], [100, 75])
    assert found.half_width(*bert) == pytest.approx(325**0.5 / 2)
    assert (found.in_layer(0, *bert), found.in_layer(1, *bert)) == (pytest.approx(15), pytest.approx(25))
    assert found.goes_with_words("ner") == pytest.approx(-1)
    assert (found.score(bert, "ner"), found.score(static, "ner", language="en")) == (
        pytest.approx(50),
        pytest.approx(80),
    )
    assert found.times(*bert) == 2.5


def test_seeds_and_what_more_training_brings(tables):
    """Rows of the second seed may come first; word2vec has no perplexity, and no tuning but one."""
    static = ("word2vec", "small", 5)
    now = {("word2vec-small-5-0", "0"): 0.2, ("word2vec-small-5-1", "0"): 0.4}
    before = {("word2vec-small-5-0", "0"): 0.1}
    files = {
        "pretraining.jsonl": [
            encoder("word2vec", 5, {"en": 0.8, "de": 0.3}, seed=1),
            encoder("word2vec", 5, {"en": 0.8, "de": 0.5}),
            dictionary("en-de", 3, now),
        ],
        "pretraining-short.jsonl": [encoder("word2vec", 5, {"en": 0.8, "de": 0.25}), dictionary("en-de", 3, before)],
    }
    found = tables.Pretraining(files.__getitem__)
    assert (found.mrrs(*static), found.scores(static, "ner")) == ([20, 40], [50, 30])
    assert (found.mrr(*static), found.score(static, "ner"), found.gain(static, static, "ner")) == (30, 40, 0)
    assert found.growth()[2:] == ["| small, word2vec 5 |  | 10.0 → 20.0, 40.0 | 25.0 → 50.0, 30.0 |  |  |"]
    assert found.words()[2:] == ["| small | word2vec | 5 | 0, 0 | 30.0 | 30.0 | 20.0, 40.0 |"]
    assert found.transfer()[2].endswith("| 80.0 | 40.0 | 40.0 | 50.0, 30.0 |")


def test_perplexities_of_each_seed(tables):
    rows = [encoder("bert", 512, {}, seed, perplexity) for seed, perplexity in ((1, 4.0), (0, 1234.5))]
    found = tables.Pretraining({"pretraining.jsonl": rows}.__getitem__)
    assert found.perplexities_of("bert", "small", 512) == [1234.5, 4.0]


def test_guessing_by_frequency(tables):
    import unigrams

    assert unigrams.entropy(Counter({1: 2, 2: 2})) == pytest.approx(4 * log(2))
    together, by_language = unigrams.perplexities([Counter({1: 4}), Counter({2: 2, 3: 2})])
    assert together == pytest.approx(2**1.5)
    assert by_language == pytest.approx(2**0.5)
