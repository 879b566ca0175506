"""Reports of models whose every answer is known: scores, means, intervals, counts, JSON and Markdown."""

import json
import logging

import pytest

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.pairs import TruncationCounts
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.show import markdown, notes, tables
from dlfa_adapters.tasks import PAWSX, POS, XNLI, classification_task, tagging_task
from tests.predict.fakes import FakeClassifier, FakeTagger, ask, oracle, tagged

EN = tagged("en", "Anna/B-PER met/O Bob/B-PER", "Rome/B-LOC fell/O")
DE = tagged("de", "Berlin/B-LOC schläft/O", "Otto/B-PER Kern/I-PER lacht/O", "Nichts/O hier/O")
SW = tagged("sw", "Amina/B-PER alikuja/O Kigali/B-LOC", "Juma/B-PER alilala/O")
NONE = tagged("yo", "kò/O sí/O", "orúkọ/O")
ROWS = [*EN, *DE, *SW, *NONE]


def all_o(words):
    return ["O"] * len(words)


def by_language(report):
    return {row.language: row for row in report.table.languages}


def means(report):
    return {mean.name: mean for mean in report.table.means}


def value(estimate):
    return estimate.value, estimate.low, estimate.high


def test_an_oracle_is_right_everywhere():
    report = build_report(ask(FakeTagger(oracle(ROWS)), ROWS))
    for language in ("en", "de", "sw"):
        row = by_language(report)[language]
        assert value(row.scores["span_f1_lenient"]) == (1.0, 1.0, 1.0)
        assert value(row.scores["span_f1_strict"]) == (1.0, 1.0, 1.0)
        assert row.words_total == row.words_scored
    assert [row.words_total for row in report.table.languages] == [5, 7, 5, 3]
    assert [row.items for row in report.table.languages] == [2, 3, 2, 2]
    assert [row.support for row in report.table.languages] == [3, 2, 3, 0]
    assert [row.is_source for row in report.table.languages] == [True, False, False, False]
    assert (by_language(report)["sw"].family, by_language(report)["sw"].branch) == ("Atlantic-Congo", "Bantu")


def test_a_model_right_on_the_first_words_only():
    """Two words of each sentence. en: Anna, Rome of 3; de: Berlin and Otto Kern of 2; sw: Amina, Juma of 3."""
    report = build_report(ask(FakeTagger(oracle(ROWS, first=2)), ROWS))
    found = {language: row.scores["span_f1_lenient"].value for language, row in by_language(report).items()}
    assert found == {"en": 2 * 2 / (2 + 3), "de": 1.0, "sw": 2 * 2 / (2 + 3), "yo": None}
    mean = means(report)
    assert mean["targets"].scores["span_f1_lenient"].value == pytest.approx((1.0 + 0.8) / 2)
    assert mean["all"].scores["span_f1_lenient"].value == pytest.approx((0.8 + 1.0 + 0.8) / 3)
    assert mean["enf_family"].scores["span_f1_lenient"].value == pytest.approx((0.8 + 1.0) / 2)
    assert mean["noenf_family"].scores["span_f1_lenient"].value == pytest.approx(0.8)
    assert mean["enf_family"].languages == ["en", "de"]
    assert mean["noenf_family"].languages == ["sw", "yo"]
    assert mean["targets"].undefined == {"span_f1_lenient": ["yo"], "span_f1_strict": ["yo"]}


def test_intervals_of_two_sentences_are_known():
    # en: counts (right, predicted, gold) are (1, 1, 2) and (1, 1, 1). Resamples: twice the first, F1 2*2/(2+4) = 2/3,
    # with probability 1/4; one of each, 4/5; twice the second, 1. So the 95 % interval is [2/3, 1].
    report = build_report(ask(FakeTagger(oracle(ROWS, first=2)), ROWS))
    low, high = value(by_language(report)["en"].scores["span_f1_lenient"])[1:]
    assert (low, high) == (pytest.approx(2 / 3), pytest.approx(1.0))
    # the mean of the targets: de is certain (a resample without any span is drawn again), sw as en, yo has none
    low, high = value(means(report)["targets"].scores["span_f1_lenient"])[1:]
    assert (low, high) == (pytest.approx((1 + 2 / 3) / 2), pytest.approx(1.0))


def test_languages_are_resampled_independently():
    """Two languages, each 0, 1/2 or 1 with probability 1/4, 1/2, 1/4: the mean is 0 or 1 with probability 1/16 only."""
    rows = [*tagged("de", "a/NOUN", "b/VERB"), *tagged("sw", "c/NOUN", "d/VERB")]
    report = build_report(ask(FakeTagger(lambda words: ["NOUN"], POS.labels), rows, POS), resamples=4000)
    assert value(by_language(report)["de"].scores["accuracy"]) == (0.5, 0.0, 1.0)
    assert value(means(report)["targets"].scores["accuracy"]) == (0.5, 0.0, 1.0)
    rows += tagged("fr", "e/NOUN", "f/VERB")
    report = build_report(ask(FakeTagger(lambda words: ["NOUN"], POS.labels), rows, POS), resamples=4000)
    # with three, all 0 has probability 1/64 = 0.016 < 0.025: the ends are 1/6 and 5/6
    assert value(means(report)["targets"].scores["accuracy"]) == (0.5, pytest.approx(1 / 6), pytest.approx(5 / 6))


def test_one_sentence_has_no_interval_but_counts_in_the_mean():
    rows = [*tagged("de", "Otto/B-PER"), *SW]
    report = build_report(ask(FakeTagger(all_o), rows))
    assert value(by_language(report)["de"].scores["span_f1_lenient"]) == (0.0, None, None)
    assert value(means(report)["targets"].scores["span_f1_lenient"]) == (0.0, 0.0, 0.0)
    report = build_report(
        ask(FakeTagger(all_o), [row for language in ("de", "sw") for row in tagged(language, "Otto/B-PER")])
    )
    assert value(means(report)["targets"].scores["span_f1_lenient"]) == (0.0, None, None)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (["Anna/B-PER", "Bob/B-PER"], "O", 0.0),
        (["Anna/O", "Bob/O"], "B-PER", 0.0),
        (["Anna/O", "Bob/O"], "O", None),
    ],
)
def test_nothing_to_find(gold, answer, expected, caplog):
    """C15: no exception, 0 where something is missed or made up, null where there is nothing; no flood of warnings."""
    with caplog.at_level(logging.WARNING):
        report = build_report(ask(FakeTagger(lambda words: [answer] * len(words)), tagged("de", *gold)))
    assert by_language(report)["de"].scores["span_f1_lenient"].value == expected
    assert means(report)["targets"].scores["span_f1_strict"].value == expected
    assert by_language(report)["de"].support == sum("B-" in word for word in gold)
    assert not caplog.records
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_sentence_without_words_is_left_out_and_counted():
    rows = [DE[0], {"language": "de", "words": [], "tags": []}, DE[1]]
    report = build_report(ask(FakeTagger(oracle(DE)), rows))
    assert by_language(report)["de"].items == 2
    assert report.about["data"]["dropped"] == {"no_words": 1}
    assert "Left out: sentences without words (1)." in notes(report)


def test_no_words_at_all():
    with pytest.raises(DataError, match="none has a word"):
        ask(FakeTagger(all_o), [{"words": [], "tags": []}])


def test_labels_that_the_model_does_not_have():
    """C17: B-LOC stays in gold and is missed; recall 1/2 for an oracle that knows PER only."""
    per = tagging_task("ner", ["O", "B-PER", "I-PER"])
    rows = tagged("de", "Rome/B-LOC Bob/B-PER")
    report = build_report(ask(FakeTagger(lambda words: ["O", "B-PER"], per.labels), rows, per))
    row = by_language(report)["de"]
    assert row.details["span_f1_lenient"]["lenient"]["recall"] == 0.5
    assert row.scores["span_f1_lenient"].value == pytest.approx(2 / 3)
    assert row.unknown_gold_labels == {"B-LOC": 1}
    assert "Gold labels that the model does not have, counted as missed: B-LOC (1)." in notes(report)


def test_lenient_and_strict_are_both_there():
    """C13: gold B-PER I-PER O B-LOC, predicted I-PER I-PER O I-LOC."""
    rows = tagged("de", "a/B-PER b/I-PER c/O d/B-LOC", "e/O")
    answer = {4: ["I-PER", "I-PER", "O", "I-LOC"], 1: ["O"]}
    report = build_report(ask(FakeTagger(lambda words: answer[len(words)]), rows))
    scores = by_language(report)["de"].scores
    assert (scores["span_f1_lenient"].value, scores["span_f1_strict"].value) == (1.0, 0.0)


def test_pos_scores():
    """C16: accuracy is 3/4; macro F1 over NOUN 1, VERB 1, ADJ 0, X 0; XTREME's score under its own name."""
    rows = tagged("de", "a/NOUN b/NOUN c/VERB d/ADJ")
    report = build_report(ask(FakeTagger(lambda words: ["NOUN", "NOUN", "VERB", "X"], POS.labels), rows, POS))
    scores = by_language(report)["de"].scores
    assert list(scores) == ["accuracy", "macro_f1", "xtreme_f1"]
    assert scores["accuracy"].value == 0.75
    assert scores["macro_f1"].value == 0.5
    details = by_language(report)["de"].details
    assert scores["macro_f1"].value == details["accuracy"]["macro_f1"]
    assert scores["xtreme_f1"].value == details["xtreme_f1"]["xtreme_f1"] == pytest.approx(0.8)


@pytest.mark.parametrize("missing", [lambda tags: tags[:-1], lambda tags: [*tags, "O"]])
def test_a_word_too_few_or_too_many_is_an_error_and_no_score(missing):
    answer = oracle(ROWS)
    with pytest.raises(RunError, match=r"en: expected one prediction for each of 5 words, got [37]"):
        ask(FakeTagger(lambda words: missing(answer(words))), ROWS)


def test_tags_shifted_between_sentences_are_an_error():
    answers = iter([["O"], ["O", "O", "O", "O"]])
    with pytest.raises(RunError, match="each of 5 words, got 5"):
        ask(FakeTagger(lambda words: next(answers)), EN)


def test_limit_takes_the_first_of_each_language():
    report = build_report(ask(FakeTagger(oracle(ROWS)), ROWS, limit=1))
    assert [(row.items, row.words_total) for row in report.table.languages] == [(1, 3), (1, 2), (1, 3), (1, 2)]
    assert "Only the first 1 items of each language were taken (limit)." in notes(report)
    with pytest.raises(ConfigError, match="limit of at least 1, got 0"):
        ask(FakeTagger(all_o), ROWS, limit=0)


def test_what_the_tokenizer_did_is_reported():
    counts = AlignmentCounts(words_total=9, n_vanished=3, n_unk_only=1, n_giant=2, n_windows=5)
    report = build_report(ask(FakeTagger(all_o, counts=counts), DE))
    assert by_language(report)["de"].counts == {"n_vanished": 3, "n_unk_only": 1, "n_giant": 2, "n_windows": 5}
    found = notes(report)
    assert found[:4] == [
        "7 of 7 words were scored.",
        "The tokenizer leaves nothing of 3 words; UNK stands for them.",
        "The tokenizer knows no piece of 1 words.",
        "2 words have more pieces than a window; they are scored from their first pieces.",
    ]


def test_the_same_numbers_whatever_other_languages_there_are():
    alone = build_report(ask(FakeTagger(oracle(ROWS, first=1)), DE), seed=3)
    among = build_report(ask(FakeTagger(oracle(ROWS, first=1)), [*SW, *DE]), seed=3)
    assert by_language(alone)["de"].scores == by_language(among)["de"].scores
    assert alone.table.means[0].scores != among.table.means[0].scores


PAWS = """id\tsentence1\tsentence2\tlabel
1\tA b .\tNS\t0
2\t\t\t0
3\tA b .\t\t1
4\tNS\tNS\t1
5\tNS is short .\tNS means no .\t1
6\tA b .\tB a .\t1
"""


@pytest.fixture
def paws(tmp_path):
    path = tmp_path / "pawsx" / "test-de.tsv"
    path.parent.mkdir()
    path.write_text(PAWS, "utf-8")
    return path


def test_scores_with_and_without_placeholder_pairs(paws):
    """C11: the official six rows; always saying 1 is right in 4 of 6, and in 2 of the 2 real pairs."""
    report = build_report(ask(FakeClassifier(lambda a, b: "1", PAWSX.labels), paws, PAWSX))
    row = by_language(report)["de"]
    assert (row.items, row.words_total, row.support) == (6, None, 6)
    assert row.scores["accuracy"].value == pytest.approx(4 / 6)
    [without] = report.without_placeholders.languages
    assert (without.items, without.scores["accuracy"].value) == (2, 1.0)
    assert report.without_placeholders.means[0].scores["accuracy"].value == 1.0
    assert "## Without placeholder pairs" in markdown(report)
    assert report.to_dict()["without_placeholders"]["languages"][0]["items"] == 2


def test_nothing_but_placeholders(paws):
    paws.write_text("\n".join(PAWS.splitlines()[:5]), "utf-8")
    report = build_report(ask(FakeClassifier(lambda a, b: "1", PAWSX.labels), paws, PAWSX))
    [without] = report.without_placeholders.languages
    assert (without.items, value(without.scores["accuracy"])) == (0, (None, None, None))
    json.dumps(report.to_dict(), allow_nan=False)


def test_no_placeholders_no_second_table():
    rows = [{"text": "a", "text_pair": "b", "label": "neutral", "language": "de"}]
    report = build_report(ask(FakeClassifier(lambda a, b: "neutral", XNLI.labels), rows, XNLI))
    assert report.without_placeholders is None
    assert report.to_dict()["without_placeholders"] is None


def test_classification_scores_and_truncation():
    """Always `x`: accuracy 3/4, F1 of x 6/7 and of y 0; the unknown label z counts as missed."""
    task = classification_task("mine", ["x", "y"])
    rows = [{"text": f"t{i}", "label": label, "language": "de"} for i, label in enumerate("xxxz")]
    counts = TruncationCounts(items_total=4, n_truncated=1, pieces_total=40, pieces_dropped=7)
    report = build_report(ask(FakeClassifier(lambda a, b: "x", task.labels, counts), rows, task))
    row = by_language(report)["de"]
    assert {name: score.value for name, score in row.scores.items()} == {"accuracy": 0.75, "macro_f1": 3 / 7}
    assert row.unknown_gold_labels == {"z": 1}
    assert notes(report)[:2] == [
        "4 items were scored.",
        "1 items are longer than the model was set to take: 7 of 40 pieces were cut off.",
    ]


@pytest.mark.parametrize("first", [None, 2, 0])
def test_json_round_trip(first):
    report = build_report(ask(FakeTagger(oracle(ROWS, first)), ROWS))
    whole = report.to_dict()
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert whole["languages"][3]["scores"]["span_f1_lenient"] == {"value": None, "low": None, "high": None}
    assert whole["interval"] == {
        "level": 0.95,
        "method": "percentile bootstrap over items",
        "resamples": 1000,
        "seed": 0,
        "languages": {
            "together": False, "by": None, "shared": 0, "alone": 9,
            "sentence": "Languages are resampled one by one: nothing tells that items are translations of each other.",
        },
    }  # fmt: skip


def test_markdown():
    report = build_report(ask(FakeTagger(oracle(ROWS, first=2)), ROWS))
    assert markdown(report) == (
        "# ner on rows (test)\n"
        "\n"
        "|  | sentences | words | support | span F1 (lenient) | span F1 (strict) |\n"
        "|---|---:|---:|---:|---:|---:|\n"
        "| en | 2 | 5 | 3 | 80.0 [66.7, 100.0] | 80.0 [66.7, 100.0] |\n"
        "| de | 3 | 7 | 2 | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] |\n"
        "| sw | 2 | 5 | 3 | 80.0 [66.7, 100.0] | 80.0 [66.7, 100.0] |\n"
        "| yo | 2 | 3 | 0 | – | – |\n"
        "\n"
        "| mean over | languages | span F1 (lenient) | span F1 (strict) |\n"
        "|---|---:|---:|---:|\n"
        "| targets (without en) | 3 | 90.0 [83.3, 100.0] | 90.0 [83.3, 100.0] |\n"
        "| all (with en) | 4 | 86.7 [77.8, 100.0] | 86.7 [77.8, 100.0] |\n"
        "| Indo-European | 2 | 90.0 [83.3, 100.0] | 90.0 [83.3, 100.0] |\n"
        "| other families | 2 | 80.0 [66.7, 100.0] | 80.0 [66.7, 100.0] |\n"
        "\n"
        "- 20 of 20 words were scored.\n"
        "- span F1 (lenient) is not defined in yo (nothing in gold or predicted); means leave it out.\n"
        "- span F1 (strict) is not defined in yo (nothing in gold or predicted); means leave it out.\n"
        "- [low, high]: 95 % percentile bootstrap interval over items, 1,000 resamples, seed 0.\n"
        "- Languages are resampled one by one: nothing tells that items are translations of each other.\n"
        "- Fewer than 30 items in en (2), de (3), sw (2), yo (2): intervals are too narrow there, and p-values too "
        "small.\n"
    )


def test_a_label_that_a_resample_lacks_is_left_out_of_its_macro_f1():
    """Both right: macro F1 is 1 in every resample, also in those without one of the labels, where it is undefined."""
    rows = tagged("de", "a/NOUN", "b/VERB")
    report = build_report(ask(FakeTagger(oracle(rows), POS.labels), rows, POS))
    assert value(report.table.languages[0].scores["macro_f1"]) == (1.0, 1.0, 1.0)
    rows = tagged("de", "a/NOUN", "b/VERB", "b/VERB")  # a is called VERB: F1 of NOUN 0, of VERB 2*2/(3+2)
    report = build_report(ask(FakeTagger(lambda words: ["VERB"], POS.labels), rows, POS))
    assert value(report.table.languages[0].scores["macro_f1"]) == (pytest.approx(0.4), 0.0, 1.0)


def test_odd_language_names_do_not_break_the_table():
    rows = tagged("a|b\nc", "Anna/B-PER", "x/O")
    text = markdown(build_report(ask(FakeTagger(all_o), rows)))
    assert "| a\\|b c | 2 |" in text


def test_a_source_language_that_is_not_known():
    report = build_report(ask(FakeTagger(all_o), DE, sources=()))
    assert [mean.name for mean in report.table.means] == ["all"]
    assert "The run does not tell which language it was trained on, so nothing is split by it." in notes(report)


def test_a_data_language_that_is_not_known():
    rows = [{key: row[key] for key in ("words", "tags")} for row in DE]
    found = notes(build_report(ask(FakeTagger(all_o), rows)))
    assert "und: the language of the data is not known; name it with --languages." in found


def test_rows_have_as_many_cells_as_the_header():
    report = build_report(ask(FakeTagger(all_o), ROWS))
    languages, means = tables(report)
    assert {len(row) for row in languages.rows} == {len(languages.header)}
    assert {len(row) for row in means.rows} == {len(means.header)} == {4}
