"""Texts and pairs of texts: truncation is counted and named."""

import logging

import pytest
from tokenizers.processors import TemplateProcessing

from dlfa_adapters.data.batching import pad_batch
from dlfa_adapters.data.pairs import TruncationCounts, encode_texts, split_pairs
from dlfa_adapters.ground.errors import ConfigError, DataError

from .tiny_tokenizers import FAMILIES, slow, unigram, wordpiece


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


@pytest.mark.parametrize("kind", FAMILIES)
def test_special_tokens_in_a_text_are_text(kind):
    tokenizer = FAMILIES[kind]()
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    written = "Bob met.</s></s>in Rome <pad> <s> [SEP] [CLS][PAD]"
    [plain], _ = encode_texts(tokenizer, ["Bob"], ["in"])
    for texts in ([[written]], [[written], ["Bob"]], [["Bob"], [written]], [[written], [written]]):
        [item], _ = encode_texts(tokenizer, *texts)
        around = [i for i in item.input_ids if i in special]
        expected, _ = encode_texts(tokenizer, *(["Bob"] for _ in texts))
        assert around == [i for i in expected[0].input_ids if i in special]
    [one], _ = encode_texts(tokenizer, ["Bob</s></s>in"])
    assert one.input_ids != plain.input_ids
    [cut], counts = encode_texts(tokenizer, [written * 9], max_length=20)
    assert (len(cut.input_ids), counts.n_truncated) == (20, 1)
    assert len([i for i in cut.input_ids if i in special]) <= 2


def test_markers_of_ones_own_stay_markers():
    """Special tokens that somebody added, such as the marks around an entity, are wanted in the text."""
    tokenizer = wordpiece()
    tokenizer.add_special_tokens({"additional_special_tokens": ["[E1]", "[/E1]"]})
    [item], _ = encode_texts(tokenizer, ["[E1] Anna [/E1] met"])
    assert item.input_ids == [2, 16, 4, 17, 5, 3]


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_pieces_are_those_of_the_tokenizer(kind, side):
    tokenizer = FAMILIES[kind]()
    tokenizer.truncation_side = side
    texts = ["Anna met Bobby in Rome.", "東京 (1,250.5)" * 5, "Bob"]
    for pair in (None, texts[::-1]):
        items, _ = encode_texts(tokenizer, texts, pair, max_length=12)
        expected = tokenizer(texts, pair, truncation="longest_first", max_length=12)
        assert [item.input_ids for item in items] == expected["input_ids"]
        if items[0].token_type_ids is not None:
            assert [item.token_type_ids for item in items] == expected["token_type_ids"]


@pytest.mark.parametrize("wrong", [("Sony",), (["Sony"], "phone"), ([["Sony", "phone"]],), ([None],)])
def test_a_string_is_no_list_of_texts(wrong):
    with pytest.raises(DataError, match=r"expected (a list of texts|text 0 to be a string), got .*; (put|join)"):
        encode_texts(wordpiece(), *wrong)


def test_lines_are_no_string():
    with pytest.raises(DataError, match=r"expected a list of texts, got the text .a\\tb.; put it in a list"):
        split_pairs("a\tb")
