"""A model that parses, as a user calls it."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dlfa_adapters.data.alignment import check_sentences
from dlfa_adapters.data.windows import Pooling, check_pooling
from dlfa_adapters.ground.errors import DataError
from dlfa_adapters.kinds.encoded import Predictor
from dlfa_adapters.kinds.parsing.encode import Trees
from dlfa_adapters.kinds.parsing.tree import Arc
from dlfa_adapters.kinds.parsing.upos import TaggedWords, check_tagger, with_parts_of_speech


class Parser(Predictor):
    """A model with an active parsing head, and how words are cut for it.

    Args:
        model: A model whose forward gives scores of arcs and relations, see `Trees.best`.
        tokenizer: Its fast tokenizer.
        labels: Relations by id.
        max_length: Pieces in a window, special ones included.
        context: Pieces that neighbouring windows share.
        pooling: Which pieces speak for a word: `first`, `last` or all (`mean`).
        upos: Which parts of speech it reads, see `upos.with_parts_of_speech`.
        greedy: Take the best head of each word, also where these make no tree.

    Raises:
        ConfigError: If `upos` is a model that says other tags.

    Attributes:
        counts: What the tokenizer did to the words of the call of `predict` that began last, in whatever thread.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        *,
        max_length: int = 512,
        context: int = 64,
        pooling: Pooling = "first",
        upos: Any = None,
        greedy: bool = False,
    ) -> None:
        check_pooling(pooling)
        check_tagger(upos)
        super().__init__(model, tokenizer, labels)
        self.max_length, self.context, self.pooling = max_length, context, pooling
        self.upos, self.greedy = upos, greedy

    def encode(self, inputs: Sequence[Any]) -> Trees:
        """Sentences of words in windows, with the parts of speech that the model reads."""
        return self.encode_completed(self.completed(inputs))

    def completed(self, inputs: Sequence[TaggedWords]) -> list[TaggedWords]:
        """Sentences with the parts of speech that the model reads."""
        if not isinstance(self.upos, str | None):
            self.upos.model.to(self.model.device)
        return with_parts_of_speech(inputs, self.upos)

    def encode_completed(self, inputs: Sequence[TaggedWords]) -> Trees:
        """See `encode`, of what `completed` gave."""
        encoded = Trees(self.tokenizer, inputs, self.labels, self.max_length, self.context, self.pooling)
        encoded.greedy = self.greedy
        return encoded

    @torch.no_grad()
    def predict(
        self,
        sentences: Sequence[Sequence[str]],
        upos: Sequence[Sequence[str]] | None = None,
        *,
        max_tokens: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[list[Arc]]:
        """Parse sentences of words; `data.words.split_words` makes words of running text.

        Args:
            sentences: Words of each sentence; an empty one gets no arcs.
            upos: Parts of speech of each, for a parser that was trained with them.
            max_tokens: Positions in a batch, padding included; the default depends on the device.
            on_progress: Called with the number of windows that were just done.

        Returns:
            A head and a relation for every word, in the order given; heads count the words of the sentence from 1, and
            0 is the root. Each sentence has one root, and no cycle.

        Raises:
            DataError: If a sentence is a text and no list of words, a word is no string, or the parser reads parts of
                speech and a word has none.
        """
        encoded = self.encode(tagged(sentences, upos))
        self.counts = encoded.counts
        return self.run(encoded, max_tokens, on_progress)


def tagged(sentences: Sequence[Sequence[str]], upos: Sequence[Sequence[str]] | None) -> list[TaggedWords]:
    """Words with parts of speech, or with none.

    Raises:
        DataError: See `Parser.predict`.
    """
    check_sentences(sentences)
    if upos is None:
        return [TaggedWords(tuple(words), ("_",) * len(words)) for words in sentences]
    if list(map(len, sentences)) != list(map(len, upos)):
        raise DataError("expected a part of speech for each word of each sentence, but their numbers differ.")
    return [TaggedWords(tuple(words), tuple(names)) for words, names in zip(sentences, upos, strict=True)]
