"""Texts and pairs of texts for an encoder, and a label for each from its logits; what is cut off is counted."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.alignment import check_texts
from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.data.pairs import check_pairs, encode_texts
from dlfa_adapters.data.sentences import check_splitter, cut_documents
from dlfa_adapters.data.windows import Window
from dlfa_adapters.kinds.encoded import Encoded, FoundScores, Predictor, Row, batch_logits


class Texts(Encoded):
    """Texts or pairs of texts; see `data.pairs.encode_texts` for the arguments."""

    def __init__(
        self,
        tokenizer: Any,
        texts: Sequence[str],
        text_pairs: Sequence[str | None] | None,
        labels: Sequence[str],
        max_length: int,
    ) -> None:
        self.items, self.counts = encode_texts(tokenizer, texts, text_pairs, max_length=max_length)
        self.rows, self.labels = self.items, labels
        self.words = [[""] for _ in self.items]
        self.windows = [Window(i, item.input_ids, (0,), ((0, 1),)) for i, item in enumerate(self.items)]

    def collect(self, found: FoundScores) -> list[str]:
        """A label for every text."""
        labels = [""] * len(self.items)
        for rows, best in list(found):
            for i, id_ in zip(rows, best.tolist(), strict=True):
                labels[i] = self.labels[id_]
        return labels

    def labelled(self, gold: Sequence[Any]) -> list[Row]:
        """A label for each text."""
        label2id = {label: i for i, label in enumerate(self.labels)}
        return [
            Row(item.input_ids, item.token_type_ids, label2id.get(label, IGNORED))
            for item, label in zip(self.items, gold, strict=True)
        ]

    def tags(self, gold: Sequence[Any]) -> list[list[str]]:
        """See `Encoded`."""
        return [[label] for label in gold]


class Classifier(Predictor):
    """A model with an active classification head, and how texts are cut for it.

    Args:
        model: A model whose forward gives `logits`, (batch, labels).
        tokenizer: Its fast tokenizer.
        labels: Label names by id.
        max_length: Most pieces of a text or pair, special ones included.
        pair: Whether the model was trained on pairs, so that single texts are refused; None where that is not known.
        first_sentences: How many sentences of a document it reads, see `data.sentences.cut_documents`; None: all.

    Attributes:
        counts: What the length limit did to the texts of the call of `predict` that began last, in whatever thread.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        *,
        max_length: int = 128,
        pair: bool | None = None,
        first_sentences: int | None = None,
    ) -> None:
        super().__init__(model, tokenizer, labels)
        check_splitter(first_sentences)
        self.max_length, self.pair, self.first_sentences = max_length, pair, first_sentences

    def encode(self, inputs: Sequence[Any]) -> Texts:
        """Texts, each with the second one or None; of all of them or of none."""
        return self._texts(*columns_of(inputs))

    def _texts(self, texts: Sequence[str], text_pairs: Sequence[str] | None, language: str | None = None) -> Texts:
        check_pairs(self.pair, text_pairs is not None)
        check_texts(texts)
        languages = [language or self.language] * len(texts)
        cut = cut_documents(texts, text_pairs, self.first_sentences, languages)
        return Texts(self.tokenizer, *cut, self.labels, self.max_length)

    @torch.no_grad()
    def predict(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        language: str | None = None,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Label texts, or pairs of texts.

        Args:
            texts: First or only texts.
            text_pairs: Second texts, as many; None for single texts.
            language: Their language, for a model that reads the first sentences of documents alone.
            max_tokens: Positions in a batch, padding included; the default depends on the device.
            on_progress: Called with the number of texts that were just done.

        Returns:
            A label for every text or pair, in the order given.

        Raises:
            DataError: If pairs come to a model of single texts or the other way round, there are not as many second
                texts as first ones, or a string comes in the place of a list.
        """
        encoded = self._texts(texts, text_pairs, language)
        self.counts = encoded.counts
        return self.run(encoded, max_tokens, on_progress)

    @torch.no_grad()
    def probabilities(
        self,
        texts: Sequence[str],
        text_pairs: Sequence[str] | None = None,
        *,
        language: str | None = None,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Tensor:
        """The probability of every label for texts, or pairs of texts: the softmax of the logits, not calibrated.

        Args:
            texts: See `predict`.
            text_pairs: See `predict`.
            language: See `predict`.
            max_tokens: See `predict`.
            on_progress: See `predict`.

        Returns:
            Probabilities, (texts, labels), in the order of `labels`; `predict` gives the label with the highest.

        Raises:
            DataError: See `predict`.
        """
        encoded = self._texts(texts, text_pairs, language)
        self.counts = encoded.counts
        pad = self.tokenizer.pad_token_id
        batches = list(batch_logits(self.model, encoded, pad, max_tokens, on_progress))
        logits = torch.empty(len(encoded.items), len(self.labels))
        for batch, part in batches:
            logits[batch] = part.float().cpu()
        return logits.softmax(-1)


def columns_of(inputs: Sequence[tuple[str, str | None]]) -> tuple[list[str], list[str] | None]:
    """The first or only texts, and the second ones; None where no text has one."""
    first, second = [text for text, _ in inputs], [pair for _, pair in inputs]
    return first, None if all(pair is None for pair in second) else [pair or "" for pair in second]
