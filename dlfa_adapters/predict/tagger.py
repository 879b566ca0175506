"""Tagging words with a trained model: every word of every sentence gets exactly one tag."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.pooling import Pooling, check_pooling, collect_words, pool_batch
from dlfa_adapters.data.windows import make_windows
from dlfa_adapters.predict.batches import batch_logits
from dlfa_adapters.predict.languages import UsesLanguages


class Tagger(UsesLanguages):
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
        self.model, self.tokenizer, self.labels = model.eval(), tokenizer, list(labels)
        self.max_length, self.context, self.pooling = max_length, context, pooling
        self.counts: AlignmentCounts | None = None

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
        windows, self.counts = make_windows(self.tokenizer, sentences, max_length=self.max_length, context=self.context)
        pad = self.tokenizer.pad_token_id
        found = [
            (batch, pool_batch(logits, [windows[i].pieces for i in batch], self.pooling).argmax(-1))
            for batch, logits in batch_logits(self.model, windows, pad, max_tokens, on_progress)
        ]
        labels: list[list[str]] = [[] for _ in windows]
        for batch, best in found:
            ids = iter(best.tolist())
            for i in batch:
                labels[i] = [self.labels[next(ids)] for _ in windows[i].words]
        return collect_words(windows, labels, [len(sentence) for sentence in sentences])
