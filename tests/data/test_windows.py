"""Every word scored once, in the window where it is furthest from an edge: CASES C14, DEMAND 1."""

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlfa_adapters.data import windows as windows_module
from dlfa_adapters.data.batching import collect_words
from dlfa_adapters.data.windows import make_windows
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import SpanF1

from .tiny_tokenizers import FAMILIES, WORDPIECE_VOCAB, wordpiece

TEN = "Anna met Bob in Rome . de le new york".split()
GOLD = "O O O B-LOC I-LOC O O O B-PER I-PER".split()


def words_of(window):
    return [WORDPIECE_VOCAB[i] for i in window.input_ids[1:-1]]


def test_ten_words_four_a_window():
    windows, counts = make_windows(wordpiece(), [TEN], max_length=6)
    assert [words_of(w) for w in windows] == [TEN[0:4], TEN[2:6], TEN[4:8], TEN[6:10]]
    # Pieces to the nearer edge: word 2 has 1 in the first window and 0 in the second, word 3 has 0 and 1, and so on.
    assert [w.words for w in windows] == [(0, 1, 2), (3, 4), (5, 6), (7, 8, 9)]
    assert [w.pieces for w in windows] == [
        ((1, 2), (2, 3), (3, 4)),
        ((2, 3), (3, 4)),
        ((2, 3), (3, 4)),
        ((2, 3), (3, 4), (4, 5)),
    ]
    assert (counts.words_total, counts.n_windows) == (10, 4)


def test_the_last_window_is_filled_from_the_left():
    windows, _ = make_windows(wordpiece(), [TEN[:7]], max_length=6, context=0)
    assert [words_of(w) for w in windows] == [TEN[0:4], TEN[3:7]]
    assert [w.words for w in windows] == [(0, 1, 2, 3), (4, 5, 6)]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=30), st.integers(4, 12), st.integers(0, 6))
def test_each_word_is_scored_where_most_is_around_it(lengths, room, context):
    """Against the rule as it is worded: pieces to the nearer edge, where the ends of the sentence are no edges."""
    starts = [0, *accumulate(lengths)]
    spans = windows_module._spans(starts, room, min(context, room // 2))
    for word, owner in enumerate(windows_module._owners(starts, spans)):
        around = []
        for first, stop in spans:
            left = starts[word] - starts[first] if first > 0 else starts[-1]
            right = starts[stop] - starts[word + 1] if stop < len(lengths) else starts[-1]
            around.append(min(left, right) if first <= word < stop else -1)
        assert owner == around.index(max(around))


def score(windows, right):
    """Span F1 of a tagger that gives gold in the windows that `right` accepts, and O elsewhere."""
    rows = [[GOLD[i] if right(number) else "O" for i in w.words] for number, w in enumerate(windows)]
    tags = collect_words(windows, rows, [10])
    return SpanF1().compute(predictions=tags, references=[GOLD])


@pytest.mark.parametrize("context", [0, 1, 2, 64])
@pytest.mark.parametrize("max_length", [3, 6, 7, 12, 128])
def test_an_oracle_gets_everything_whatever_the_windows(max_length, context):
    windows, _ = make_windows(wordpiece(), [TEN], max_length=max_length, context=context)
    result = score(windows, lambda number: True)
    assert (result["span_f1_lenient"], result["span_f1_strict"], result["support"]) == (1.0, 1.0, 2)


def test_an_oracle_that_is_right_only_in_the_first_window_gets_nothing():
    windows, _ = make_windows(wordpiece(), [TEN], max_length=6)
    result = score(windows, lambda number: number == 0)
    assert (result["span_f1_lenient"], result["support"]) == (0.0, 2)


def test_a_giant_word_is_scored_from_its_first_pieces():
    giant = "Bob" + 10 * "by"
    windows, counts = make_windows(wordpiece(), [["Anna", giant, "met"]], max_length=6)
    assert (counts.words_total, counts.n_giant, counts.n_windows) == (3, 1, 3)
    assert [w.words for w in windows] == [(0,), (1,), (2,)]
    assert words_of(windows[1]) == ["Bob", "##by", "##by", "##by"]
    assert windows[1].pieces == ((1, 5),)


def test_a_word_that_just_fits_is_no_giant():
    _, counts = make_windows(wordpiece(), [["Bobbybyby"]], max_length=6)
    assert counts.n_giant == 0


def test_empty_sentences_give_no_window_and_keep_their_index():
    windows, counts = make_windows(wordpiece(), [[], ["Anna"], [], [], ["Bob"], []])
    assert [w.sentence for w in windows] == [1, 4]
    assert counts.words_total == counts.n_windows == 2
    assert collect_words(windows, [["a"], ["b"]], [0, 1, 0, 0, 1, 0]) == [[], ["a"], [], [], ["b"], []]
    assert make_windows(wordpiece(), [])[0] == []


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("wordpiece", ["[CLS]"], ["[SEP]"]),
        ("unigram", ["<s>"], ["</s>"]),
        ("byte_level", ["<s>"], ["</s>"]),
        ("first_only", ["<s>"], []),
        ("last_only", [], ["</s>"]),
        ("bare", [], []),
    ],
)
def test_special_tokens_of_every_family_in_every_window(kind, before, after):
    tokenizer = FAMILIES[kind]()
    windows, _ = make_windows(tokenizer, [["Rome", "new", "york"] * 10], max_length=12)
    assert len(windows) > 1
    for window in windows:
        tokens = tokenizer.convert_ids_to_tokens(window.input_ids)
        assert len(tokens) <= 12
        assert tokens[: len(before)] == before
        assert tokens[len(tokens) - len(after) :] == after
        inside = tokens[len(before) : len(tokens) - len(after)]
        assert not {"[CLS]", "[SEP]", "<s>", "</s>"} & set(inside)
        assert window.pieces[0][0] >= len(before)
        assert window.pieces[-1][1] <= len(tokens) - len(after)


def test_windows_share_the_context_and_words_are_read_with_at_least_half_of_it():
    words = ["Rome"] * 500
    windows, counts = make_windows(wordpiece(), [words])
    assert counts.words_total == sum(len(w.words) for w in windows) == 500
    for window in windows:
        for word, (start, stop) in zip(window.words, window.pieces, strict=True):
            left, right = start - 1, len(window.input_ids) - 1 - stop
            # 32 pieces to each side, less where the sentence itself ends; one less where the middle of 64 lies.
            assert left >= min(31, word)
            assert right >= min(31, 499 - word)


@pytest.mark.parametrize(("max_length", "context"), [(2, 0), (0, 0), (-5, 0), (128, -1)])
def test_lengths_without_room_are_refused(max_length, context):
    with pytest.raises(ConfigError, match=r"max_length of at least 3 .*got max_length=-?\d+ and context=-?\d+; type"):
        make_windows(wordpiece(), [["Anna"]], max_length=max_length, context=context)
