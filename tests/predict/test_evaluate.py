"""From data to predictions: windows, words that vanish, tasks that do not fit, labels of the run."""

import pytest
import torch

from dlfa_adapters.data.sources import load_source
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.tagging.tagger import Tagger
from dlfa_adapters.predict.items import check_fit, items_by_language
from dlfa_adapters.predict.load import source_languages
from dlfa_adapters.predict.run import predict
from dlfa_adapters.runs import Run
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.tasks import NER, PAWSX, POS, SENTIMENT, TOPIC, XNLI, classification_task, tagging_task
from tests.data.tiny_tokenizers import unigram, wordpiece
from tests.predict.fakes import FakeTagger, ask, oracle


class ByPiece(torch.nn.Module):
    """A context-free oracle: each piece has one label; in a window that does not begin a sentence it may be blind."""

    device = torch.device("cpu")

    def __init__(self, label_of, begins_with=None):
        super().__init__()
        self.label_of, self.begins_with = label_of, begins_with

    def forward(self, input_ids, attention_mask):
        ids = torch.tensor([[self.label_of.get(i, 0) for i in row] for row in input_ids.tolist()])
        if self.begins_with is not None:
            ids[input_ids[:, 1] != self.begins_with] = 0
        return type("Output", (), {"logits": torch.nn.functional.one_hot(ids, len(NER.labels)).float()})


# C14: ten one-piece words, four of which fit in a window of six.
WORDS = "met . in new york de Rome vin Anna Bob".split()
TAGS = "O O O B-LOC I-LOC O O O B-PER I-PER".split()
LONG = [{"language": "de", "words": WORDS, "tags": TAGS}]


def by_piece(tokenizer, **options):
    pieces = {tokenizer.convert_tokens_to_ids(w): NER.labels.index(t) for w, t in zip(WORDS, TAGS, strict=True)}
    return ByPiece(pieces, **options)


@pytest.mark.parametrize("context", [0, 1, 2, 4])
def test_an_oracle_is_right_on_a_sentence_longer_than_a_window(context):
    tokenizer = wordpiece()
    tagger = Tagger(by_piece(tokenizer), tokenizer, NER.labels, max_length=6, context=context)
    report = build_report(ask(tagger, LONG))
    [row] = report.table.languages
    assert (row.words_total, row.words_scored, row.support) == (10, 10, 2)
    assert row.scores["span_f1_lenient"].value == 1.0
    assert row.scores["span_f1_strict"].value == 1.0
    assert row.counts["n_windows"] >= 3


def test_a_tagger_that_is_right_on_the_first_window_only_gets_nothing():
    tokenizer = wordpiece()
    model = by_piece(tokenizer, begins_with=tokenizer.convert_tokens_to_ids("met"))
    tagger = Tagger(model, tokenizer, NER.labels, max_length=6, context=2)
    [row] = build_report(ask(tagger, LONG)).table.languages
    assert row.words_scored == 10
    assert row.scores["span_f1_lenient"].value == 0.0


@pytest.mark.parametrize("tokenizer", [wordpiece, unigram], ids=["wordpiece", "unigram"])
def test_words_that_vanish_are_scored(tokenizer):
    """C03: 9 words, 3 of which leave no piece."""
    words = [["Anna", "\u200b", "met", "Bob"], ["Bob", "\u00ad"], ["ⵣⵣ", "met"], ["\ufeff"]]
    tags = [["PROPN", "X", "VERB", "PROPN"], ["PROPN", "PUNCT"], ["NOUN", "VERB"], ["X"]]
    rows = [{"language": "de", "words": w, "tags": t} for w, t in zip(words, tags, strict=True)]
    tagger = Tagger(ByPiece({}), tokenizer(), POS.labels[:7], max_length=16, context=4)
    [row] = build_report(ask(tagger, rows, POS)).table.languages
    assert (row.words_total, row.words_scored) == (9, 9)
    if tokenizer is wordpiece:
        assert (row.counts["n_vanished"], row.counts["n_unk_only"]) == (3, 1)


def test_a_word_with_more_pieces_than_a_window_is_scored():
    tokenizer = wordpiece()
    giant = "Bob" + 10 * "by"
    rows = [{"language": "de", "words": ["Anna", giant, "met"], "tags": ["B-PER", "I-PER", "O"]}]
    tagger = Tagger(by_piece(tokenizer), tokenizer, NER.labels, max_length=6, context=2)
    [row] = build_report(ask(tagger, rows)).table.languages
    assert (row.words_scored, row.counts["n_giant"]) == (3, 1)
    assert row.scores["span_f1_lenient"].value == 1.0  # Bob is I-PER to the oracle by pieces


def test_label_ids_come_from_the_model_and_not_from_the_file():
    """C17: en lists O, B-PER, I-PER first, de I-PER, B-PER, O: the order in which labels are met means nothing."""
    rows = [
        {"language": "en", "words": ["a", "b"], "tags": ["O", "B-PER"]},
        {"language": "de", "words": ["b", "c", "a"], "tags": ["B-PER", "I-PER", "O"]},
    ]
    for row in build_report(ask(FakeTagger(oracle(rows)), rows)).table.languages:
        assert row.scores["span_f1_lenient"].value == 1.0


def test_progress_ends_at_the_number_of_sentences():
    rows = [{"language": x, "words": ["a"], "tags": ["O"]} for x in ("de", "de", "sw")]
    items, _ = items_by_language(load_source(rows, NER))
    seen = []
    predict(FakeTagger(oracle(rows)), items, lambda stage, done, total: seen.append((stage, done, total)))
    assert sum(done for _, done, _ in seen) == 3
    assert {(stage, total) for stage, _, total in seen} == {("Predicting", 3)}


@pytest.mark.parametrize(
    ("told", "expected"), [("en", ["en"]), (["en", "zh"], ["en", "zh"]), ("und", []), (None, []), ([], [])]
)
def test_source_languages(told, expected, tmp_path):
    assert source_languages(Run(tmp_path, {"data": {"train": {"language": told}}})) == expected
    assert source_languages(Run(tmp_path, {})) == []


def fit(rows, task, **options):
    items, _ = items_by_language(load_source(rows, **options))
    check_fit(items, task, "rows")


TAGGED = [(["a", "b"], ["NOUN", "X"])]
ENTITIES = [(["a", "b"], ["B-PER", "O"])]
SINGLE, PAIR = [("a", "neutral")], [("a", "b", "neutral")]


@pytest.mark.parametrize(
    ("rows", "task", "message"),
    [
        (TAGGED, XNLI, "expected data for xnli, a classification task, but this is tagging data"),
        (PAIR, NER, "expected data for ner, a tagging task, but this is classification data"),
        (TAGGED, NER, "expected IOB tags .* got 'NOUN', 'X'"),
        (ENTITIES, POS, "the model knows none of the labels in these data .B-PER, O.; it knows ADJ, ADP"),
        (SINGLE, XNLI, "expected pairs of texts for xnli, but these are single texts"),
        (PAIR, SENTIMENT, "expected single texts for sentiment, but these are pairs of texts"),
        ([*SINGLE, *PAIR], XNLI, "expected only pairs or only single texts, but there are both"),
        (PAIR, PAWSX, "knows none of the labels in these data .neutral."),
        (SINGLE, TOPIC, "knows none of the labels"),
        (ENTITIES, tagging_task("mine", ["A", "B"]), "knows none of the labels"),
    ],
)
def test_data_that_do_not_fit(rows, task, message):
    with pytest.raises(DataError, match=message):
        fit(rows, task)


def test_data_that_fit():
    fit(TAGGED, POS)
    fit(ENTITIES, NER)
    fit(PAIR, XNLI)
    fit(PAIR, classification_task("mine", ["neutral", "other"]))
    fit(SINGLE, classification_task("mine", ["neutral", "other"]))
