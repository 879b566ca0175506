"""Texts and pairs of texts: truncation is counted and named."""

import logging

import pytest
from tokenizers.processors import TemplateProcessing

from dlfa_adapters.data.batching import pad_batch
from dlfa_adapters.data.pairs import TruncationCounts, encode_texts
from dlfa_adapters.errors import ConfigError, DataError

from .tiny_tokenizers import slow, unigram, wordpiece


def test_pairs_with_type_ids():
    items, counts = encode_texts(wordpiece(), ["Anna met", "Bob"], ["Rome", "new york ."])
    assert [item.input_ids for item in items] == [[2, 4, 5, 3, 12, 3], [2, 6, 3, 9, 10, 8, 3]]
    assert [item.token_type_ids for item in items] == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    assert counts == TruncationCounts(items_total=2, pieces_total=13)
    batch = pad_batch(items, 0)
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    assert batch["attention_mask"].sum().item() == 13


def test_an_encoder_without_type_ids_gets_none():
    items, _ = encode_texts(unigram(), ["Anna met"], ["Rome"])
    assert items[0].token_type_ids is None
    assert "token_type_ids" not in pad_batch(items, 1)


def test_the_longer_text_is_cut_first_and_the_cut_is_counted_and_named_once(caplog):
    with caplog.at_level(logging.WARNING):
        items, counts = encode_texts(wordpiece(), ["Anna met Bob in Rome .", "Bob"], ["vin", "Rome"], max_length=7)
    assert items[0].input_ids == [2, 4, 5, 6, 3, 15, 3]
    assert items[1].input_ids == [2, 6, 3, 12, 3]
    assert counts == TruncationCounts(items_total=2, n_truncated=1, pieces_total=15, pieces_dropped=3)
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 2 items are longer than max_length=7: 3 of 15 pieces were cut off."
    ]


def test_single_texts_empty_texts_and_no_texts():
    items, counts = encode_texts(wordpiece(), ["Anna", ""])
    assert [item.input_ids for item in items] == [[2, 4, 3], [2, 3]]
    assert counts.n_truncated == 0
    assert encode_texts(wordpiece(), []) == ([], TruncationCounts())


def test_something_stands_for_a_text_without_any_piece():
    bare = wordpiece()
    bare.backend_tokenizer.post_processor = TemplateProcessing(single="$A", pair="$A $B:1", special_tokens=[])
    items, _ = encode_texts(bare, ["", "Anna"])
    assert items == [([1], [0]), ([4], [0])]
    items, _ = encode_texts(bare, ["", ""], ["Bob", "\u200b"])
    assert items == [([6], [1]), ([1], [0])]


def test_lone_surrogates_do_not_crash():
    items, _ = encode_texts(wordpiece(), ["Anna \ud800"])
    assert items[0].input_ids == [2, 4, 3]  # U+FFFD, which stands for it, is deleted by BERT's normaliser


def test_the_counts_add_up():
    one = TruncationCounts(items_total=1, n_truncated=2, pieces_total=3, pieces_dropped=4)
    assert one + one == TruncationCounts(items_total=2, n_truncated=4, pieces_total=6, pieces_dropped=8)


def test_errors_say_what_to_type(tmp_path):
    with pytest.raises(ConfigError, match="expected max_length of at least 5, got 4; type max_length=128"):
        encode_texts(wordpiece(), ["Anna"], ["Bob"], max_length=4)
    with pytest.raises(ConfigError, match="fast tokenizer"):
        encode_texts(slow(tmp_path), ["Anna"])
    with pytest.raises(DataError, match="a second text for each of 2 texts, got 1"):
        encode_texts(wordpiece(), ["Anna", "Bob"], ["Rome"])
