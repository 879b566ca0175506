"""Accuracy and macro-F1 of texts, against scikit-learn."""

import json
import random

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds import ClassificationAccuracy


def test_by_hand():
    result = ClassificationAccuracy().compute(predictions=list("abba"), references=list("abcc"))
    assert result["accuracy"] == 0.5
    # a: 2·1/(2+1), b: 2·1/(2+1), c: 0
    assert result["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert result["per_label"]["c"] == {"precision": None, "recall": 0.0, "f1": 0.0, "support": 2, "predicted": 0}
    assert result["support"] == 4


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn(seed):
    draw = random.Random(seed)
    gold = [draw.choice("abcde") for _ in range(200)]
    predicted = [label if draw.random() < 0.6 else draw.choice("abcdef") for label in gold]
    result = ClassificationAccuracy().compute(predictions=predicted, references=gold)
    assert result["accuracy"] == accuracy_score(gold, predicted)
    assert result["macro_f1"] == pytest.approx(f1_score(gold, predicted, average="macro"))


@pytest.mark.parametrize("as_given", [list, np.array, torch.tensor])
def test_label_ids(as_given):
    """As a model's argmax gives them; equal to the score of the names."""
    predicted, gold = [0, 1, 1, 0], [0, 1, 2, 2]
    result = ClassificationAccuracy().compute(predictions=as_given(predicted), references=as_given(gold), labels=[0, 1])
    names = ClassificationAccuracy().compute(predictions=list("0110"), references=list("0122"), labels=["0", "1"])
    assert result == names
    assert result["accuracy"] == 0.5
    assert result["unknown_gold_labels"] == {"2": 2}
    assert json.loads(json.dumps(result)) == result


def test_ids_batch_by_batch():
    metric = ClassificationAccuracy()
    for predicted, gold in (([0, 1], [0, 0]), ([2], [2])):
        metric.add_batch(predictions=predicted, references=gold)
    metric.add(prediction=1, reference=0)
    assert metric.compute()["accuracy"] == 0.5


def test_names_on_one_side_and_ids_on_the_other_are_refused():
    with pytest.raises(DataError, match="expected label names or label ids, got names and ids"):
        ClassificationAccuracy().compute(predictions=[0, 1], references=["a", "b"])


def test_nothing_to_score():
    result = ClassificationAccuracy().compute(predictions=[], references=[])
    assert (result["accuracy"], result["macro_f1"], result["support"]) == (None, None, 0)
    json.dumps(result, allow_nan=False)


def test_unknown_gold_labels_are_wrong_and_named(caplog):
    result = ClassificationAccuracy().compute(predictions=["a", "b"], references=["a", "new"], labels=["a", "b"])
    assert (result["accuracy"], result["unknown_gold_labels"]) == (0.5, {"new": 1})
    assert [record.getMessage() for record in caplog.records] == [
        "Gold has labels that the model does not know; they count as missed: new (1 times)."
    ]


def test_an_item_without_a_prediction_is_an_error():
    with pytest.raises(DataError, match="expected predictions for 2 items, got 1"):
        ClassificationAccuracy().item_counts(["a"], ["a", "b"])


def test_sums_of_item_counts_give_the_score_and_resamples_too():
    metric = ClassificationAccuracy()
    counts = metric.item_counts(list("abba"), list("abcc"))
    assert counts.tolist() == [[1, 1], [1, 1], [0, 1], [0, 1]]
    resampled = counts[np.array([[0, 0, 1, 2], [2, 3, 3, 3]])].sum(axis=1)  # two resamples of four items
    assert metric.score_of_counts(resampled).tolist() == [0.75, 0.0]
    assert np.isnan(metric.score_of_counts(np.zeros((1, 2), dtype=int))).all()
