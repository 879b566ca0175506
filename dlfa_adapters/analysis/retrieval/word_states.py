"""Vectors of words from an encoder or run: each word alone, or the mean over all places where it stands in a text."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.analysis.states import Opened, each_batch
from dlfa_adapters.data.alignment import align_words
from dlfa_adapters.data.batching import pool_batch
from dlfa_adapters.data.dictionary import Matcher
from dlfa_adapters.data.vectors import WordVectors
from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.data.words import split_words
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError

_CONTEXT = 64  # pieces that windows of a long line share at most

Places = Mapping[int, Sequence[int]]
"""Which words of the list stand at a place of a sentence, by the place."""


def words_alone(
    opened: Opened, words: Sequence[str], *, language: str = "", progress: Progress | None = None
) -> WordVectors:
    """The mean state over the pieces of each word, which is all that the model reads besides its special tokens.

    Args:
        opened: The model.
        words: The words.
        language: Their language, for the progress alone.
        progress: Called after each batch.

    Returns:
        Their vectors by state; a word of which the tokenizer knows no piece has none.

    Raises:
        RunError: If the model gives states that are not finite numbers.
    """
    sentences = [[word] for word in words]
    stage = f"Words alone ({opened.name}{', ' * bool(language)}{language})"
    return _mean_states(opened, words, sentences, [{0: [i]} for i in range(len(words))], stage, progress)


def words_in_context(
    opened: Opened,
    words: Sequence[str],
    lines: Iterable[str],
    language: str,
    *,
    contexts: int | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """The mean over the places where a word stands in a text, of the mean state over its pieces there.

    Liu et al. 2020, arXiv 2004.09205, Section 3: the mean of the contextual embeddings over all contexts. Only windows
    that have one of the words in them are read by the model.

    Args:
        opened: The model.
        words: The words.
        lines: Text; `split_words` makes words of it, and `Matcher` says which of them is one of the list.
        language: Its language.
        contexts: Most places of a word, the first ones; default: all.
        progress: Called after each batch.

    Returns:
        Their vectors by state; a word that is not in the text, or of which the tokenizer knows no piece, has none.

    Raises:
        ConfigError: If `contexts` is smaller than one.
        RunError: If the model gives states that are not finite numbers.
    """
    if contexts is not None and contexts < 1:
        raise ConfigError(f"expected one context or more a word, got {contexts}; type contexts=100, or leave it out.")
    matcher, seen = Matcher(words, language), Counter[int]()
    sentences: list[list[str]] = []
    places: list[Places] = []
    for line in lines:
        sentence, at = split_words(line, language), {}
        for place, word in enumerate(sentence):
            numbers, _ = matcher(word)
            if wanted := [number for number in numbers if contexts is None or seen[number] < contexts]:
                at[place] = wanted
                seen.update(wanted)
        if at:
            sentences.append(sentence)
            places.append(at)
    stage = f"Words in context ({opened.name}, {language})"
    return _mean_states(opened, words, sentences, places, stage, progress)


def _mean_states(
    opened: Opened,
    words: Sequence[str],
    sentences: Sequence[Sequence[str]],
    places: Sequence[Places],
    stage: str,
    progress: Progress | None,
) -> WordVectors:
    """The mean of the states of each word over the places where it stands."""
    tokenizer = opened.tokenizer
    windows, numbers = _wanted(
        make_windows(tokenizer, sentences, max_length=opened.max_length, context=_CONTEXT)[0], places
    )
    totals: dict[str, Tensor] = {}
    times = torch.zeros(len(words), dtype=torch.float64)
    step = progress or (lambda stage, done, total: None)
    batches = each_batch(opened.model, windows, tokenizer.pad_token_id, lambda done: step(stage, done, len(windows)))
    for batch, states, _ in batches:
        pieces = [windows[i].pieces for i in batch]
        which = [number for i in batch for number in numbers[i]]
        # A word of the text may be several of the list, which differ in nothing that it shows.
        rows = torch.tensor([row for row, each in enumerate(which) for _ in each])
        of_list = torch.tensor([number for each in which for number in each])
        for name, state in states.items():
            of_words = pool_batch(state.float(), pieces, "mean").cpu().double()
            total = totals.setdefault(name, torch.zeros(len(words), of_words.shape[1], dtype=torch.float64))
            total.index_add_(0, of_list, of_words[rows])
        times.index_add_(0, of_list, torch.ones(len(of_list), dtype=torch.float64))
    known = align_words(tokenizer, words)
    kept = [i for i, word in enumerate(words) if times[i] and not (known[word].vanished or known[word].unk_only)]
    means = {name: (total[kept] / times[kept, None]).float() for name, total in totals.items()}
    return WordVectors({words[i]: row for row, i in enumerate(kept)}, means)


def _wanted(windows: Iterable[Window], places: Sequence[Places]) -> tuple[list[Window], list[list[Sequence[int]]]]:
    """The windows that score a word of the list, with these words alone; and which of the list each of them is."""
    kept: list[Window] = []
    numbers: list[list[Sequence[int]]] = []
    for window in windows:
        at = places[window.sentence]
        inside: list[Any] = [(w, p) for w, p in zip(window.words, window.pieces, strict=True) if w in at]
        if inside:
            kept.append(window._replace(words=tuple(w for w, _ in inside), pieces=tuple(p for _, p in inside)))
            numbers.append([at[w] for w, _ in inside])
    return kept, numbers
