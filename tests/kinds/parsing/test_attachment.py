"""UAS and LAS, counted by hand and in another way."""

import logging
import random

import numpy as np
import pytest

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.parsing.attachment import AttachmentScore
from dlfa_adapters.kinds.parsing.tree import Arc, check_tree, cut_subtype

# They were seen , $ 5 .
GOLD = [
    Arc(3, "nsubj:pass", "PRON"),
    Arc(3, "aux:pass", "AUX"),
    Arc(0, "root", "VERB"),
    Arc(3, "punct", "PUNCT"),
    Arc(6, "nmod", "SYM"),
    Arc(3, "obl", "NUM"),
    Arc(3, "punct", "PUNCT"),
]
PREDICTED = [
    Arc(3, "nsubj"),  # right without the subtype
    Arc(3, "aux:pass"),  # right
    Arc(0, "root"),  # right
    Arc(6, "punct"),  # punctuation, wrong head
    Arc(3, "nmod"),  # symbol, wrong head
    Arc(3, "obj"),  # right head, wrong relation
    Arc(3, "punct"),  # right
]


def score(predicted, gold, subtypes=True, **more):
    return AttachmentScore(subtypes).compute(predictions=predicted, references=gold, **more)


def test_counted_by_hand():
    result = score([PREDICTED], [GOLD])
    assert result["las"] == 4 / 7
    assert result["uas"] == 5 / 7
    assert result["las_nopunct"] == 3 / 4
    assert result["uas_nopunct"] == 4 / 4
    assert result["las_subtypes"] == 3 / 7
    assert (result["support"], result["support_nopunct"], result["without_upos"]) == (7, 4, 0)
    assert result["per_relation"]["punct"] == pytest.approx(
        {"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2, "support": 2, "predicted": 2}
    )
    assert result["per_relation"]["nmod"]["f1"] == 0.0
    assert result["per_relation"]["obl"] == {
        "precision": None, "recall": 0.0, "f1": 0.0, "support": 1, "predicted": 0
    }  # fmt: skip
    assert set(result["per_relation"]) == {"nsubj", "aux", "root", "punct", "nmod", "obl", "obj"}


def test_whole_relations_are_compared_only_where_they_are_kept():
    assert "las_subtypes" not in score([PREDICTED], [GOLD], subtypes=False)
    names = [x.name for x in AttachmentScore().counted_scores()]
    assert names == ["las", "uas", "las_nopunct", "uas_nopunct"]
    assert [x.name for x in AttachmentScore(subtypes=True).counted_scores()] == [*names, "las_subtypes"]


def test_the_parts_of_speech_are_those_of_gold():
    wrong = [arc._replace(upos="PUNCT") for arc in GOLD]
    assert score([wrong], [GOLD])["support_nopunct"] == 4


@pytest.mark.parametrize("missing", ["", "_"])
def test_words_without_a_part_of_speech_are_in_no_score_that_asks_for_it(missing):
    gold = [arc._replace(upos=missing) for arc in GOLD]
    result = score([gold[:3] + PREDICTED[3:]], [gold[:3] + GOLD[3:]])
    assert (result["support"], result["support_nopunct"], result["without_upos"]) == (7, 1, 3)
    assert (result["las_nopunct"], result["uas_nopunct"]) == (0.0, 1.0)
    nothing = score([gold], [gold])
    assert (nothing["las"], nothing["las_nopunct"], nothing["uas_nopunct"]) == (1.0, None, None)


def test_relations_that_the_model_does_not_know_are_named(caplog):
    with caplog.at_level(logging.WARNING):
        result = score([PREDICTED], [GOLD], labels=["nsubj", "aux", "root", "punct", "obl"])
    assert result["unknown_gold_labels"] == {"nmod": 1}
    assert "nmod (1 times)" in caplog.text
    kept = score([PREDICTED], [GOLD], labels=["nsubj", "aux:pass", "root", "punct", "obl", "nmod"])
    assert kept["unknown_gold_labels"] == {"nsubj:pass": 1}
    assert score([PREDICTED], [GOLD])["unknown_gold_labels"] == {}


RELATIONS = ["nsubj", "nsubj:pass", "obj", "obl", "obl:tmod", "punct"]


def drawn(seed, sentences=60):
    draw = random.Random(seed)

    def arc(count, upos):
        return Arc(draw.randint(0, count), draw.choice(RELATIONS), upos)

    gold, predicted = [], []
    for _ in range(sentences):
        count = draw.randint(0, 9)
        row = [arc(count, draw.choice(["NOUN", "PUNCT", "SYM", "VERB", "_"])) for _ in range(count)]
        gold.append(row)
        predicted.append([a if draw.random() < 0.5 else arc(count, "X") for a in row])
    return predicted, gold


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_the_counts_of_sentences_give_the_scores(seed):
    predicted, gold = drawn(seed)
    metric = AttachmentScore(subtypes=True)
    result = metric.compute(predictions=predicted, references=gold)
    for counted in metric.counted_scores():
        counts = counted.counts(predicted, gold)
        assert counts.shape == (len(gold), 2)
        assert counted.score(counts.sum(axis=0)) == pytest.approx(result[counted.name], abs=1e-15)
    assert metric.item_counts(predicted, gold).tolist() == metric.counted_scores()[0].counts(predicted, gold).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_arrays(seed):
    """Another way: all words in columns."""
    predicted, gold = drawn(seed)
    p, g = (np.array([list(arc) for arcs in rows for arc in arcs], dtype=object) for rows in (predicted, gold))
    head = p[:, 0] == g[:, 0]
    cut = np.array([a.split(":")[0] == b.split(":")[0] for a, b in zip(p[:, 1], g[:, 1], strict=True)])
    word = ~np.isin(g[:, 2].astype(str), ["PUNCT", "SYM", "_"])
    result = score(predicted, gold)
    assert result["uas"] == pytest.approx(head.mean())
    assert result["las"] == pytest.approx((head & cut).mean())
    assert result["las_subtypes"] == pytest.approx((head & (p[:, 1] == g[:, 1])).mean())
    assert result["uas_nopunct"] == pytest.approx(head[word].mean())
    assert result["las_nopunct"] == pytest.approx((head & cut)[word].mean())


@pytest.mark.parametrize("trees", [[], [[]], [[], []]])
def test_nothing_to_score(trees, recwarn):
    result = score(trees, trees)
    assert (result["las"], result["uas_nopunct"], result["support"], result["per_relation"]) == (None, None, 0, {})
    metric = AttachmentScore()
    assert np.isnan(metric.score_of_counts(metric.item_counts(trees, trees).sum(axis=0)))
    assert len(recwarn) == 0


def test_every_word_needs_its_arc():
    with pytest.raises(DataError, match=r"expected 7 predictions for sentence 1 .*, got 6; every word"):
        score([[], PREDICTED[:-1]], [[], GOLD])
    with pytest.raises(DataError, match="expected predictions for 2 items, got 1"):
        AttachmentScore().item_counts([GOLD], [GOLD, GOLD])
    with pytest.raises(DataError, match="every word"):
        AttachmentScore().counted_scores()[2].counts([PREDICTED[:-1]], [GOLD])


def test_trees():
    assert check_tree(GOLD) is None
    assert check_tree([]) is None
    assert check_tree([*GOLD, Arc(0, "root")]) == "expected one word with head 0, the root, but got 2: words 3, 8"
    assert [cut_subtype(name) for name in ("nsubj", "nsubj:pass", "a:b:c", "")] == ["nsubj", "nsubj", "a", ""]


def test_sentences_are_added_as_with_every_metric_of_evaluate():
    metric = AttachmentScore()
    metric.add_batch(predictions=[PREDICTED], references=[GOLD])
    metric.add(prediction=[Arc(0, "root")], reference=[Arc(0, "root")])
    assert metric.compute()["las"] == 5 / 8
    assert metric.name == "attachment_score"
