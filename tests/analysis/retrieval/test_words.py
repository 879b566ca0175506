"""Word retrieval: MRR and precision by hand, against a plain loop; what is measured, and what is out of vocabulary."""

import numpy as np
import pytest
import torch

from dlfa_adapters.analysis.retrieval.scored import Column
from dlfa_adapters.analysis.retrieval.show import retrieval_tables
from dlfa_adapters.analysis.retrieval.word_report import coverage_table, word_notes, word_results
from dlfa_adapters.analysis.retrieval.words import measure_words
from dlfa_adapters.data.dictionary import Dictionary
from dlfa_adapters.data.vectors import WordVectors
from dlfa_adapters.ground.errors import ConfigError, DataError

ENGLISH = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [0.6, 0.8]}
GERMAN = {"u": [1.0, 0.1], "v": [0.1, 1.0], "w": [-1.0, 0.2], "x": [0.7, 0.7]}
PAIRS = [("a", "u"), ("a", "x"), ("b", "w"), ("c", "v"), ("b", "v")]


def vectors(by_word, *more):
    states = {str(k): torch.tensor([each[word] for word in by_word]) for k, each in enumerate((by_word, *more))}
    return WordVectors({word: row for row, word in enumerate(by_word)}, states)


def dictionary(pairs, *languages):
    return Dictionary(languages or ("en", "de"), pairs)


def value(found, measure, order="cosine", system="s", state="0"):
    return found.retrievals[0].value(Column(system, state, order, measure))


def test_mrr_and_precision_by_hand():
    found = measure_words({"s": {"en": vectors(ENGLISH), "de": vectors(GERMAN)}}, [dictionary(PAIRS)], at=(1, 2, 3))
    # Cosines with u v w x: of a 0.995 0.100 -0.981 0.707, of b 0.100 0.995 0.196 0.707, of c 0.677 0.856 -0.432 0.990.
    # So u is a's first and x its second, w b's third and v its first, v c's second.
    assert value(found, "mrr") == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 2 + 1) / 5)
    # Of the three words a and b have a translation that is the nearest.
    assert [value(found, f"p@{k}") for k in (1, 2, 3)] == pytest.approx([2 / 3, 1, 1])
    assert found.retrievals[0].items == 3


def test_csls_by_hand():
    found = measure_words({"s": {"en": vectors(ENGLISH), "de": vectors(GERMAN)}}, [dictionary(PAIRS)], neighbours=1)
    # Nearest cosines r(y) of u v w x: 0.995 0.995 0.196 0.990. 2 cos - r(y): of a 0.995 -0.796 -2.158 0.424, of b
    # -0.796 0.995 0.196 0.424, of c 0.358 0.716 -1.060 0.990. The third of b is still w.
    assert value(found, "mrr", "csls") == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 2 + 1) / 5)
    hub = {**GERMAN, "x": [0.75, 0.66]}  # cosines of x: 0.751, 0.661, 0.979; r(x) 0.979
    far = {**ENGLISH, "c": [0.5, 0.6]}  # cosines of c: 0.707 with u, 0.827 with v, 0.995 with x
    found = measure_words({"s": {"en": vectors(far), "de": vectors(hub)}}, [dictionary(PAIRS[:1] + PAIRS[3:])])
    assert value(found, "mrr") == 1.0  # x is no candidate where no pair has it


def by_loops(first, second, pairs, k):
    """MRR of the definition in float64, by cosine and by CSLS."""
    x, y = ({word: np.array(vector) for word, vector in side.items()} for side in (first, second))

    def cosine(a, b):
        return x[a] @ y[b] / np.linalg.norm(x[a]) / np.linalg.norm(y[b])

    words, targets = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
    near_x = {a: np.mean(sorted(cosine(a, b) for b in targets)[-k:]) for a in words}
    near_y = {b: np.mean(sorted(cosine(a, b) for a in words)[-k:]) for b in targets}
    orders = (cosine, lambda a, b: 2 * cosine(a, b) - near_x[a] - near_y[b])
    return [np.mean([1 / (1 + sum(order(a, c) > order(a, b) for c in targets)) for a, b in pairs]) for order in orders]


def test_every_order_is_what_loops_give():
    random = np.random.default_rng(1)
    first = {f"a{i}": random.normal(size=4).tolist() for i in range(20)}
    second = {f"b{i}": (np.array(first[f"a{i}"]) * 0.6 + random.normal(size=4) + 1).tolist() for i in range(20)}
    pairs = [(f"a{i}", f"b{i}") for i in range(20)] + [("a1", "b9"), ("a7", "b0"), ("a7", "b3")]
    found = measure_words(
        {"s": {"en": vectors(first), "de": vectors(second)}}, [dictionary(pairs)], neighbours=3, resamples=50
    )
    centred = [
        {word: (np.array(vector) - np.mean(list(side.values()), axis=0)).tolist() for word, vector in side.items()}
        for side in (first, second)
    ]
    for before, sides in (("", (first, second)), ("centred ", centred)):
        expected = by_loops(*sides, pairs, 3)
        assert [value(found, "mrr", f"{before}{score}") for score in ("cosine", "csls")] == pytest.approx(expected)
    scores = [value(found, "mrr", order) for order in ("cosine", "csls", "centred cosine", "centred csls")]
    assert len(set(scores)) == 4
    estimate = found.retrievals[0].estimate(Column("s", "0", "cosine", "mrr"))
    assert estimate.low < estimate.value < estimate.high


def test_a_map_undoes_a_rotation_and_learns_from_no_word_that_is_looked_for():
    random = torch.Generator().manual_seed(0)
    meaning = torch.randn(60, 6, generator=random)
    turned = 3 * meaning @ torch.linalg.qr(torch.randn(6, 6, generator=random))[0]
    english, german = ({f"w{i}": row for i, row in enumerate(each.tolist())} for each in (meaning, turned))
    pairs = [(f"w{i}", f"w{i}") for i in range(60)]
    system = {"s": {"en": vectors(english), "de": vectors(german)}}
    wrong = [(f"w{i}", f"w{(i + 7) % 60}") for i in range(20)]  # of words that are looked for
    found = measure_words(system, [dictionary(pairs[:20])], [dictionary(pairs[20:] + wrong)])
    assert value(found, "p@1", "mapped cosine") == value(found, "mrr", "mapped csls") == 1
    assert value(found, "mrr", "centred cosine") < 0.6
    assert found.coverage[0].learnt_on == 40
    assert [order for order in found.retrievals[0].orders("s") if order.startswith("mapped")] == [
        "mapped cosine",
        "mapped csls",
    ]


def test_all_systems_are_measured_on_the_pairs_that_all_of_them_have():
    some = {word: vector for word, vector in GERMAN.items() if word != "x"}
    systems = {
        "all": {"en": vectors(ENGLISH), "de": vectors(GERMAN)},
        "some": {"en": vectors({**ENGLISH, "d": [1.0, 1.0]}, ENGLISH | {"d": [0.5, 0.1]}), "de": vectors(some, some)},
        "no German": {"en": vectors(ENGLISH)},
    }
    asked = [dictionary([*PAIRS, ("d", "u"), ("a", "y")]), dictionary([("a", "u"), ("b", "v"), ("q", "u")], "en", "fi")]
    systems["all"]["fi"] = vectors(GERMAN)
    found = measure_words(systems, asked)
    german, finnish = found.retrievals
    assert (german.systems(), finnish.systems()) == (["all", "some"], ["all"])
    assert german.states("some") == ["0", "1"]
    # u, v and w are left as candidates, and x is no longer between b and w.
    assert value(found, "mrr", system="all") == value(found, "mrr", system="some") == (1 + 1 / 2 + 1 + 1) / 4
    told = {(each.languages, each.system): each for each in found.coverage}
    every = told["en-de", "all"]
    assert (every.pairs, every.covered, every.measured, every.learnt_on) == (7, 5, 4, None)
    assert (every.sources_missing, every.targets_missing) == (1, 1)  # d and y
    assert (told["en-de", "some"].sources_missing, told["en-de", "some"].targets_missing) == (0, 2)
    assert (told["en-fi", "all"].pairs, told["en-fi", "all"].measured) == (3, 2)
    results = word_results(found)
    assert results.mean is german
    tables = retrieval_tables(results)
    assert tables[0].title == "some: MRR, %, en-de"
    rows = {row[0]: row for row in tables[1].rows}
    assert rows["all: layer 0, cosine"][-2:] == ["87.5", "100.0"]
    assert rows["some: layer 0, cosine"][-1] == "–"
    assert "Not in the means: en-fi" in " ".join(word_notes(results, found))
    assert coverage_table(found).rows[1] == ["en-de: some", "7", "0", "2", "5", "4"]


def test_what_cannot_be_measured():
    systems = {"s": {"en": vectors(ENGLISH), "de": vectors(GERMAN)}}
    asked = [dictionary(PAIRS)]
    for at in ((), (0, 1)):
        with pytest.raises(ConfigError, match="precision at 1 or more"):
            measure_words(systems, asked, at=at)
    with pytest.raises(ConfigError, match="one dictionary for a pair of languages, got en-de, en-de"):
        measure_words(systems, asked * 2)
    with pytest.raises(ConfigError, match="a training dictionary for en-de too"):
        measure_words(systems, asked, [dictionary(PAIRS, "en", "tr")])
    with pytest.raises(DataError, match="en-de: s has no two pairs of the training dictionary"):
        measure_words(systems, asked, [dictionary([("a", "u"), ("b", "v")])])
    with pytest.raises(DataError, match=r"en-de: expected two or more pairs .* got 1 of 2"):
        measure_words(systems, [dictionary([("a", "u"), ("q", "u")])])
    with pytest.raises(
        DataError, match=r"en-fi: expected vectors of both languages, .* give --vectors or --text for en"
    ):
        measure_words(systems, [dictionary(PAIRS, "en", "fi")])
