"""An exported tagger."""

from collections.abc import Sequence
from typing import Any

from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.kinds.onnx_model import OnnxModel


class OnnxTagger(OnnxModel):
    """Tags words; see `OnnxModel`."""

    def predict(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """A tag for every word of every sentence, in the order given."""
        sizes = {name: self.about[name] for name in ("max_length", "context")}
        windows, _ = make_windows(self.tokenizer, sentences, **sizes)
        tags = [[""] * len(sentence) for sentence in sentences]
        for number, scores in self.run([window.input_ids for window in windows]):
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


load = OnnxTagger
