"""Words to pieces: none is lost, and none is a special token."""

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from dlfa_adapters.data.alignment import AlignmentCounts, WordPieces, align_words
from dlfa_adapters.data.backend import plain_backend
from dlfa_adapters.data.windows import make_windows
from dlfa_adapters.ground.errors import ConfigError, DataError

from .tiny_tokenizers import FAMILIES, WORDPIECE_VOCAB, byte_level, slow, unigram, wordpiece

UNK = WORDPIECE_VOCAB.index("[UNK]")


def test_vanished_and_unknown_words_keep_their_place():
    sentences = [["Anna", "\u200b", "met", "Bob"], ["Bob", "\u00ad"], ["ⵣⵣ", "met"], ["\ufeff"]]
    windows, counts = make_windows(wordpiece(), sentences)
    assert counts == AlignmentCounts(words_total=9, n_vanished=3, n_unk_only=1, n_windows=4)
    assert [window.words for window in windows] == [(0, 1, 2, 3), (0, 1), (0, 1), (0,)]
    names = [[WORDPIECE_VOCAB[i] for i in window.input_ids] for window in windows]
    assert names == [
        ["[CLS]", "Anna", "[UNK]", "met", "Bob", "[SEP]"],
        ["[CLS]", "Bob", "[UNK]", "[SEP]"],
        ["[CLS]", "[UNK]", "met", "[SEP]"],
        ["[CLS]", "[UNK]", "[SEP]"],
    ]
    assert windows[0].pieces == ((1, 2), (2, 3), (3, 4), (4, 5))


@pytest.mark.parametrize("word", ["", "\u200b", "\u200d", "\u200e", "\xad", "\ufeff", "\ufffd", "\x96", "\x7f", "\xa0"])
def test_every_word_that_the_bert_normaliser_deletes_is_counted(word):
    assert align_words(wordpiece(), [word])[word] == WordPieces((UNK,), vanished=True)


def test_occurrences_are_counted_not_distinct_words():
    _, counts = make_windows(wordpiece(), [["\u200b", "\u200b", "ⵣ"], ["ⵣ", "\u200b"]])
    assert (counts.words_total, counts.n_vanished, counts.n_unk_only) == (5, 3, 2)


def test_a_bare_word_marker_is_given_to_the_encoder_but_never_scored():
    tokenizer = unigram()
    marker = tokenizer.convert_tokens_to_ids("▁")
    pieces = align_words(tokenizer, ["東京"])["東京"]
    assert pieces.ids[0] == marker
    assert pieces.marker == 1
    (window,), _ = make_windows(tokenizer, [["東京"]])
    assert window.input_ids[1] == marker
    assert window.pieces == ((2, len(window.input_ids) - 1),)


def test_a_word_of_which_only_the_marker_is_left_has_vanished():
    tokenizer = unigram()
    _, counts = make_windows(tokenizer, [["\u200b", "Rome"]])
    assert (counts.words_total, counts.n_vanished) == (2, 1)
    assert align_words(tokenizer, ["\u200b"])["\u200b"].ids == (tokenizer.unk_token_id,)


def test_the_sentencepiece_mark_is_an_ordinary_character_for_wordpiece():
    assert align_words(wordpiece(), ["▁"])["▁"] == WordPieces((UNK,), unk_only=True)


def test_byte_level_words_get_their_prefix_space_either_way():
    with_space, without = byte_level(), byte_level(add_prefix_space=False)
    words = ["Rome", "(1,250.5)", "東京", "Bob"]
    assert align_words(without, words) == align_words(with_space, words)
    assert with_space.convert_ids_to_tokens(align_words(without, ["Bob"])["Bob"].ids[0]).startswith("Ġ")


@pytest.mark.parametrize("kind", FAMILIES)
def test_each_word_has_the_pieces_that_it_has_in_its_sentence(kind):
    tokenizer = FAMILIES[kind]()
    words = ["Anna", "met", "Bobby", "東京", "in", "(1,250.5)", "Rome", "met"]
    aligned = align_words(tokenizer, words)
    prefix = " " if kind == "byte_level_no_prefix_space" else ""
    encoding = tokenizer.backend_tokenizer.encode(
        [prefix + word for word in words], is_pretokenized=True, add_special_tokens=False
    )
    for number, word in enumerate(words):
        whole = [i for i, of in zip(encoding.ids, encoding.word_ids, strict=True) if of == number]
        assert list(aligned[word].ids) == whole


@pytest.mark.parametrize("kind", FAMILIES)
def test_words_that_look_like_special_tokens_are_none(kind):
    tokenizer = FAMILIES[kind]()
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    for word in ("[CLS]", "[PAD]", "<s>", "</s>", "<pad>"):
        assert not special & set(align_words(tokenizer, [word])[word].ids)


def test_the_tokenizer_is_left_as_it_was():
    tokenizer = wordpiece()
    backend = tokenizer.backend_tokenizer
    backend.enable_truncation(max_length=3)
    backend.enable_padding(length=9, pad_id=0, pad_token="[PAD]")
    before = backend.to_str()
    _, counts = make_windows(tokenizer, [["Anna", "met", "Bob", "in", "Rome"]])
    assert counts.words_total == 5
    assert backend.to_str() == before


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_tokenizer_of_ones_own_differs_in_truncation_and_padding_alone(kind):
    given = FAMILIES[kind]()
    given.add_tokens(["newword", "another"])
    given.add_special_tokens({"additional_special_tokens": ["<mark>"]})
    plain = given.backend_tokenizer.to_str()
    given.backend_tokenizer.enable_truncation(max_length=3)
    given.backend_tokenizer.enable_padding(length=9)
    assert plain_backend(given).to_str() == plain


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("Sony phone", "a list of sentences, each a list of words, got the text 'Sony phone'; type split_words"),
        (["Sony phone"], "sentence 0 to be a list of words, got the text 'Sony phone'; type split_words"),
        ([["Sony"], "phone"], "sentence 1 to be a list of words, got the text 'phone'; type split_words"),
        ([["Sony", 5]], "every word to be a string, got 5"),
    ],
)
def test_a_string_is_no_list_of_words(wrong, message):
    with pytest.raises(DataError, match=message):
        make_windows(wordpiece(), wrong)


def test_nor_is_it_one_for_the_aligner():
    with pytest.raises(DataError, match="a list of words, got the text 'Sony'; type split_words"):
        align_words(wordpiece(), "Sony")


def test_lone_surrogates_do_not_crash():
    _, counts = make_windows(wordpiece(), [["\ud800", "Bob\udfff", "\x00"]])
    assert (counts.words_total, counts.n_vanished) == (3, 2)


def test_a_slow_tokenizer_is_refused_with_what_to_type(tmp_path):
    with pytest.raises(ConfigError, match=r"expected a fast tokenizer .* BertTokenizer; type .*use_fast=True"):
        make_windows(slow(tmp_path), [["Anna"]])


def test_without_unk_another_token_stands_for_what_vanished_and_without_any_the_error_says_what_to_type():
    tokenizer = byte_level()
    tokenizer.unk_token = None
    assert align_words(tokenizer, [""])[""] == WordPieces((tokenizer.pad_token_id,), vanished=True)
    tokenizer.pad_token = tokenizer.eos_token = None
    with pytest.raises(ConfigError, match=r"expected a tokenizer with an UNK token.*type e\.g\. tokenizer\.unk_token"):
        make_windows(tokenizer, [["Rome", ""]])


def test_a_tokenizer_that_makes_no_pieces_is_refused():
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), unk_token="[UNK]")
    with pytest.raises(ConfigError, match="expected a tokenizer that makes pieces of words"):
        make_windows(tokenizer, [["Anna"]])


def test_cutting_keeps_the_word_and_drops_a_marker_that_would_displace_it():
    assert WordPieces((9, 1, 2, 3), marker=1).cut(2) == WordPieces((9, 1), marker=1)
    assert WordPieces((9, 1, 2, 3), marker=1).cut(1) == WordPieces((1,), marker=0)


def test_counts_add_up():
    one = AlignmentCounts(words_total=1, n_vanished=2, n_unk_only=3, n_giant=4, n_windows=5)
    assert one + one == AlignmentCounts(words_total=2, n_vanished=4, n_unk_only=6, n_giant=8, n_windows=10)
