"""Span F1: CASES C13, C15, C17; equal to seqeval and to conlleval on tags of every kind."""

import copy
import json
import logging
import random

import conlleval
import pytest
import seqeval.metrics
from seqeval.scheme import IOB2

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import SpanF1
from dlfa_adapters.kinds.tagging import lenient_spans, strict_spans, to_iob2


def compute(gold, predicted, **options):
    return SpanF1().compute(
        predictions=[tags.split() for tags in predicted], references=[t.split() for t in gold], **options
    )


def random_tags(seed, sentences, well_formed=False):
    """Tags in which an I- may follow anything, so about half of them are ill-formed."""
    draw = random.Random(seed)
    tags = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B", "B", "I"]
    made = [[draw.choice(tags) for _ in range(draw.randint(0, 12))] for _ in range(sentences)]
    return [to_iob2(row, "IOB1") for row in made] if well_formed else made


def similar(rows, seed):
    """The same tags with about a quarter changed, so that some spans are right."""
    draw = random.Random(seed)
    return [[tag if draw.random() < 0.75 else draw.choice(["O", "B-PER", "I-LOC"]) for tag in row] for row in rows]


def test_an_i_tag_after_o_is_a_span_for_conlleval_and_none_for_iob2():
    result = compute(["B-PER I-PER O B-LOC"], ["I-PER I-PER O I-LOC"])
    assert (result["span_f1_lenient"], result["span_f1_strict"]) == (1.0, 0.0)
    assert result["scheme"] == "IOB2"
    assert result["support"] == result["strict"]["support"] == 2


def test_a_change_of_type_begins_a_span_only_when_lenient():
    assert lenient_spans("B-PER I-LOC".split()) == [("PER", 0, 0), ("LOC", 1, 1)]
    assert strict_spans("B-PER I-LOC".split()) == [("PER", 0, 0)]


def test_iob1_is_converted_before_counting():
    tags = "I-PER I-PER B-PER O"
    assert to_iob2(tags.split(), "IOB1") == "B-PER I-PER B-PER O".split()
    result = compute([tags], [tags], scheme="IOB1")
    assert (result["span_f1_lenient"], result["span_f1_strict"], result["support"]) == (1.0, 1.0, 2)
    assert result["strict"]["support"] == 2
    assert result["scheme"] == "IOB1"


def test_iob2_is_left_as_it_is_and_other_schemes_are_refused():
    tags = "I-PER I-PER B-PER O".split()
    assert to_iob2(tags, "IOB2") == tags
    with pytest.raises(ConfigError, match="expected scheme IOB2 or IOB1, got 'BILOU'; type scheme='IOB2'"):
        compute(["O"], ["O"], scheme="BILOU")


def test_a_table_by_hand():
    gold = ["B-PER I-PER O B-LOC", "B-LOC O B-ORG", "O O"]
    predicted = ["B-PER I-PER O B-LOC", "B-PER O O", "O B-LOC"]
    result = compute(gold, predicted)
    # Right: PER, LOC of sentence 1. Predicted: PER, LOC, PER, LOC. Gold: PER, LOC, LOC, ORG.
    assert result["lenient"] == {
        "precision": 2 / 4,
        "recall": 2 / 4,
        "f1": 4 / 8,
        "support": 4,
        "predicted": 4,
        "macro_f1": pytest.approx((2 / 4 + 0 + 2 / 3) / 3),
        "per_type": {
            "LOC": {"precision": 1 / 2, "recall": 1 / 2, "f1": 2 / 4, "support": 2, "predicted": 2},
            "ORG": {"precision": None, "recall": 0.0, "f1": 0.0, "support": 1, "predicted": 0},
            "PER": {"precision": 1 / 2, "recall": 1.0, "f1": 2 / 3, "support": 1, "predicted": 2},
        },
    }
    assert result["strict"] == result["lenient"]


@pytest.mark.parametrize("seed", range(10))
def test_equal_to_seqeval_in_both_modes_on_random_tags(seed):
    """1,000 sentences in all, ill-formed ones included."""
    gold = random_tags(seed, 100)
    predicted = similar(gold, seed)
    result = SpanF1().compute(predictions=predicted, references=gold)
    for mode, options in (("lenient", {}), ("strict", {"mode": "strict", "scheme": IOB2})):
        for average, key in (("micro", "f1"), ("macro", "macro_f1")):
            expected = seqeval.metrics.f1_score(gold, predicted, average=average, zero_division=0, **options)
            assert result[mode][key] == pytest.approx(expected, abs=1e-12)
        report = seqeval.metrics.classification_report(gold, predicted, output_dict=True, zero_division=0, **options)
        for span_type, row in result[mode]["per_type"].items():
            assert row["support"] == report[span_type]["support"]
            assert (row["precision"] or 0) == pytest.approx(report[span_type]["precision"], abs=1e-12)
            assert (row["recall"] or 0) == pytest.approx(report[span_type]["recall"], abs=1e-12)
    assert result["lenient"]["f1"] != result["strict"]["f1"]  # the tags are ill-formed enough to tell the two apart
    assert 0.1 < result["lenient"]["f1"] < 0.9


@pytest.mark.parametrize("seed", range(10))
def test_lenient_is_equal_to_conlleval(seed):
    gold = random_tags(seed, 100)
    predicted = similar(gold, seed)
    lines = []
    for tags, guessed in zip(gold, predicted, strict=True):
        lines += [f"w {a} {b}" for a, b in zip(tags, guessed, strict=True)]
        lines += [""] if tags else []
    published = conlleval.evaluate(lines)
    result = SpanF1().compute(predictions=predicted, references=gold)["lenient"]
    counts = published["overall"]["chunks"]["stats"]
    assert (result["support"], result["predicted"]) == (counts["gold"], counts["pred"])
    assert result["f1"] == pytest.approx(published["overall"]["chunks"]["evals"]["f1"], abs=1e-12)
    for span_type in ("PER", "LOC", "A-B"):
        assert result["per_type"][span_type]["f1"] == pytest.approx(
            published["slots"]["chunks"][span_type]["evals"]["f1"], abs=1e-12
        )


def test_well_formed_tags_score_the_same_in_both_modes():
    gold = random_tags(1, 200, well_formed=True)
    predicted = [to_iob2(row, "IOB1") for row in similar(gold, 2)]
    result = SpanF1().compute(predictions=predicted, references=gold)
    assert result["lenient"] == result["strict"]


@pytest.mark.parametrize(
    ("gold", "predicted", "f1", "support"),
    [
        (["B-PER O"], ["O O"], 0.0, 1),
        (["O O"], ["B-PER O"], 0.0, 0),
        (["O O"], ["O O"], None, 0),
        ([], [], None, 0),
        (["", "B-PER", ""], ["", "B-PER", ""], 1.0, 1),
        (["", ""], ["", ""], None, 0),
    ],
)
def test_nothing_to_find(gold, predicted, f1, support, recwarn, caplog):
    result = compute(gold, predicted)
    assert (result["span_f1_lenient"], result["span_f1_strict"], result["support"]) == (f1, f1, support)
    assert len(recwarn) + len(caplog.records) == 0
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_undefined_types_are_left_out_of_the_macro_average():
    result = compute(["B-PER O"], ["B-PER B-LOC"])
    assert result["lenient"]["macro_f1"] == 0.5  # PER 1, LOC 0 (predicted, never there); ORG is nowhere
    assert result["lenient"]["per_type"]["LOC"] == {
        "precision": 0.0, "recall": None, "f1": 0.0, "support": 0, "predicted": 1,
    }  # fmt: skip
    assert compute(["O"], ["O"])["lenient"]["macro_f1"] is None


def test_labels_that_the_model_does_not_know_count_as_missed_and_are_named_once(caplog):
    with caplog.at_level(logging.WARNING):
        result = compute(["B-LOC B-PER", "B-LOC I-LOC"], ["O B-PER", "O O"], labels=["O", "B-PER", "I-PER"])
    assert result["lenient"]["recall"] == 1 / 3
    assert result["lenient"]["precision"] == 1.0
    assert result["unknown_gold_labels"] == {"B-LOC": 2, "I-LOC": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "Gold has labels that the model does not know; they count as missed: B-LOC (2 times), I-LOC (1 times)."
    ]


def test_an_oracle_that_knows_one_of_two_types_has_recall_one_half():
    result = compute(["B-LOC B-PER"], ["O B-PER"], labels=["O", "B-PER", "I-PER"])
    assert result["lenient"]["recall"] == 0.5


def test_the_input_is_not_changed():
    gold, predicted = [["I-PER", "I-PER", "B-PER"]], [["I-PER", "O", "I-LOC"]]
    before = copy.deepcopy((gold, predicted))
    SpanF1().compute(predictions=predicted, references=gold, scheme="IOB1")
    SpanF1().item_counts(predicted, gold)
    assert (gold, predicted) == before


def test_tags_that_are_no_iob_tags_are_refused():
    with pytest.raises(DataError, match=r"expected IOB tags .* got 'NOUN', 'VERB'; score .* token_accuracy"):
        compute(["NOUN VERB"], ["NOUN VERB"])


def test_a_word_without_a_prediction_is_an_error():
    with pytest.raises(DataError, match=r"expected 2 predictions for sentence 1 .*, got 1; every word"):
        compute(["O", "O O"], ["O", "O"])
    with pytest.raises(DataError, match=r"expected predictions for 2 items, got 1"):
        SpanF1().item_counts([["O"]], [["O"], ["O"]])


def test_sums_of_item_counts_give_the_score():
    gold = random_tags(3, 50)
    predicted = similar(gold, 3)
    metric = SpanF1()
    counts = metric.item_counts(predicted, gold)
    assert counts.shape == (50, 3)
    assert (
        metric.score_of_counts(counts.sum(axis=0))
        == metric.compute(predictions=predicted, references=gold)[metric.main_score]
    )
