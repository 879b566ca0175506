"""An exported parser."""

from collections.abc import Sequence
from typing import Any

from dlfa_adapters.data.windows import make_windows
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.onnx_model import OnnxModel
from dlfa_adapters.kinds.parsing.assemble import tree_of_windows, words_of_pieces


class OnnxParser(OnnxModel):
    """Parses sentences of words; see `OnnxModel`."""

    def predict(
        self, sentences: Sequence[Sequence[str]], upos: Sequence[Sequence[str]] | None = None, *, greedy: bool = False
    ) -> list[list[tuple[int, str]]]:
        """A head and a relation for every word of every sentence, in the order given.

        Args:
            sentences: Words of each sentence.
            upos: Universal parts of speech of each, for a parser that reads them.
            greedy: Take the best head of each word, whether or not they make a tree.

        Returns:
            For each word the number of its head, counted from 1, 0 for the root; and the relation.

        Raises:
            DataError: If the parser reads parts of speech and a word has none.
        """
        sizes = {name: self.about[name] for name in ("max_length", "context")}
        windows, _ = make_windows(self.tokenizer, sentences, **sizes)
        tags = self._upos(sentences, upos)
        held = [slice(window.first, window.first + len(window.held)) for window in windows]
        others = {
            "word_ids": [words_of_pieces(window, self.about["pooling"]) for window in windows],
            "word_mask": [[1] * len(window.held) for window in windows],
            "upos_ids": [tags[window.sentence][part] for window, part in zip(windows, held, strict=True)],
        }
        scored: list[list[Any]] = [[] for _ in sentences]
        for number, scores in self.run([window.input_ids for window in windows], others):
            scored[windows[number].sentence].append((windows[number], *scores))
        trees = [tree_of_windows(len(words), of, greedy=greedy) for words, of in zip(sentences, scored, strict=True)]
        return [[(head, self.labels[relation]) for head, relation in tree] for tree in trees]

    def _upos(self, sentences: Sequence[Sequence[str]], upos: Sequence[Sequence[str]] | None) -> list[list[int]]:
        """The id of each word's part of speech."""
        if "upos_ids" not in self.about["inputs"]:
            return [[0] * len(words) for words in sentences]
        ids = {name: number for number, name in enumerate(self.about["upos"], 1)}
        rows = [[ids.get(name, 0) for name in names] for names in upos or ()]
        if [len(row) for row in rows] != [len(words) for words in sentences] or not all(map(all, rows)):
            raise DataError(
                f"expected one of {', '.join(ids)} for each word, which this parser reads; type "
                "predict(sentences, upos)."
            )
        return rows


load = OnnxParser
