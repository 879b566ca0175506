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
from importlib import import_module
from pathlib import Path
from typing import Any


def load(file: str | Path, **options: Any) -> Any:
    """Load a model that `dlfa export` wrote.

    Args:
        file: The `.onnx` file.
        **options: See `OnnxModel`.

    Returns:
        An `OnnxTagger`, an `OnnxClassifier` or an `OnnxParser`, of the module here that is called as its kind of task.
    """
    kind = json.loads(Path(file).with_suffix(".json").read_text("utf-8"))["kind"]
    return import_module(f"{__name__}.{kind}").load(file, **options)
