"""Labelled texts in a file and on the terminal."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dlfa_adapters.data.readers import read_lines
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import write_lines
from dlfa_adapters.kinds.classification.classifier import Classifier, columns_of


def write_labels(path: Path, predicted: Any) -> None:
    """Write an item a line, as JSON."""
    rows = zip(predicted.ids, predicted.inputs, predicted.predicted, predicted.gold, predicted.placeholder, strict=True)
    names = ("id", "language", "text", "text_pair", "label", "gold", "placeholder")
    write_lines(
        path,
        [
            json.dumps(dict(zip(names, (id_, predicted.language, *texts, *rest), strict=True)), ensure_ascii=False)
            for id_, texts, *rest in rows
        ],
    )


def read_labels(path: Path) -> dict[str, Any]:
    """What `write_labels` wrote."""
    rows = [json.loads(line) for line in read_lines(path, Notes(path))]
    return {
        "ids": [row["id"] for row in rows],
        "inputs": [(row["text"], row["text_pair"]) for row in rows],
        "gold": [row["gold"] for row in rows],
        "placeholder": [row["placeholder"] for row in rows],
        "predicted": [row["label"] for row in rows],
    }


def answers(
    classifier: Classifier, inputs: Sequence[tuple[str, str | None]], on_progress: Callable[[int], None]
) -> list[dict[str, Any]]:
    """The most probable label of each text or pair, and the probability of every label."""
    texts, text_pairs = columns_of(inputs)
    found = classifier.probabilities(texts, text_pairs, on_progress=on_progress)
    rows = []
    for i, (best, probabilities) in enumerate(zip(found.argmax(-1).tolist(), found.tolist(), strict=True)):
        label = classifier.labels[best]
        by_label = dict(zip(classifier.labels, (round(p, 6) for p in probabilities), strict=True))
        pair = {} if text_pairs is None else {"text_pair": text_pairs[i]}
        rows.append(
            {"text": texts[i], **pair, "label": label, "probability": by_label[label], "probabilities": by_label}
        )
    return rows
