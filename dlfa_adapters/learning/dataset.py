"""From data to rows for Trainer, and from its logits back to a tag for every word or a label for every text."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dlfa_adapters.data.batching import pad_batch
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.data.pooling import IGNORED, collect_words, piece_labels, pool_batch
from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.scores.metrics import metrics_for
from dlfa_adapters.tasks import Task


class Row(NamedTuple):
    """An item of a batch.

    Attributes:
        input_ids: Pieces, special ones included.
        token_type_ids: See `EncodedText`.
        labels: A label id a piece, or one for the text.
    """

    input_ids: list[int]
    token_type_ids: list[int] | None
    labels: list[int] | int


class Examples(ABC):
    """Data as rows, with their gold labels. A text is also a sentence of one word, which has its label for a tag.

    Args:
        task: The task, with the labels of the head.
        gold: Gold tags of each sentence, or the gold label of each text.
        words: Words of each sentence.
        tags: Their gold tags.

    Attributes:
        rows: What Trainer batches; a window of a sentence, or a text.
        windows: The words that are scored in each row, and their pieces.
    """

    windows: list[Window]

    def __init__(self, task: Task, gold: list[Any], words: list[list[str]], tags: list[list[str]]) -> None:
        self.task, self.gold, self.words, self.tags = task, gold, words, tags
        self.label2id = {label: i for i, label in enumerate(task.labels)}
        self.rows: list[Row] = []

    @abstractmethod
    def predictions(self, logits: Tensor) -> list[Any]:
        """The predicted tags of each sentence, or label of each text, from the logits of all rows in their order."""

    def score(self, predictions: Sequence[Any]) -> float:
        """The task's main score in percent; 0 where nothing could be scored (no entity in gold and predictions)."""
        metric = metrics_for(self.task)[0]
        result = metric.compute(predictions=predictions, references=self.gold, labels=self.task.labels)
        return round(100 * (result[metric.main_score] or 0.0), 4)


class TaggedExamples(Examples):
    """Sentences of words in windows."""

    def __init__(
        self, task: Task, tokenizer: Any, words: list[list[str]], tags: list[list[str]], settings: Settings
    ) -> None:
        super().__init__(task, tags, words, tags)
        self.pooling = settings.head.pooling
        self.windows, _ = make_windows(
            tokenizer, words, max_length=settings.text.max_length, context=settings.text.context
        )
        for window in self.windows:
            ids = [self.label2id.get(tag, IGNORED) for tag in tags[window.sentence]]
            labels = piece_labels(window, ids, self.pooling)  # type: ignore[arg-type]
            self.rows.append(Row(window.input_ids, None, labels))

    def predictions(self, logits: Tensor) -> list[list[str]]:
        """A tag for every word; (rows, seq, labels)."""
        pieces = [window.pieces for window in self.windows]
        best = iter(pool_batch(logits, pieces, self.pooling).argmax(-1).tolist())  # type: ignore[arg-type]
        tags = [[self.task.labels[next(best)] for _ in window.words] for window in self.windows]
        return collect_words(self.windows, tags, [len(sentence) for sentence in self.words])


class TextExamples(Examples):
    """Texts or pairs of texts."""

    def __init__(
        self,
        task: Task,
        tokenizer: Any,
        texts: list[str],
        text_pairs: list[str] | None,
        labels: list[str],
        settings: Settings,
    ) -> None:
        super().__init__(task, labels, [[""] for _ in labels], [[label] for label in labels])
        items, _ = encode_texts(tokenizer, texts, text_pairs, max_length=settings.text.max_length)
        self.rows = [
            Row(item.input_ids, item.token_type_ids, self.label2id.get(label, IGNORED))
            for item, label in zip(items, labels, strict=True)
        ]
        self.windows = [Window(i, item.input_ids, (0,), ((0, 1),)) for i, item in enumerate(items)]

    def predictions(self, logits: Tensor) -> list[str]:
        """A label for every text; (rows, labels)."""
        return [self.task.labels[i] for i in logits.argmax(-1).tolist()]


def make_examples(task: Task, dataset: Any, tokenizer: Any, settings: Settings) -> Examples:
    """Rows of a dataset with the columns of `load_source`."""
    if task.kind == "tagging":
        return TaggedExamples(task, tokenizer, list(dataset["words"]), list(dataset["tags"]), settings)
    pairs = list(dataset["text_pair"])
    second = [pair or "" for pair in pairs] if any(pair is not None for pair in pairs) else None
    return TextExamples(task, tokenizer, list(dataset["text"]), second, list(dataset["label"]), settings)


def labels_in(predictions: Sequence[Any]) -> int:
    """How many different tags or labels some predictions have."""
    return len({tag for tags in predictions for tag in ([tags] if isinstance(tags, str) else tags)})


def label_counts(dataset: Any, kind: str) -> Counter[str]:
    """How often each label occurs."""
    if kind == "tagging":
        return Counter(tag for tags in dataset["tags"] for tag in tags)
    return Counter(dataset["label"])


def data_fingerprint(dataset: Any) -> str:
    """A hash of all that training reads of a dataset, wherever it came from."""
    digest = hashlib.sha256()
    columns = [name for name in ("language", "words", "tags", "text", "text_pair", "label") if name in dataset.features]
    for row in zip(*(dataset[name] for name in columns), strict=True):
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


class Collator:
    """Pads rows to the longest of a batch.

    Args:
        pad_token_id: The tokenizer's.
    """

    def __init__(self, pad_token_id: int | None) -> None:
        self.pad_token_id = pad_token_id

    def __call__(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """`input_ids`, `attention_mask`, `labels`, and `token_type_ids` where the rows have them."""
        if isinstance(rows[0].labels, int):
            batch = pad_batch(rows, self.pad_token_id)
            batch["labels"] = torch.tensor([row.labels for row in rows], dtype=torch.long)
            return batch
        return pad_batch(rows, self.pad_token_id, labels=[row.labels for row in rows])  # type: ignore[misc]
