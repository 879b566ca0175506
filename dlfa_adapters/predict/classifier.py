"""Labels of texts and of pairs of texts with a trained model; what the length limit cuts off is counted."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.pairs import TruncationCounts, check_pairs, encode_texts
from dlfa_adapters.predict.batches import batch_logits
from dlfa_adapters.predict.languages import UsesLanguages


class Classifier(UsesLanguages):
    """A model with an active classification head, and how texts are cut for it.

    Args:
        model: A model whose forward gives `logits`, (batch, labels).
        tokenizer: Its fast tokenizer.
        labels: Label names by id.
        max_length: Most pieces of a text or pair, special ones included.
        pair: Whether the model was trained on pairs, so that single texts are refused; None where that is not known.

    Attributes:
        counts: What the length limit did to the texts of the call of `predict` that began last, in whatever thread.
    """

    def __init__(
        self, model: Any, tokenizer: Any, labels: Sequence[str], *, max_length: int = 128, pair: bool | None = None
    ) -> None:
        self.model, self.tokenizer, self.labels = model.eval(), tokenizer, list(labels)
        self.max_length, self.pair = max_length, pair
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
            DataError: If pairs come to a model of single texts or the other way round, there are not as many second
                texts as first ones, or a string comes in the place of a list.
        """
        logits = self._logits(texts, text_pairs, max_tokens, on_progress)
        return [self.labels[best] for best in logits.argmax(-1).tolist()]

    @torch.no_grad()
    def probabilities(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Tensor:
        """The probability of every label for texts, or pairs of texts: the softmax of the logits, not calibrated.

        Args:
            texts: See `predict`.
            text_pairs: See `predict`.
            max_tokens: See `predict`.
            on_progress: See `predict`.

        Returns:
            Probabilities, (texts, labels), in the order of `labels`; `predict` gives the label with the highest.

        Raises:
            DataError: See `predict`.
        """
        return self._logits(texts, text_pairs, max_tokens, on_progress).softmax(-1)

    def _logits(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None,
        max_tokens: int | None,
        on_progress: Callable[[int], None] | None,
    ) -> Tensor:
        """The logits of all items in the order given, (texts, labels), on the CPU."""
        check_pairs(self.pair, text_pairs is not None)
        items, self.counts = encode_texts(self.tokenizer, texts, text_pairs, max_length=self.max_length)
        found = list(batch_logits(self.model, items, self.tokenizer.pad_token_id, max_tokens, on_progress))
        logits = torch.empty(len(items), len(self.labels))
        for batch, part in found:
            logits[batch] = part.float().cpu()
        return logits
