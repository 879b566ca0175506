"""The sample corpora are well formed, and nothing of a training sample stands in a test sample."""

import re
import unicodedata
from collections import Counter

import pytest

from dlfa_adapters.data.places import SAMPLES, sample_file, sample_languages
from dlfa_adapters.tasks import NER, PAWSX, POS, XNLI

TAGGED = [(task, split) for task in ("ner", "pos") for split in ("train", "dev", "test")]


def sentences(task, split, language):
    """Read two columns with a few lines of our own, so that a fault of the readers cannot hide one here."""
    blocks = sample_file(task, split, language).read_bytes().decode("utf-8").split("\n\n")
    assert blocks.pop() == "", "the last sentence must end with an empty line"
    return [[tuple(line.split("\t")) for line in block.split("\n")] for block in blocks]


def everything(task, split):
    return [(lang, s) for lang in sample_languages(task, split) for s in sentences(task, split, lang)]


@pytest.mark.parametrize(("task", "split"), TAGGED)
def test_two_columns_known_tags_no_blanks(task, split):
    labels = set({"ner": NER, "pos": POS}[task].labels)
    for language, sentence in everything(task, split):
        for row in sentence:
            assert len(row) == 2, (language, row)
            word, tag = row
            assert word, language
            assert word == "".join(word.split()), (language, word)
            assert unicodedata.is_normalized("NFC", word), (language, word)
            assert tag in labels, (language, tag)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_ner_is_iob2(split):
    for language, sentence in everything("ner", split):
        before = "O"
        for word, tag in sentence:
            if tag.startswith("I-"):
                assert before in (f"B-{tag[2:]}", tag), (language, word, sentence)
            before = tag


@pytest.mark.parametrize("task", ["ner", "pos"])
def test_no_sentence_twice_within_or_across_splits(task):
    seen = Counter(
        "".join(word for word, _ in sentence).casefold()
        for split in ("train", "dev", "test")
        for _, sentence in everything(task, split)
    )
    assert [text for text, count in seen.items() if count > 1] == []


def test_ner_sizes_languages_and_scripts():
    assert len(sentences("ner", "train", "en")) >= 400
    assert len(sentences("ner", "dev", "en")) >= 80
    languages = sample_languages("ner")
    assert set("de es fr nl ru tr ar hi zh ja sw yo".split()) <= set(languages)
    scripts = Counter()
    for language in languages:
        rows = sentences("ner", "test", language)
        assert len(rows) >= 30, language
        letters = Counter(unicodedata.name(c).split()[0] for s in rows for w, _ in s for c in w if c.isalpha())
        scripts[letters.most_common(1)[0][0]] += 1
    assert len(scripts) >= 6, scripts


def test_chinese_and_japanese_are_characters():
    for language in ("zh", "ja"):
        for sentence in sentences("ner", "test", language):
            for word, _ in sentence:
                assert len(word.replace("\ufe0f", "")) == 1, (language, word)


def test_pos_sizes_and_all_tags_in_train():
    assert len(sentences("pos", "train", "en")) >= 150
    assert len(sample_languages("pos")) >= 9
    for language in sample_languages("pos"):
        assert len(sentences("pos", "test", language)) >= 20
    assert {tag for s in sentences("pos", "train", "en") for _, tag in s} == set(POS.labels)


def rows_of_pairs(sample, split, language):
    """Rows of two sentences and a label, read without the readers."""
    text = sample_file(sample, split, language).read_bytes().decode("utf-8")
    assert unicodedata.is_normalized("NFC", text), language
    return [tuple(line.split("\t")) for line in text.removesuffix("\n").split("\n")]


@pytest.mark.parametrize(
    ("sample", "task", "in_training", "languages"), [("nli", XNLI, 150, 9), ("pawsx", PAWSX, 120, 7)]
)
def test_pairs_have_three_columns_are_balanced_and_disjoint(sample, task, in_training, languages):
    pairs = {}
    for split in ("train", "dev", "test"):
        for language in sample_languages(sample, split):
            rows = rows_of_pairs(sample, split, language)
            labels = Counter(row[2] for row in rows)
            assert all(len(row) == 3 and all(row) for row in rows)
            assert set(labels) == set(task.labels)
            assert max(labels.values()) <= 1.3 * min(labels.values()), (split, language, labels)
            for row in rows:
                assert row[:2] not in pairs, (row, pairs[row[:2]])
                pairs[row[:2]] = (split, language)
    assert sum(where == ("train", "en") for where in pairs.values()) >= in_training
    assert len(sample_languages(sample)) >= languages


def test_pawsx_every_sentence_has_a_paraphrase_and_a_swap_and_words_do_not_tell_them_apart():
    for split in ("train", "dev", "test"):
        for language in sample_languages("pawsx", split):
            rows = rows_of_pairs("pawsx", split, language)
            assert Counter(Counter(row[0] for row in rows).values()) == {2: len(rows) // 2}
            assert len({(row[0], row[2]) for row in rows}) == len(rows)
            shared = [(_shared_words(*row[:2]), row[2]) for row in rows]
            right = [
                sum((share >= limit) == (label == meant) for share, label in shared)
                for limit in {share for share, _ in shared}
                for meant in PAWSX.labels
            ]
            assert max(right) <= 0.6 * len(rows), (split, language)
    assert {language: len(rows_of_pairs("pawsx", "test", language)) for language in PAWSX.languages} == dict.fromkeys(
        PAWSX.languages, 20
    )


def _shared_words(first, second):
    """Share of the words that are in both sentences."""
    bags = [set(re.findall(r"\w+", text.casefold())) for text in (first, second)]
    return len(bags[0] & bags[1]) / len(bags[0] | bags[1])


def test_ner_label_balance_printed(capsys):
    table = ["", f"{'ner sample':14} sentences   PER  LOC  ORG  without entity"]
    for split in ("train", "dev", "test"):
        for language in sample_languages("ner", split):
            rows = sentences("ner", split, language)
            entities = Counter(tag[2:] for s in rows for _, tag in s if tag.startswith("B-"))
            without = sum(all(tag == "O" for _, tag in s) for s in rows) / len(rows)
            numbers = "".join(f"{entities[kind]:5}" for kind in ("PER", "LOC", "ORG"))
            table.append(f"{split:5} {language:8} {len(rows):9} {numbers} {without:10.0%}")
            assert set(entities) == {"PER", "LOC", "ORG"}
            assert max(entities.values()) <= 2 * min(entities.values()), (language, entities)
            assert without < 0.25
    with capsys.disabled():
        print("\n".join(table))


def test_every_task_has_its_folder():
    for sample in SAMPLES:
        assert sample_languages(sample), sample
