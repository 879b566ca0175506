"""Labels of texts and of pairs of texts with a trained model; what the length limit cuts off is counted."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dlfa_adapters.data.batching import pad_batch, token_budget_batches
from dlfa_adapters.data.pairs import TruncationCounts, encode_texts


class Classifier:
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
        max_tokens: int = 4096,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Label texts, or pairs of texts.

        Args:
            texts: First or only texts.
            text_pairs: Second texts, as many; None for single texts.
            max_tokens: Positions in a batch, padding included.
            on_progress: Called with the number of texts that were just done.

        Returns:
            A label for every text or pair, in the order given.

        Raises:
            DataError: If there are not as many second texts as first ones.
        """
        items, self.counts = encode_texts(self.tokenizer, texts, text_pairs, max_length=self.max_length)
        labels = [""] * len(items)
        for batch in token_budget_batches([len(item.input_ids) for item in items], max_tokens):
            inputs = pad_batch([items[i] for i in batch], self.tokenizer.pad_token_id)
            logits = self.model(**{name: tensor.to(self.model.device) for name, tensor in inputs.items()}).logits
            for i, best in zip(batch, logits.argmax(-1).tolist(), strict=True):
                labels[i] = self.labels[best]
            if on_progress is not None:
                on_progress(len(batch))
        return labels
