"""A model that `dlfa export` wrote, used without PyTorch: numpy, onnxruntime and tokenizers are all it needs.

This folder stands beside the model and is yours to copy, to read and to change:

    from dlfa_onnx import load

    tagger = load("ner.onnx")
    tagger.predict([["Amina", "alisafiri", "hadi", "Kigali", "."]])

Words are cut into pieces, and long sentences into windows, by the modules beside this one, which are those of
dlfa_adapters; so every word gets exactly one tag, the one that `dlfa predict` gives it. `words.split_words`, which
makes words of running text, needs the package regex besides.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from dlfa_adapters.data.alignment import check_texts, ids_of_texts
from dlfa_adapters.data.backend import clean, plain_backend
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.windows import Window, make_windows

MAX_TOKENS, ENOUGH = 512, 128
"""Most positions in a batch, padding included, and from how many on its rows are of like lengths. More for a GPU."""


class FastTokenizer:
    """What the windows ask of a tokenizer of Transformers, from a `tokenizer.json` alone.

    Args:
        file: The file.
        special_ids: Ids of the special tokens that it has, by name.
    """

    is_fast = True

    def __init__(self, file: Path, special_ids: dict[str, int]) -> None:
        self.backend_tokenizer = Tokenizer.from_file(str(file))
        for name in ("unk", "mask", "pad", "eos", "cls", "sep", "bos"):
            setattr(self, f"{name}_token_id", special_ids.get(name))


class OnnxModel:
    """An exported model and what was written beside it.

    Args:
        file: The `.onnx` file; a JSON file of the same name and `tokenizer.json` stand beside it.
        **options: Of `onnxruntime.InferenceSession`, such as `providers=["CUDAExecutionProvider"]`.
    """

    def __init__(self, file: str | Path, **options: Any) -> None:
        file = Path(file)
        self.about: dict[str, Any] = json.loads(file.with_suffix(".json").read_text("utf-8"))
        self.labels: list[str] = self.about["labels"]
        self.tokenizer = FastTokenizer(file.parent / "tokenizer.json", self.about["special_ids"])
        self.session = onnxruntime.InferenceSession(file, **options)

    def logits(self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> Iterator[Any]:
        """The logits of rows of pieces, in batches of similar length.

        Args:
            rows: The pieces of each row, special tokens included.
            types: 0 for the first text and 1 for the second, as many; None where the encoder takes none.

        Yields:
            Index of a row and its logits, each row once.
        """
        pad = self.about["special_ids"].get("pad", 0)
        for batch in token_budget_batches([len(row) for row in rows], MAX_TOKENS, enough=ENOUGH):
            longest = len(rows[batch[0]])
            given = {
                "input_ids": _padded([rows[i] for i in batch], longest, pad),
                "attention_mask": _padded([[1] * len(rows[i]) for i in batch], longest, 0),
            }
            if "token_type_ids" in self.about["inputs"]:
                given["token_type_ids"] = _padded([types[i] if types else [] for i in batch], longest, 0)
            yield from zip(batch, self.session.run(["logits"], given)[0], strict=True)


class OnnxTagger(OnnxModel):
    """Tags words; see `OnnxModel`."""

    kind = "tagging"

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """A tag for every word of every sentence, in the order given."""
        sizes = {name: self.about[name] for name in ("max_length", "context")}
        windows, _ = make_windows(self.tokenizer, sentences, **sizes)
        tags = [[""] * len(sentence) for sentence in sentences]
        for number, scores in self.logits([window.input_ids for window in windows]):
            window = windows[number]
            for word, best in zip(window.words, self._best(scores, window), strict=True):
                tags[window.sentence][word] = self.labels[best]
        return tags

    def _best(self, scores: Any, window: Window) -> list[int]:
        """The best label of each word that is scored in a window."""
        pooling = self.about["pooling"]
        if pooling == "mean":
            rows = [scores[start:stop].mean(0) for start, stop in window.pieces]
        else:
            rows = [scores[start if pooling == "first" else stop - 1] for start, stop in window.pieces]
        return [int(row.argmax()) for row in rows]


class OnnxClassifier(OnnxModel):
    """Labels texts or pairs of texts; see `OnnxModel`."""

    kind = "classification"

    def predict(self, texts: Sequence[str], text_pairs: Sequence[str] | None = None) -> list[str]:
        """A label for every text or pair, in the order given; what is too long is cut off, the longer text first."""
        for given in (texts, () if text_pairs is None else text_pairs):
            check_texts(given)
        backend = plain_backend(self.tokenizer)
        backend.enable_truncation(self.about["max_length"], strategy="longest_first")
        first, second = map(clean, texts), map(clean, () if text_pairs is None else text_pairs)
        items = list(first) if text_pairs is None else list(zip(first, second, strict=True))
        encodings = backend.encode_batch(items)
        labels = [""] * len(items)
        rows = ids_of_texts(self.tokenizer, encodings)
        for number, scores in self.logits(rows, [e.type_ids or [0] for e in encodings]):
            labels[number] = self.labels[int(scores.argmax())]
        return labels


def load(file: str | Path, **options: Any) -> Any:
    """Load a model that `dlfa export` wrote.

    Args:
        file: The `.onnx` file.
        **options: See `OnnxModel`.

    Returns:
        An `OnnxTagger` or an `OnnxClassifier`.
    """
    kind = json.loads(Path(file).with_suffix(".json").read_text("utf-8"))["kind"]
    [cls] = [cls for cls in (OnnxTagger, OnnxClassifier) if cls.kind == kind]
    return cls(file, **options)


def _padded(rows: Sequence[Sequence[int]], longest: int, filling: int) -> Any:
    batch = np.full((len(rows), longest), filling, dtype=np.int64)
    for row, values in zip(batch, rows, strict=True):
        row[: len(values)] = values
    return batch
