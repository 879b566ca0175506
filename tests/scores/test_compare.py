"""Two models on the same data: differences, paired intervals, p-values, and data that are not the same."""

import json

import pytest

from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.scores.compare import check_same_data, compare
from dlfa_adapters.scores.show import comparison_markdown
from dlfa_adapters.tasks import NER, POS, XNLI
from tests.predict.fakes import FakeClassifier, FakeTagger, ask, oracle, tagged

WORDS = [f"w{i}" for i in range(100)]
ROWS = [row for language in ("de", "sw") for row in tagged(language, *(f"{word}/NOUN" for word in WORDS))]
EN = tagged("en", *(f"{word}/NOUN" for word in WORDS))


def right_on(words):
    return FakeTagger(lambda sentence: ["NOUN" if sentence[0] in words else "VERB"], POS.labels)


def pos(model, rows=ROWS, **options):
    return ask(model, rows, POS, **options)


def test_the_same_model_twice():
    result = compare(pos(right_on(WORDS[:60])), pos(right_on(WORDS[:60])))
    for row in [*result.languages, *result.means]:
        found = row.scores["accuracy"]
        assert (found.a, found.b, found.difference, found.low, found.high, found.p_value) == (0.6, 0.6, 0, 0, 0, 1)


def test_one_that_is_right_where_the_other_is_and_on_ten_more():
    """The difference of a resample is Binomial(100, 0.1) / 100, never negative: p is the smallest there is."""
    result = compare(pos(right_on(WORDS[:60])), pos(right_on(WORDS[:70])), resamples=4000)
    found = result.languages[0].scores["accuracy"]
    assert (found.a, found.b) == (0.6, 0.7)
    assert found.difference == pytest.approx(0.1)
    # quantiles of Binomial(100, 0.1): 5 and 16
    assert found.low == pytest.approx(0.05, abs=0.011)
    assert found.high == pytest.approx(0.16, abs=0.011)
    assert found.p_value == pytest.approx(2 / 4001)


def test_pairing_makes_the_interval_narrow():
    """Unpaired, the difference between 60 and 70 of 100 has an interval of about 0.1 +- 0.13, which holds 0."""
    nested = compare(pos(right_on(WORDS[:60])), pos(right_on(WORDS[:70]))).languages[0].scores["accuracy"]
    # 60 first and 70 last: 30 right in both, 30 in A only, 40 in B only; the variance is that of unrelated models
    crossed = compare(pos(right_on(WORDS[:60])), pos(right_on(WORDS[30:]))).languages[0].scores["accuracy"]
    assert nested.difference == pytest.approx(crossed.difference)
    assert nested.low > 0 > crossed.low
    assert nested.p_value < 0.05 < crossed.p_value
    assert crossed.high - crossed.low == pytest.approx(4 * (0.69 / 100) ** 0.5, rel=0.15)  # 0.3 + 0.4 - 0.1**2 = 0.69


def test_swapping_a_and_b_turns_the_sign():
    a, b = pos(right_on(WORDS[:60])), pos(right_on(WORDS[30:]))
    one, two = (compare(*pair).languages[0].scores["accuracy"] for pair in ((a, b), (b, a)))
    assert (one.difference, one.low, one.high) == pytest.approx((-two.difference, -two.high, -two.low))
    assert one.p_value == two.p_value


def test_the_mean_over_targets_is_over_targets():
    a, b = pos(right_on(WORDS[:60]), [*EN, *ROWS]), pos(right_on(WORDS[:70]), [*EN, *ROWS])
    result = compare(a, b, resamples=2000)
    means = {row.name: row for row in result.means}
    assert means["targets"].languages == ["de", "sw"]
    assert means["targets"].items == 200
    found = means["targets"].scores["accuracy"]
    assert (found.a, found.b) == (0.6, pytest.approx(0.7))
    # two independent languages: the standard error is smaller by sqrt(2) than that of one
    width = found.high - found.low
    one = result.languages[1].scores["accuracy"]
    assert width == pytest.approx((one.high - one.low) / 2**0.5, rel=0.15)


def test_a_score_that_one_of_both_lacks():
    rows = tagged("de", "a/O", "b/O") + tagged("sw", "a/B-PER", "b/O")
    silent, loud = FakeTagger(lambda words: ["O"]), FakeTagger(lambda words: ["B-PER"])
    result = compare(ask(silent, rows), ask(loud, rows))
    found = result.languages[0].scores["span_f1_lenient"]
    assert (found.a, found.b, found.difference, found.low, found.p_value) == (None, 0.0, None, None, None)
    mean = result.means[0].scores["span_f1_lenient"]
    assert (mean.a, mean.b) == (0.0, pytest.approx(2 / 3))  # over sw alone
    whole = result.to_dict()
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert "| de | 2 | – | 0.0 | – | – |" in comparison_markdown(result)


def test_one_item_has_a_difference_and_no_interval():
    rows = tagged("de", "a/NOUN")
    found = compare(pos(right_on([]), rows), pos(right_on(["a"]), rows)).languages[0].scores["accuracy"]
    assert (found.difference, found.low, found.p_value) == (1.0, None, None)


@pytest.mark.parametrize(
    "other",
    [
        tagged("de", "Anna/B-PER kam/O"),  # a sentence is missing
        tagged("de", "Anna/B-PER kam/O", "Otto/B-PER"),  # another word
        tagged("de", "Anna/B-PER kam/O", "Bob/O"),  # another gold tag
        tagged("de", "Bob/B-PER", "Anna/B-PER kam/O"),  # another order
        tagged("nl", "Anna/B-PER kam/O", "Bob/B-PER"),  # another language
    ],
)
def test_other_data_are_refused(other):
    data = tagged("de", "Anna/B-PER kam/O", "Bob/B-PER")
    a, b = (ask(FakeTagger(oracle(rows)), rows, name=name) for name, rows in (("run-a", data), ("run-b", other)))
    check_same_data(a, a)
    with pytest.raises(
        DataError, match=r"run-a and run-b differ in the fingerprints of de \([0-9a-f]{16} and"
    ) as caught:
        compare(a, b)
    assert "\n" not in str(caught.value)


def test_ids_and_order_of_languages_do_not_matter():
    rows = [{**row, "id": f"s{i}"} for i, row in enumerate(ROWS)]
    result = compare(pos(right_on(WORDS)), pos(right_on(WORDS), rows[::-1][100:][::-1] + rows[100:]))
    assert result.languages[0].scores["accuracy"].difference == 0


def test_words_are_not_confused_by_joining():
    a = tagged("de", "ab/O c/O")
    b = [{"language": "de", "words": ["a", "bc"], "tags": ["O", "O"]}]
    with pytest.raises(DataError, match="differ"):
        compare(ask(FakeTagger(oracle(a)), a), ask(FakeTagger(oracle(b)), b))


def test_tasks_with_other_scores_are_refused():
    rows = [{"text": "a", "text_pair": "b", "label": "neutral", "language": "de"}]
    a = ask(FakeClassifier(lambda a, b: "neutral", XNLI.labels), rows, XNLI, name="run-a")
    b = ask(FakeTagger(oracle(tagged("de", "a/O"))), tagged("de", "a/O"), NER, name="run-b")
    with pytest.raises(ConfigError, match=r"run-a for xnli \(accuracy\) and run-b for ner \(span_f1\)"):
        compare(a, b)


def test_markdown():
    rows = tagged("de", "a/NOUN", "b/NOUN")
    text = comparison_markdown(compare(pos(right_on("a"), rows, name="A1"), pos(right_on("ab"), rows, name="B1")))
    assert text.startswith(
        "# Comparison\n"
        "\n"
        "## accuracy\n"
        "\n"
        "|  | items | A: accuracy | B | B - A [95 %] | p |\n"
        "|---|---:|---:|---:|---:|---:|\n"
        "| de | 2 | 50.0 | 100.0 | +50.0 [+0.0, +100.0] | "
    )
    assert "- A is A1; B is B1.\n" in text
    assert "| targets (without en) | 1 | 50.0 | 100.0 |" in text
