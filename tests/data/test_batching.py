"""Batches, padding, pooling and labels of pieces."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlfa_adapters.data.batching import collect_words, pad_batch, piece_labels, pool_batch, pool_pieces
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.ground.errors import ConfigError, RunError

from .tiny_tokenizers import wordpiece


def test_batches_of_similar_length_longest_first():
    assert token_budget_batches([3, 9, 1, 4, 9], max_tokens=18) == [[1, 4], [3, 0, 2]]
    assert token_budget_batches([3, 9, 1, 4, 9], max_tokens=18, max_items=1) == [[1], [4], [3], [0], [2]]
    assert token_budget_batches([50, 2], max_tokens=10) == [[0], [1]]  # too long for the budget: alone
    assert token_budget_batches([], max_tokens=10) == []


@given(st.lists(st.integers(0, 200)), st.integers(1, 600), st.one_of(st.none(), st.integers(1, 20)))
def test_every_item_is_in_one_batch_and_no_batch_exceeds_the_budget(lengths, max_tokens, max_items):
    batches = token_budget_batches(lengths, max_tokens, max_items)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= max_tokens
        assert max_items is None or len(batch) <= max_items
    longest = [lengths[i] for batch in batches for i in batch]
    assert longest == sorted(lengths, reverse=True)


@pytest.mark.parametrize(("max_tokens", "max_items"), [(0, None), (-1, 3), (10, 0)])
def test_limits_below_one_are_refused(max_tokens, max_items):
    with pytest.raises(ConfigError, match=r"at least 1, got .*; type max_tokens=8192"):
        token_budget_batches([1], max_tokens, max_items)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_on_the_right_whatever_the_tokenizer_says(side):
    tokenizer = wordpiece()
    tokenizer.padding_side = side
    windows, _ = make_windows(tokenizer, [["Anna", "met"], ["Bob"]])
    labels = [piece_labels(w, [5, 6]) for w in windows]
    batch = pad_batch(windows, tokenizer.pad_token_id, labels=labels)
    assert batch["input_ids"].tolist() == [[2, 4, 5, 3], [2, 6, 3, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    assert batch["labels"].tolist() == [[-100, 5, 6, -100], [-100, 5, -100, -100]]
    assert "token_type_ids" not in batch


def test_padding_without_a_pad_token_and_without_items():
    batch = pad_batch([Window(0, [7, 7], (), ()), Window(1, [7], (), ())], None)
    assert batch["input_ids"].tolist() == [[7, 7], [7, 0]]
    assert pad_batch([], 0)["input_ids"].shape == (0, 0)


SCORES = torch.tensor([[0.0, 9.0], [1.0, 2.0], [3.0, 4.0], [8.0, 0.0], [7.0, 7.0]])
PIECES = [(1, 3), (3, 4)]


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [("first", [[1, 2], [8, 0]]), ("last", [[3, 4], [8, 0]]), ("mean", [[2, 3], [8, 0]])],
)
def test_pooling(pooling, expected):
    assert pool_pieces(SCORES, PIECES, pooling).tolist() == expected


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_a_batch_is_pooled_like_its_windows(pooling):
    scores = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    pieces = [PIECES, [], [(0, 5)]]
    one_by_one = [pool_pieces(row, words, pooling) for row, words in zip(scores, pieces, strict=True)]
    torch.testing.assert_close(pool_batch(scores, pieces, pooling), torch.cat(one_by_one))
    assert pool_batch(scores, [[], [], []], pooling).shape == (0, 4)


def test_mean_pooling_has_gradients():
    scores = SCORES.clone().requires_grad_()
    pool_pieces(scores, PIECES, "mean").sum().backward()
    assert scores.grad[:, 0].tolist() == [0, 0.5, 0.5, 1, 0]


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("first", [-100, -100, 6, -100, 7, -100]),
        ("last", [-100, -100, -100, 6, 7, -100]),
        ("mean", [-100, -100, 6, 6, 7, -100]),
    ],
)
def test_labels_sit_where_the_word_is_scored_and_context_has_none(pooling, expected):
    window = Window(0, [2, 4, 6, 7, 5, 3], words=(1, 2), pieces=((2, 4), (4, 5)))  # word 0 is context
    assert piece_labels(window, [5, 6, 7], pooling) == expected


def test_every_word_of_a_long_sentence_is_learnt_from_once():
    windows, _ = make_windows(wordpiece(), [["Bobby", "met"] * 20], max_length=16)
    assert len(windows) > 2
    labels = [label for w in windows for label in piece_labels(w, list(range(40))) if label != -100]
    assert sorted(labels) == list(range(40))


def test_an_unknown_pooling_is_refused():
    with pytest.raises(ConfigError, match=r"expected pooling first, last or mean, got 'max'; type pooling='first'"):
        pool_pieces(SCORES, PIECES, "max")
    with pytest.raises(ConfigError, match=r"got 'max'"):
        piece_labels(Window(0, [1], (), ()), [], "max")


def test_a_missing_or_repeated_window_is_an_error():
    windows, _ = make_windows(wordpiece(), [["Rome"] * 10], max_length=6)
    rows = [["O"] * len(w.words) for w in windows]
    with pytest.raises(RunError, match=r"one score for each of 10 words, got 7"):
        collect_words(windows[1:], rows[1:], [10])
    with pytest.raises(RunError, match=r"one score for each of 10 words, got 13"):
        collect_words([windows[0], *windows], [rows[0], *rows], [10])
    with pytest.raises(RunError, match=r"got 10"):  # as many, but not the same
        collect_words([*windows[:-1], windows[0]], [*rows[:-1], rows[0]], [10])


def test_order_is_restored_through_batches():
    sentences = [["Rome"] * n for n in (5, 0, 30, 1, 17)]
    windows, _ = make_windows(wordpiece(), sentences, max_length=12)
    rows: dict[int, list[tuple[int, int]]] = {}
    for batch in token_budget_batches([len(w.input_ids) for w in windows], max_tokens=40):
        for i in batch:
            rows[i] = [(windows[i].sentence, word) for word in windows[i].words]
    collected = collect_words(windows, [rows[i] for i in range(len(windows))], [len(s) for s in sentences])
    assert collected == [[(s, word) for word in range(len(words))] for s, words in enumerate(sentences)]
    assert np.sum([len(row) for row in collected]) == 53


def test_a_batch_that_is_large_enough_takes_no_shorter_items():
    lengths = [10, 10, 9, 8, 8, 7, 7, 7, 1]
    assert token_budget_batches(lengths, 1000) == [list(range(9))]
    assert token_budget_batches(lengths, 1000, enough=20) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert token_budget_batches(lengths, 1000, enough=30) == [[0, 1, 2], [3, 4, 5, 6], [7, 8]]
