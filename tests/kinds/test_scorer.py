"""The scores of many heads at once are those of the metrics, one by one."""

import random

import pytest
import torch

from dlfa_adapters.kinds import SpanF1, TokenAccuracy, kind_of_task
from dlfa_adapters.kinds.loss import Accuracy as accuracy
from dlfa_adapters.kinds.tagging.span_f1 import SpanScorer as span_f1
from dlfa_adapters.tasks import NER, POS, XNLI


def random_tags(rng, labels, count):
    return [[rng.choice(labels) for _ in range(rng.choice([0, 1, 2, 5, 9]))] for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_span_f1_is_the_metrics_on_ill_formed_tags_too(seed):
    rng = random.Random(seed)
    gold = random_tags(rng, [*NER.labels, "B-MISC", "I-MISC"] if seed % 2 else NER.labels, 60)
    heads = [
        [[rng.choice([tag if tag in NER.labels else "O", rng.choice(NER.labels)]) for tag in tags] for tags in gold]
        for _ in range(3)
    ]
    ids = torch.tensor([[NER.labels.index(tag) for tags in head for tag in tags] for head in heads])
    for head, score in zip(heads, span_f1(gold, NER.labels)(ids), strict=True):
        expected = SpanF1().compute(predictions=head, references=gold)["span_f1_lenient"]
        assert score == pytest.approx(100 * expected)
    for head, score in zip(heads, accuracy(gold, NER.labels)(ids), strict=True):
        assert score == pytest.approx(100 * TokenAccuracy().compute(predictions=head, references=gold)["accuracy"])


def test_the_counts_of_a_sentence_are_those_of_the_metrics():
    rng = random.Random(7)
    gold = [*random_tags(rng, NER.labels, 30), []]
    predicted = [[rng.choice(NER.labels) for _ in tags] for tags in gold]
    ids = torch.tensor([[NER.labels.index(tag) for tags in predicted for tag in tags]])
    for scorer, metric in ((span_f1, SpanF1()), (accuracy, TokenAccuracy())):
        counts = scorer(gold, NER.labels).counts(ids)
        assert counts[0].tolist() == metric.item_counts(predicted, gold).tolist()
        assert scorer.score(counts.sum(1)).tolist() == pytest.approx(
            100 * metric.score_of_counts(counts.sum(1).numpy())
        )


def test_by_hand():
    gold = [["B-PER", "I-PER", "O", "I-LOC"], ["I-LOC", "B-LOC"]]
    score = span_f1(gold, NER.labels)
    tags = lambda text: [NER.labels.index(tag) for tag in text.split()]  # noqa: E731
    predicted = torch.tensor(
        [
            tags("B-PER I-PER O I-LOC I-LOC B-LOC"),  # gold itself: a span does not run on into the next sentence
            tags("B-PER O O B-LOC B-LOC I-LOC"),  # one of four gold spans, of three predicted
            tags("O O O O O O"),
        ]
    )
    assert score(predicted) == pytest.approx([100, 200 * 1 / 7, 0])


def test_nothing_to_find_is_zero():
    assert span_f1([["O", "O"]], NER.labels)(torch.zeros(2, 2, dtype=torch.long)) == [0.0, 0.0]
    assert span_f1([], NER.labels)(torch.zeros(1, 0, dtype=torch.long)) == [0.0]
    assert accuracy([], NER.labels)(torch.zeros(1, 0, dtype=torch.long)) == [0.0]


def test_not_defined_is_no_number_in_a_study_and_zero_where_heads_are_ranked():
    scorer = span_f1([["O"]], NER.labels)
    counts = scorer.counts(torch.zeros(1, 1, dtype=torch.long))
    assert scorer.score(counts.sum(1)).isnan().all()
    assert scorer(torch.zeros(1, 1, dtype=torch.long)) == [0.0]


def test_the_score_of_a_task():
    assert tuple(kind_of_task(task).scorer() for task in (NER, POS, XNLI)) == (span_f1, accuracy, accuracy)
