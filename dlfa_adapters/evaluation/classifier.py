"""Labels of texts and of pairs of texts with a trained model; what the length limit cuts off is counted."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dlfa_adapters.data.pairs import TruncationCounts, encode_texts
from dlfa_adapters.evaluation.batches import batch_logits
from dlfa_adapters.evaluation.languages import UsesLanguages


class Classifier(UsesLanguages):
    """A model with an active classification head, and how texts are cut for it.

    Args:
        model: A model whose forward gives `logits`, (batch, labels).
        tokenizer: Its fast tokenizer.
        labels: Label names by id.
        max_length: Most pieces of a text or pair, special ones included.

    Attributes:
        counts: What the length limit did to the texts of the last call of `predict`.
    """

    def __init__(self, model: Any, tokenizer: Any, labels: Sequence[str], *, max_length: int = 128) -> None:
        self.model, self.tokenizer, self.labels = model.eval(), tokenizer, list(labels)
        self.max_length = max_length
        self.counts: TruncationCounts | None = None

    @torch.no_grad()
    def predict(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Label texts, or pairs of texts.

        Args:
            texts: First or only texts.
            text_pairs: Second texts, as many; None for single texts.
            max_tokens: Positions in a batch, padding included; the default depends on the device.
            on_progress: Called with the number of texts that were just done.

        Returns:
            A label for every text or pair, in the order given.

        Raises:
            DataError: If there are not as many second texts as first ones.
        """
        items, self.counts = encode_texts(self.tokenizer, texts, text_pairs, max_length=self.max_length)
        pad = self.tokenizer.pad_token_id
        found = [
            (batch, logits.argmax(-1))
            for batch, logits in batch_logits(self.model, items, pad, max_tokens, on_progress)
        ]
        labels = [""] * len(items)
        for batch, best in found:
            for i, label in zip(batch, best.tolist(), strict=True):
                labels[i] = self.labels[label]
        return labels
