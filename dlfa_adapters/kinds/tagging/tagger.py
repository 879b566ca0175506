"""Words as windows for an encoder, and a tag for every word from its logits.

And tagged sentences on a page and on the terminal.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from dlfa_adapters.data.batching import IGNORED, collect_words, piece_labels, pool_batch
from dlfa_adapters.data.windows import Pooling, check_pooling, make_windows
from dlfa_adapters.data.words import word_offsets
from dlfa_adapters.kinds.encoded import Encoded, FoundScores, Predictor, Row
from dlfa_adapters.kinds.shown import MOST_WORDS, Segment, ShownLine, blank_between, direction, join_words
from dlfa_adapters.kinds.tagging import Span, lenient_spans


class Words(Encoded):
    """Sentences of words in windows; see `data.windows.make_windows` for the arguments."""

    by_piece: ClassVar[bool] = True

    def __init__(
        self,
        tokenizer: Any,
        sentences: Sequence[Sequence[str]],
        labels: Sequence[str],
        max_length: int = 128,
        context: int = 64,
        pooling: Pooling = "first",
    ) -> None:
        check_pooling(pooling)
        self.words, self.labels, self.pooling = cast(list[list[str]], sentences), labels, pooling
        self.windows, self.counts = make_windows(tokenizer, sentences, max_length=max_length, context=context)
        self.rows = self.windows

    def by_unit(self, rows: Sequence[int], logits: Tensor) -> Tensor:
        """See `Encoded`; those of the pieces that speak for a word."""
        return pool_batch(logits, [self.windows[i].pieces for i in rows], self.pooling)

    def collect(self, found: FoundScores) -> list[list[str]]:
        """A tag for every word."""
        tags: list[list[str]] = [[] for _ in self.windows]
        for rows, best in list(found):
            ids = iter(best.tolist())
            for i in rows:
                tags[i] = [self.labels[next(ids)] for _ in self.windows[i].words]
        return collect_words(self.windows, tags, [len(sentence) for sentence in self.words])

    def labelled(self, gold: Sequence[Any]) -> list[Row]:
        """A label at each piece that a word is scored from."""
        label2id = {label: i for i, label in enumerate(self.labels)}
        ids = [[label2id.get(tag, IGNORED) for tag in tags] for tags in gold]
        return [Row(w.input_ids, None, piece_labels(w, ids[w.sentence], self.pooling)) for w in self.windows]


class Tagger(Predictor):
    """A model with an active tagging head, and how words are cut for it.

    Args:
        model: A model whose forward gives `logits`, (batch, seq, labels).
        tokenizer: Its fast tokenizer.
        labels: Label names by id.
        max_length: Pieces in a window, special ones included.
        context: Pieces that neighbouring windows share.
        pooling: Which piece speaks for a word: `first`, `last` or `mean`.

    Attributes:
        counts: What the tokenizer did to the words of the call of `predict` that began last, in whatever thread.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        *,
        max_length: int = 128,
        context: int = 64,
        pooling: Pooling = "first",
    ) -> None:
        check_pooling(pooling)
        super().__init__(model, tokenizer, labels)
        self.max_length, self.context, self.pooling = max_length, context, pooling

    def encode(self, inputs: Sequence[Any]) -> Words:
        """Sentences of words in windows."""
        return Words(self.tokenizer, inputs, self.labels, self.max_length, self.context, self.pooling)

    @torch.no_grad()
    def predict(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[list[str]]:
        """Tag sentences of words; `data.words.split_words` makes words of running text.

        Args:
            sentences: Words of each sentence; an empty one gets no tags.
            max_tokens: Positions in a batch, padding included; the default depends on the device.
            on_progress: Called with the number of windows that were just done.

        Returns:
            A tag for every word, in the order given.

        Raises:
            DataError: If a sentence is a text and no list of words, or a word is no string.
        """
        encoded = self.encode(sentences)
        self.counts = encoded.counts
        return self.run(encoded, max_tokens, on_progress)


def span_lines(words: Sequence[str], gold: Sequence[str], predicted: Sequence[str], language: str) -> list[ShownLine]:
    """One line where the spans agree, else a line with the gold ones and a line with the model's."""
    right, guess = lenient_spans(gold), lenient_spans(predicted)
    if set(right) == set(guess):
        return [_span_line("", words, right, right, language)]
    return [
        _span_line("gold", words, right, guess, language),
        _span_line("model", words, guess, right, language),
    ]


def tag_line(words: Sequence[str], gold: Sequence[str], predicted: Sequence[str], language: str) -> ShownLine:
    """Words with the model's tags, and the gold tag where it is another one."""
    segments = [
        Segment(word, kind=guess, right=guess == right, other="" if guess == right else right)
        for word, right, guess in zip(words[:MOST_WORDS], gold, predicted, strict=False)
    ]
    return ShownLine("", segments, direction(join_words(words, language)), max(0, len(words) - MOST_WORDS))


def _span_line(role: str, words: Sequence[str], spans: list[Span], others: list[Span], language: str) -> ShownLine:
    shown = words[:MOST_WORDS]
    segments, place = [], 0

    def add(stop: int, kind: str = "", right: bool = True) -> None:
        nonlocal place
        part = shown[place:stop]
        if part:
            blank = place > 0 and blank_between(shown[place - 1], part[0], language)
            segments.append(Segment(join_words(part, language), blank, kind, right))
        place = max(place, stop)

    for span in spans:
        kind, first, last = span
        add(first)
        add(last + 1, kind or "span", span in others)
    add(len(shown))
    return ShownLine(role, segments, direction(join_words(words, language)), len(words) - len(shown))


def answer(text: str, words: list[str], tags: list[str], spans: bool) -> dict[str, object]:
    """A text with its words, their offsets and tags; and the entities with places, where the tags are of spans."""
    offsets = word_offsets(text, words)
    entities = []
    for kind, first, last in lenient_spans(tags) if spans else ():
        start, end = offsets[first][0], offsets[last][1]
        span = {"type": kind, "text": text[start:end], "start": start, "end": end, "words": words[first : last + 1]}
        entities.append(span)
    return {"text": text, "words": words, "offsets": offsets, "tags": tags, "entities": entities}
