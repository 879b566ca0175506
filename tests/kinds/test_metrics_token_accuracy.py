"""Accuracy of word tags and XTREME's score of them: CASES C16, C15, C17."""

import json
import logging
import random
import warnings

import pytest
import seqeval.metrics
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import accuracy_score, classification_report

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds import TokenAccuracy, XtremePosF1
from dlfa_adapters.tasks import POS

CASES = [
    # gold, predicted, accuracy, F1 of seqeval 1.x, F1 of seqeval 0.0.12
    # One tag of four is wrong. Spans: NOUN NOUN | VERB | ADJ against NOUN NOUN | VERB | X; 1.x never ends the last X.
    ("NOUN NOUN VERB ADJ", "NOUN NOUN VERB X", 0.75, 4 / 5, 4 / 6),
    # Five nouns are one span, cut in three by the wrong tag.
    ("NOUN NOUN NOUN NOUN NOUN", "NOUN NOUN VERB NOUN NOUN", 0.8, 0.0, 0.0),
    # 1.x: gold INTJ alone, predicted INTJ | NOUN. 0.0.12: INTJ | X against INTJ | NOUN.
    ("INTJ X", "INTJ NOUN", 0.5, 2 / 3, 2 / 4),
    # Two kinds of conjunction: one type without their first letter.
    ("NOUN CCONJ NOUN", "NOUN SCONJ NOUN", 2 / 3, 1.0, 4 / 6),
    # Tags that begin with S are spans of one word each.
    ("SYM SYM", "SYM NUM", 0.5, 0.5, 0.5),
]


def split(*rows):
    return [row.split() for row in rows]


@pytest.mark.parametrize(("gold", "predicted", "accuracy", "xtreme", "xtreme_0"), CASES)
def test_pos_tags_are_words_not_spans(gold, predicted, accuracy, xtreme, xtreme_0):
    result = TokenAccuracy().compute(predictions=split(predicted), references=split(gold))
    assert result["accuracy"] == pytest.approx(accuracy)
    assert set(result["per_tag"]) == {*gold.split(), *predicted.split()}
    compatible = XtremePosF1().compute(predictions=split(predicted), references=split(gold))
    assert compatible == pytest.approx({"xtreme_f1": xtreme, "xtreme_f1_seqeval_0": xtreme_0})


def test_the_table_has_full_names_and_every_tag():
    result = TokenAccuracy().compute(predictions=split("INTJ NOUN", "NOUN"), references=split("INTJ X", "NOUN"))
    assert result["per_tag"] == {
        "INTJ": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1, "predicted": 1},
        "NOUN": {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 1, "predicted": 2},
        "X": {"precision": None, "recall": 0.0, "f1": 0.0, "support": 1, "predicted": 0},
    }
    assert result["support"] == 3


def random_pos(seed):
    draw = random.Random(seed)
    gold = [[draw.choice(POS.labels) for _ in range(draw.randint(0, 12))] for _ in range(100)]
    return gold, [[tag if draw.random() < 0.7 else draw.choice(POS.labels) for tag in row] for row in gold]


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn(seed):
    gold, predicted = random_pos(seed)
    result = TokenAccuracy().compute(predictions=predicted, references=gold)
    flat = [tag for row in gold for tag in row], [tag for row in predicted for tag in row]
    assert result["accuracy"] == accuracy_score(*flat)
    report = classification_report(*flat, output_dict=True, zero_division=0)
    assert result["macro_f1"] == pytest.approx(report["macro avg"]["f1-score"])
    for tag, row in result["per_tag"].items():
        expected = report[tag]
        assert (row["precision"], row["recall"]) == pytest.approx((expected["precision"], expected["recall"]))
        assert (row["f1"], row["support"]) == (pytest.approx(expected["f1-score"]), expected["support"])


@pytest.mark.parametrize("seed", range(5))
def test_xtreme_f1_is_what_xtremes_script_gives_with_seqeval(seed):
    gold, predicted = random_pos(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = seqeval.metrics.f1_score(gold, predicted)
    assert XtremePosF1().compute(predictions=predicted, references=gold)["xtreme_f1"] == pytest.approx(
        expected, abs=1e-12
    )


def test_xtremes_spans_count_for_the_sentence_that_they_end_in():
    """A bootstrap draws sentences: what a span adds must be drawn with its own, at the start and at the end of one too.

    Without X a span ends in the sentence that it begins in, and each sentence counts as it does alone.
    """
    draw = random.Random(7)
    labels = [label for label in POS.labels if label != "X"]
    gold = [[draw.choice(labels) for _ in range(draw.choice([1, 1, 2, 3, 8]))] for _ in range(200)]
    predicted = [[tag if draw.random() < 0.5 else draw.choice(labels) for tag in row] for row in gold]
    alone = [XtremePosF1().item_counts([p], [g])[0].tolist() for p, g in zip(predicted, gold, strict=True)]
    assert XtremePosF1().item_counts(predicted, gold).tolist() == alone
    assert XtremePosF1().item_counts(split("NOUN", "VERB ADJ", "NOUN"), split("NOUN", "VERB ADJ", "VERB")).tolist() == [
        [1, 1, 1], [2, 2, 2], [0, 1, 1],
    ]  # fmt: skip


def test_an_x_of_xtremes_spans_may_end_in_a_later_sentence():
    """seqeval 1.x does not end an X at the end of its sentence; XTREME's score has it so, and so it stays."""
    gold = split("X", "X NOUN")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert get_entities(gold) == [("_", 0, 2), ("OUN", 3, 3)]  # 1 is the O that seqeval puts between sentences
    assert XtremePosF1().item_counts(gold, gold).tolist() == [[0, 0, 0], [2, 2, 2]]


def test_xtreme_f1_does_not_warn(recwarn):
    XtremePosF1().compute(predictions=split("NOUN X"), references=split("NOUN X"))
    assert len(recwarn) == 0


@pytest.mark.parametrize("rows", [[], [""], ["", ""]])
def test_nothing_to_score(rows, recwarn, caplog):
    gold = split(*rows)
    result = TokenAccuracy().compute(predictions=gold, references=gold)
    assert (result["accuracy"], result["macro_f1"], result["support"], result["per_tag"]) == (None, None, 0, {})
    compatible = XtremePosF1().compute(predictions=gold, references=gold)
    assert compatible == {"xtreme_f1": None, "xtreme_f1_seqeval_0": None}
    assert len(recwarn) + len(caplog.records) == 0
    json.dumps([result, compatible], allow_nan=False)


def test_empty_sentences_among_others_change_nothing():
    result = TokenAccuracy().compute(predictions=split("", "NOUN X", ""), references=split("", "NOUN VERB", ""))
    assert (result["accuracy"], result["support"]) == (0.5, 2)


def test_unknown_gold_tags_are_wrong_and_named(caplog):
    with caplog.at_level(logging.WARNING):
        result = TokenAccuracy().compute(predictions=split("NOUN X"), references=split("NOUN _"), labels=POS.labels)
    assert (result["accuracy"], result["unknown_gold_labels"]) == (0.5, {"_": 1})
    assert [record.getMessage() for record in caplog.records] == [
        "Gold has labels that the model does not know; they count as missed: _ (1 times)."
    ]


@pytest.mark.parametrize("metric", [TokenAccuracy, XtremePosF1])
def test_a_word_without_a_prediction_is_an_error(metric):
    with pytest.raises(DataError, match=r"expected 2 predictions for sentence 0 .*, got 1"):
        metric().compute(predictions=split("X"), references=split("X X"))


@pytest.mark.parametrize("metric", [TokenAccuracy(), XtremePosF1()])
def test_sums_of_item_counts_give_the_score(metric):
    gold, predicted = random_pos(0)
    counts = metric.item_counts(predicted, gold)
    assert len(counts) == 100
    score = metric.compute(predictions=predicted, references=gold)[metric.main_score]
    assert metric.score_of_counts(counts.sum(axis=0)) == pytest.approx(score, abs=1e-15)
