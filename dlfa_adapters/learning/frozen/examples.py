"""Data with the frozen states of their windows: sentences of tagged words, or whatever a kind of task has for rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers.modeling_outputs import BaseModelOutput

from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.batching import IGNORED
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.data.mixture import Mixture
from dlfa_adapters.data.windows import Window, make_windows
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.states import States, ranges
from dlfa_adapters.kinds import Kind, kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.frozen.batch import Batch
from dlfa_adapters.learning.frozen.module import own_losses


@dataclass(frozen=True)
class TaggedStates:
    """Sentences, their tags, and what a frozen encoder makes of them.

    Attributes:
        words: Sentences of words.
        tags: A tag for each word.
        windows: The windows that the encoder saw; each word is scored in one of them.
        counts: What the tokenizer did to the words.
        states: The encoder's states of the windows.
    """

    words: list[list[str]]
    tags: list[list[str]]
    windows: list[Window]
    counts: AlignmentCounts
    states: States

    def batch(self, indices: Sequence[int]) -> Batch:
        """Some windows with their states."""
        states, windows = self.states, torch.tensor(indices)
        lengths = self._lengths[windows]
        first, count = self._first_word[windows], self._first_word[windows + 1] - self._first_word[windows]
        words = ranges(first, count)
        begin = (lengths.cumsum(0) - lengths).repeat_interleave(count)
        return Batch(
            states.tokens_of(indices).permute(1, 2, 0).contiguous(),
            lengths,
            (begin + self._pieces[words]).to(states.device),
            self._places[words].to(states.device),
            indices,
        )

    @property
    def mixture(self) -> Mixture | None:
        """Which windows an epoch has; None: each once."""
        return None

    def items_by_language(self) -> dict[str, list[int]]:
        """The numbers of the sentences or texts in each language, as far as that is known."""
        return {"": list(range(len(self.words)))}

    def label_ids(self, label2id: dict[str, int]) -> Tensor:
        """The label id of every word of all sentences; -100 for a tag that the task does not have; (words,)."""
        ids = [label2id.get(tag, IGNORED) for tags in self.tags for tag in tags]
        return torch.tensor(ids, dtype=torch.long, device=self.states.device)

    @cached_property
    def starts(self) -> list[int]:
        """How many words come before each sentence; one more entry than sentences."""
        return [0, *accumulate(len(sentence) for sentence in self.words)]

    @cached_property
    def _lengths(self) -> Tensor:
        """Tokens of each window."""
        return torch.tensor(self.states.lengths(), dtype=torch.long)

    @cached_property
    def _first_word(self) -> Tensor:
        """How many scored words come before each window; one more entry than windows."""
        return torch.tensor([0, *accumulate(len(window.words) for window in self.windows)])

    @cached_property
    def _pieces(self) -> Tensor:
        """The first piece of every scored word in its window, window after window."""
        return torch.tensor([start for window in self.windows for start, _ in window.pieces], dtype=torch.long)

    @cached_property
    def _places(self) -> Tensor:
        """Where every scored word, window after window, stands among all words of all sentences."""
        places = [self.starts[window.sentence] + word for window in self.windows for word in window.words]
        return torch.tensor(places, dtype=torch.long)

    def by_sentence(self, tags: Sequence[str]) -> list[list[str]]:
        """Tags of all words, in order, as tags of each sentence."""
        return [list(tags[start:stop]) for start, stop in pairwise(self.starts)]


def encode_tagged(
    model: Any,
    tokenizer: Any,
    words: list[list[str]],
    tags: list[list[str]],
    *,
    max_length: int = 128,
    context: int = 64,
    max_tokens: int | None = None,
    cache_on: str | torch.device = "cpu",
    on_progress: Callable[[int], None] | None = None,
) -> TaggedStates:
    """Cut sentences into windows and compute the frozen states of those.

    Args:
        model: The encoder.
        tokenizer: Its fast tokenizer.
        words: Sentences of words.
        tags: A tag for each word.
        max_length: Pieces in a window, special ones included.
        context: Pieces that neighbouring windows share.
        max_tokens: See `compute_states`.
        cache_on: See `compute_states`.
        on_progress: Called with the number of windows that were just done.
    """
    windows, counts = make_windows(tokenizer, words, max_length=max_length, context=context)
    pad = tokenizer.pad_token_id
    states = compute_states(model, windows, pad, max_tokens=max_tokens, cache_on=cache_on, on_progress=on_progress)
    return TaggedStates(words, tags, windows, counts, states)


@dataclass(frozen=True)
class OnStates(TaggedStates):
    """The same of data that a training has read, as a head of a model takes them: rows with their labels.

    Attributes:
        examples: The data.
    """

    examples: Examples

    @classmethod
    def of(cls, examples: Examples, states: States) -> "OnStates":
        """Data with the states of their rows."""
        words, tags, windows = examples.words, examples.tags, examples.windows
        return cls(words, tags, windows, AlignmentCounts(), states, examples)

    @property
    def mixture(self) -> Mixture | None:
        """Which rows an epoch has; None: each once."""
        return self.examples.mixture

    def items_by_language(self) -> dict[str, list[int]]:
        """The numbers of the inputs in each language."""
        return self.examples.items_by_language()

    @cached_property
    def kind(self) -> Kind:
        """The kind of the task."""
        return kind_of_task(self.examples.task)

    def batch(self, indices: Sequence[int]) -> Batch:
        """Some windows with their states, and what a head of the kind's own takes besides."""
        batch = super().batch(indices)
        return replace(batch, inputs=self._inputs(indices)) if self.kind.own_head else batch

    def _inputs(self, rows: Sequence[int]) -> dict[str, Tensor]:
        """What rows have besides their pieces, which are not read any more."""
        collated = self.examples.collator(0)([self.examples.rows[i] for i in rows])
        names = (*self.kind.head_inputs, *self.kind.label_inputs)
        return {name: collated[name].to(self.states.device) for name in names if name in collated}

    def learned(self, head: Any, rows: Sequence[int]) -> tuple[Any, Tensor, Tensor]:
        """What a `DLFAHead` makes of some rows.

        Returns:
            Logits, (rows, seq, labels), or (rows, labels) for texts, or what a head of the kind's own gives; the sum of
            the losses over the labels; and their number.
        """
        tensors, mask = self.states.batch(rows, self.states.layers)
        by_layer = dict(zip(self.states.layers, tensors, strict=True))
        top = by_layer[max(by_layer)]  # stands for the layers that there are no states of, which the head does not take
        states = tuple(by_layer.get(k, top) for k in range(self.states.num_layers + 1))
        outputs = BaseModelOutput(last_hidden_state=top, hidden_states=states)
        inputs = self._inputs(rows)
        given = {name: x for name, x in inputs.items() if name in self.kind.head_inputs}
        logits = head(outputs, attention_mask=mask, return_dict=True, **given)["logits"]
        if self.kind.own_head:
            return logits, *own_losses(self.kind, head.inner.out, logits, inputs)
        labels = inputs["labels"]
        loss = cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORED, reduction="sum")
        return logits, loss, (labels != IGNORED).sum()

    def evaluate(self, head: Any) -> tuple[float, float]:
        """The task's main score of a head, in percent, and its mean loss."""
        predicted, loss = self._judge(head)
        return self.examples.score(predicted), loss

    def predictions(self, head: Any) -> list[Any]:
        """What a head predicts: the tags of each sentence, or the label of each text."""
        return self._judge(head)[0]

    @torch.no_grad()
    def _judge(self, head: Any) -> tuple[list[Any], float]:
        """Predictions and mean loss."""
        head.eval()
        lengths = self.states.lengths()
        encoded, best, sums = self.examples.encoded, [], []
        for rows in token_budget_batches(lengths, 4096):
            logits, *loss_and_labels = self.learned(head, rows)
            sums.append(torch.stack(loss_and_labels))
            best.append((rows, encoded.best(rows, logits)))
        loss, labels = torch.stack(sums).sum(0).tolist()
        return encoded.collect(best), loss / labels
