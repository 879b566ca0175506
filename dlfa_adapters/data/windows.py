"""Windows over long sentences: every word is scored once, in the window where it is furthest from an edge.

Wu and Dredze 2019 ("Beto, Bentz, Becas", arXiv 1904.09077) cut sentences into windows of 128 pieces that share 64 with
their neighbour. Here a window begins and ends between words, and a gold word can neither fall between two windows nor
count twice.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from dlfa_adapters.data.alignment import AlignmentCounts, WordPieces, align_words, check_sentences
from dlfa_adapters.data.backend import Specials, check_fast, plain_backend, special_tokens
from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


Pooling = Literal["first", "last", "mean"]
"""Which pieces speak for a word: its first one, its last one, or the mean of all."""


class Window(NamedTuple):
    """One row for the encoder: a sentence, or a part of a long one.

    Attributes:
        sentence: Index of the sentence.
        input_ids: The pieces, special tokens included.
        words: Indices in the sentence of the words that are scored in this window.
        pieces: For each of these words, [start, stop) of its pieces in `input_ids`.
        first: Index in the sentence of the first word that the window holds.
        held: For each word that it holds, scored here or not, [start, stop) of its pieces.
    """

    sentence: int
    input_ids: list[int]
    words: tuple[int, ...]
    pieces: tuple[tuple[int, int], ...]
    first: int = 0
    held: tuple[tuple[int, int], ...] = ()


def check_pooling(pooling: str) -> None:
    """Refuses names that are no way of pooling.

    Raises:
        ConfigError: If `pooling` is not `first`, `last` or `mean`.
    """
    if pooling not in get_args(Pooling):
        raise ConfigError(f"expected pooling first, last or mean, got {pooling!r}; type pooling='first'.")


def make_windows(
    tokenizer: "PreTrainedTokenizerFast",
    sentences: Sequence[Sequence[str]],
    *,
    max_length: int = 128,
    context: int = 64,
) -> tuple[list[Window], AlignmentCounts]:
    """Cuts sentences into windows in which every word is scored exactly once.

    Args:
        tokenizer: A fast tokenizer.
        sentences: Words of each sentence. A sentence without words gives no window and keeps its index.
        max_length: Most pieces in a window, special tokens included.
        context: Pieces that a window shares with the next, at most; never more than half of a window.

    Returns:
        The windows, in the order of the sentences, and what was counted.

    Raises:
        ConfigError: If the tokenizer is slow, or the lengths leave no room for a word.
        DataError: If a sentence is a text and no list of words, or a word is no string.
    """
    check_fast(tokenizer)
    check_sentences(sentences)
    backend = plain_backend(tokenizer)
    specials = special_tokens(backend)
    room = max_length - len(specials)
    if room < 1 or context < 0:
        raise ConfigError(
            f"expected max_length of at least {len(specials) + 1} ({len(specials)} special tokens and a piece) and "
            f"context of at least 0, got max_length={max_length} and context={context}; "
            "type max_length=128, context=64."
        )
    occurrences = Counter(chain.from_iterable(sentences))
    aligned = align_words(tokenizer, occurrences, backend)
    giants = [word for word, pieces in aligned.items() if len(pieces.ids) > room]
    for word in giants:
        aligned[word] = aligned[word].cut(room)
    windows = [
        window
        for index, sentence in enumerate(sentences)
        for window in _windows_of(index, [aligned[word] for word in sentence], specials, room, min(context, room // 2))
    ]
    counts = AlignmentCounts(
        words_total=occurrences.total(),
        n_vanished=sum(times for word, times in occurrences.items() if aligned[word].vanished),
        n_unk_only=sum(times for word, times in occurrences.items() if aligned[word].unk_only),
        n_giant=sum(occurrences[word] for word in giants),
        n_windows=len(windows),
    )
    return windows, counts


def _windows_of(index: int, words: list[WordPieces], specials: Specials, room: int, context: int) -> Iterator[Window]:
    """The windows of one sentence."""
    # Where in the sentence each word begins, and, last, where the sentence ends; in pieces.
    starts = [0, *accumulate(len(word.ids) for word in words)]
    spans = _spans(starts, room, context)
    owner = _owners(starts, spans)
    for number, (first, stop) in enumerate(spans):
        scored = tuple(i for i in range(first, stop) if owner[i] == number)
        if not scored:
            continue
        ids = [*specials.before, *(piece for word in words[first:stop] for piece in word.ids), *specials.after]
        shift = len(specials.before) - starts[first]
        held = tuple((starts[i] + words[i].marker + shift, starts[i + 1] + shift) for i in range(first, stop))
        pieces = held if len(scored) == len(held) else tuple(held[i - first] for i in scored)
        yield Window(index, ids, scored, pieces, first, held)


def _spans(starts: list[int], room: int, context: int) -> list[tuple[int, int]]:
    """Which words [first, stop) each window holds, in order; together they hold all words."""
    n_words = len(starts) - 1
    spans = []
    first = stop = 0
    while stop < n_words:
        # Begin with up to `context` pieces of the window before, fewer where the next word would not fit otherwise.
        while starts[stop] - starts[first] > context or starts[stop + 1] - starts[first] > room:
            first += 1
        while stop < n_words and starts[stop + 1] - starts[first] <= room:
            stop += 1
        spans.append((first, stop))
    if len(spans) > 1:  # the last window has room to its left
        first, stop = spans[-1]
        while starts[stop] - starts[first - 1] <= room:
            first -= 1
        spans[-1] = (first, stop)
    return spans


def _owners(starts: list[int], spans: list[tuple[int, int]]) -> list[int]:
    """The window that scores each word: where it is furthest from an edge, the earlier one if two are equal.

    The two ends of the sentence are no edges, as nothing is missing there. They need no rule of their own: of two
    windows that hold a word, the one that begins or ends with the sentence also reaches further on that side.
    """
    n_words = len(starts) - 1
    if len(spans) == 1:
        return [0] * n_words
    owner, best = [0] * n_words, [-1] * n_words
    for number, (first, stop) in enumerate(spans):
        for i in range(first, stop):
            nearest = min(starts[i] - starts[first], starts[stop] - starts[i + 1])
            if nearest > best[i]:
                owner[i], best[i] = number, nearest
    return owner
