"""An exported classifier."""

from collections.abc import Sequence

from dlfa_adapters.data.alignment import check_texts, ids_of_texts
from dlfa_adapters.data.backend import clean, plain_backend
from dlfa_adapters.kinds.onnx_model import OnnxModel


class OnnxClassifier(OnnxModel):
    """Labels texts or pairs of texts; see `OnnxModel`."""

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
        for number, scores in self.run(rows, {"token_type_ids": [e.type_ids or [0] for e in encodings]}):
            labels[number] = self.labels[int(scores.argmax())]
        return labels


load = OnnxClassifier
