"""An exported model in numpy and onnxruntime: rows of pieces go through it, whatever kind of task it is for."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from dlfa_adapters.data.budget import token_budget_batches

MAX_TOKENS, ENOUGH = 512, 128
"""Most positions in a batch, padding included, and from how many on its rows are of like lengths. More for a GPU."""


class FastTokenizer:
    """What the windows ask of a tokenizer of Transformers: a `tokenizer.json`, and ids of special tokens by name."""

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
        self.outputs = [output.name for output in self.session.get_outputs()]

    def run(
        self, rows: Sequence[Sequence[int]], others: Mapping[str, Sequence[Sequence[int]]] | None = None
    ) -> Iterator[Any]:
        """What the model computes of rows of pieces, in batches of similar length.

        Args:
            rows: The pieces of each row, special tokens included.
            others: Further inputs by name, each with numbers for each row, padded with 0; those that the model does not
                take are left out.

        Yields:
            Index of a row and its outputs, each row once: an array, or a tuple of them where there are several.
        """
        pad = self.about["special_ids"].get("pad", 0)
        taken = {name: values for name, values in (others or {}).items() if name in self.about["inputs"]}
        for batch in token_budget_batches([len(row) for row in rows], MAX_TOKENS, enough=ENOUGH):
            given = {
                "input_ids": _padded([rows[i] for i in batch], pad),
                "attention_mask": _padded([[1] * len(rows[i]) for i in batch], 0),
                **{name: _padded([values[i] for i in batch], 0) for name, values in taken.items()},
            }
            found = self.session.run(self.outputs, given)
            yield from zip(batch, found[0] if len(found) == 1 else zip(*found, strict=True), strict=True)


def _padded(rows: Sequence[Sequence[int]], filling: int) -> Any:
    batch = np.full((len(rows), max(map(len, rows))), filling, dtype=np.int64)
    for row, values in zip(batch, rows, strict=True):
        row[: len(values)] = values
    return batch
