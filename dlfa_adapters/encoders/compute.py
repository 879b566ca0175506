"""A frozen encoder run once: its states in 16 bits, or the mean of those of each sentence; and part of it run again.

Its lower blocks can be replaced: cached states stand in their place, or the blocks above them are left out. Blocks give
other values and keep their weights, so that a saved model is what it was. Masks, relative positions and all else come
from the encoder's own code, which runs as ever.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders.parts import blocks_of
from dlfa_adapters.encoders.states import Change, HiddenStates, States, states_of
from dlfa_adapters.ground.errors import RunError

Allocate = Callable[[tuple[int, int, int], torch.dtype], Tensor]
"""Called with shape and type; gives the tensor that states are written into."""


def compute_states(
    model: Any,
    windows: Sequence[HasInputIds],
    pad_token_id: int | None,
    *,
    layers: Sequence[int] | None = None,
    changes: Sequence[Change] = (),
    exact: bool = False,
    kept: Sequence[Sequence[int]] | None = None,
    max_tokens: int | None = None,
    cache_on: str | torch.device = "cpu",
    allocate: Allocate | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> HiddenStates:
    """Run a frozen encoder once over all windows, by length under a token budget.

    States are rounded to float16, or to bfloat16 if one of them is too large for that, unless they must be exact.

    Args:
        model: An encoder (or adapter model, whose heads are left out) in eval mode.
        windows: What to encode.
        pad_token_id: The tokenizer's.
        layers: Which states; default: all, 0..L.
        changes: See `states_of`.
        exact: Cache them in float32, for an encoder of which a part goes on learning from them.
        kept: Of each window, the tokens whose states are kept, in the order in which they are; default: all.
        max_tokens: Positions in a batch, padding included; default: by the size of the states.
        cache_on: Device for the states: width * 2 bytes a token and layer, width * 4 if they are exact.
        allocate: Makes the tensor for the states, e.g. in a file; `cache_on` is then not looked at.
        on_progress: Called with the number of windows that were just done.

    Returns:
        The states, in the order of `windows`.

    Raises:
        RunError: If the encoder gives states that are not finite numbers.
    """
    config = model.base_model.config
    chosen = tuple(range(config.num_hidden_layers + 1) if layers is None else sorted(set(layers)))
    lengths = [len(window.input_ids) for window in windows]
    offsets = [0, *accumulate(lengths if kept is None else map(len, kept))]
    shape = (offsets[-1], len(chosen), config.hidden_size)
    batches = token_budget_batches(lengths, max_tokens or tokens_at_once(model, config))
    allocate = allocate or (lambda shape, dtype: torch.empty(shape, dtype=dtype, device=cache_on))
    done = 0
    for dtype in (torch.float32,) if exact else (torch.float16, torch.bfloat16):
        tokens = allocate(shape, dtype)
        for number, batch in enumerate(batches):
            states = states_of(model, [windows[i] for i in batch], pad_token_id, chosen, changes).to(dtype)
            if not states.isfinite().all():
                break
            parts = states.to(tokens.device).split([lengths[i] for i in batch])
            for index, rows in zip(batch, parts, strict=True):
                tokens[offsets[index] : offsets[index + 1]] = rows if kept is None else rows[list(kept[index])]
            if on_progress is not None and number >= done:
                done = number + 1
                on_progress(len(batch))
        else:
            return HiddenStates(tokens, offsets, chosen, config.num_hidden_layers)
    raise RunError("The encoder gives hidden states that are not finite numbers; its weights may be damaged.")


def tokens_at_once(model: Any, config: Any) -> int:
    """Positions in a batch: 512 on a CPU, and on a GPU as many as have all their states in a quarter of a GB.

    With more the offline encoder was not faster on the processor that was tried, and where sentences are few, more of a
    larger batch is padding.
    """
    if model.base_model.device.type == "cpu":
        return 512
    return max(1024, 2**28 // (4 * config.hidden_size * (config.num_hidden_layers + 1)))


def sentence_means(
    model: Any,
    sentences: Sequence[HasInputIds],
    pad_token_id: int | None,
    layers: Sequence[int],
    on_progress: Callable[[int], None] | None = None,
    changes: Sequence[Change] = (),
) -> Tensor:
    """The mean state over the tokens of each sentence, of `layers` in their order; for the rest see `compute_states`.

    Returns:
        (layers, sentences, width) in float32.
    """
    config = model.base_model.config
    lengths = [len(sentence.input_ids) for sentence in sentences]
    means = torch.empty(len(layers), len(sentences), config.hidden_size)
    for batch in token_budget_batches(lengths, tokens_at_once(model, config)):
        states = states_of(model, [sentences[i] for i in batch], pad_token_id, layers, changes).float()
        for i, tokens in zip(batch, states.split([lengths[i] for i in batch]), strict=True):
            means[:, i] = tokens.mean(0).cpu()
        if on_progress is not None:
            on_progress(len(batch))
    return means


def parallel_cosine(first: Tensor, second: Tensor) -> Tensor:
    """The mean cosine of sentences and their translations in each layer (Chen et al. 2022, arXiv 2205.08497, Table VI).

    Args:
        first: Means of the sentences, (layers, sentences, width).
        second: Means of their translations, likewise.

    Returns:
        (layers,).
    """
    return torch.nn.functional.cosine_similarity(first, second, dim=2).mean(1)


@dataclass(frozen=True)
class Below(Change):
    """The lower blocks of an encoder: as a `Change`, those above them are left out, since no state of theirs is needed.

    Attributes:
        depth: The last of them, from 1.
        lengths: For every block how many values it gives; 0: a tensor alone.
        layers: Which states are cached: the last one of them, and those that the head fuses.
        autocast: In which precision the encoder computes; None: its own.
    """

    depth: int
    lengths: tuple[int, ...]
    layers: tuple[int, ...]
    autocast: torch.dtype | None = None

    @property
    def identity(self) -> str:
        """The precision; to leave out upper blocks changes no lower state."""
        return "" if self.autocast is None else f"autocast {self.autocast}"

    @contextmanager
    def applied(self, encoder: Any) -> Iterator[None]:
        """See `Change`."""
        upper: dict[int, Callable[[Tensor], Tensor]] = {
            number: lambda given: given for number in range(self.depth + 1, len(self.lengths) + 1)
        }
        with self.precision(encoder.device), self.replaced(encoder, upper):
            yield

    def precision(self, device: torch.device) -> Any:
        """A context in which the encoder computes as in the training."""
        return torch.autocast(device.type, self.autocast, enabled=self.autocast is not None)

    @contextmanager
    def replaced(self, encoder: Any, outputs: Mapping[int, Callable[[Tensor], Tensor | None]]) -> Iterator[None]:
        """Let some blocks hand out something else; their weights stay where they are.

        `outputs` has for each block, from 1, what it gives for what it is given; for None it runs as it is.
        """
        blocks = blocks_of(encoder)

        def forward_of(number: int) -> Callable[..., Any]:
            own, length = blocks[number - 1].forward, self.lengths[number - 1]

            def forward(*args: Any, **kwargs: Any) -> Any:
                state = outputs[number](args[0] if args else next(iter(kwargs.values())))
                if state is None:
                    return own(*args, **kwargs)
                return (state, *[None] * (length - 1)) if length else state

            return forward

        for number in outputs:
            blocks[number - 1].forward = forward_of(number)
        try:
            yield
        finally:
            for number in outputs:
                del blocks[number - 1].forward


@dataclass
class LowerStates:
    """Cached states of rows, in the place of the blocks that they come from.

    Attributes:
        below: Which blocks.
        states: Of the rows by their numbers: training data, and dev data behind them.
        batch: Those of the batch that runs, by layer; None: no batch of theirs does, and the blocks run as they are.
    """

    below: Below
    states: States
    batch: dict[int, Tensor] | None = field(default=None, init=False)

    @contextmanager
    def installed(self, model: Any) -> Iterator[None]:
        """Within it, the lower blocks hand out the states of what is `read`."""

        def state_of(number: int) -> Callable[[Tensor], Tensor | None]:
            layer = min(k for k in self.below.layers if k >= number)
            return lambda given: None if self.batch is None else self.batch[layer]

        with self.below.replaced(model, {number: state_of(number) for number in range(1, self.below.depth + 1)}):
            yield

    @contextmanager
    def read(self, numbers: Tensor | None) -> Iterator[None]:
        """Within it, a forward pass gets the states of some rows, (batch,); for None the blocks run as they are."""
        if numbers is not None:
            states, _ = self.states.batch(numbers.tolist(), self.below.layers)
            self.batch = dict(zip(self.below.layers, states, strict=True))
        try:
            yield
        finally:
            self.batch = None
