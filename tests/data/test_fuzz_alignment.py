"""Any Unicode, any lengths: no crash, and every word scored exactly once."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlfa_adapters.data.batching import collect_words
from dlfa_adapters.data.windows import make_windows

from .tiny_tokenizers import FAMILIES

made = cache(lambda kind: FAMILIES[kind]())

# Hypothesis leaves surrogates out unless told; common words make sentences with known pieces, joined ones giants.
odd = st.text(st.characters(exclude_categories=()), max_size=12)
common = st.sampled_from(
    ["Anna", "Bobby", "Bob" + "by" * 30, "東京", "\u200b", "", "</s>", "a b", "▁", "Ġ", "\ufeff", "क्ष"]
)
sentences = st.lists(st.lists(st.one_of(common, odd), max_size=25), max_size=6)


@pytest.mark.parametrize("kind", FAMILIES)
@settings(max_examples=150, deadline=None)
@given(sentences=sentences, max_length=st.integers(3, 40), context=st.integers(0, 70))
def test_no_word_is_lost_or_scored_twice(kind, sentences, max_length, context):
    windows, counts = make_windows(made(kind), sentences, max_length=max_length, context=context)
    scored = sum(len(window.words) for window in windows)
    assert counts.words_total == scored == sum(map(len, sentences))
    assert counts.n_windows == len(windows)
    assert counts.n_vanished + counts.n_unk_only <= scored
    for window in windows:
        assert len(window.input_ids) <= max_length
        assert window.words == tuple(range(window.words[0], window.words[-1] + 1))
        for start, stop in window.pieces:
            assert 0 <= start < stop <= len(window.input_ids)
        assert all(a[1] <= b[0] for a, b in zip(window.pieces, window.pieces[1:], strict=False))
    words = [[(w.sentence, i) for i in w.words] for w in windows]
    gold = [[(s, i) for i in range(len(sentence))] for s, sentence in enumerate(sentences)]
    assert collect_words(windows, words, [len(sentence) for sentence in sentences]) == gold


@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=60),
    max_length=st.integers(8, 24),
    context=st.integers(0, 30),
)
def test_the_scoring_window_is_the_one_furthest_from_an_edge(sizes, max_length, context):
    """Against a plain search over all windows that hold the word."""
    sentence = ["Bob" + "by" * (size - 1) for size in sizes]
    room = max_length - 2
    sizes = [min(size, room) for size in sizes]
    windows, _ = make_windows(made("wordpiece"), [sentence], max_length=max_length, context=context)
    starts = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    bodies = []  # where in the sentence each window begins and ends, from the place of a word it scores
    for window in windows:
        begin = starts[window.words[0]] - (window.pieces[0][0] - 1)
        bodies.append((begin, begin + len(window.input_ids) - 2))
    for window, (begin, end) in zip(windows, bodies, strict=True):
        for i in window.words:
            chosen = distance(begin, end, starts[i], starts[i + 1], starts[-1])
            held = [b for b in bodies if b[0] <= starts[i] and starts[i + 1] <= b[1]]
            assert chosen == max(distance(*b, starts[i], starts[i + 1], starts[-1]) for b in held)


def distance(begin, end, start, stop, length):
    left = start - begin if begin > 0 else length
    right = end - stop if end < length else length
    return min(left, right)
