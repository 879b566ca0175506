"""The hidden states of a frozen encoder, without padding: cached in memory or in a file, or computed when requested.

`states_of` is where an encoder runs for its states, and `select_states` of `fusion` where they are picked of what it
gives. What changes them on their way, such as a shift behind a block, is a `Change`, which caches know too.
"""

import hashlib
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.encoders.parts import fingerprint, fingerprint_of_adapters
from dlfa_adapters.fusion import select_states
from dlfa_adapters.ground.environment import versions

_VERSIONS = ("dlfa-adapters", "torch", "transformers")


class Change(ABC):
    """A change of states on their way through an encoder, such as a shift behind a block or a mask on its heads."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What tells it from every other change, e.g. with a hash of its numbers; cached states are known by it."""

    @abstractmethod
    def applied(self, encoder: Any) -> AbstractContextManager[Any]:
        """A context in which the encoder has it, e.g. by a hook on a block of `parts.blocks_of`."""


@contextmanager
def applied(changes: Iterable[Change], encoder: Any) -> Iterator[None]:
    """A context in which an encoder has some changes, each within those before it."""
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(change.applied(encoder))
        yield


class States(ABC):
    """Hidden states of a list of windows, some layers of them.

    Attributes:
        layers: Which states there are, ascending; k is `hidden_states[k]`, `num_layers` is `last_hidden_state`.
        num_layers: Number of blocks L.
    """

    layers: tuple[int, ...]
    num_layers: int

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where states are handed out; heads are trained there."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Width of a state."""

    @abstractmethod
    def lengths(self) -> list[int]:
        """Number of tokens of each window, special ones included."""

    @cached_property
    def _lengths(self) -> list[int]:
        return self.lengths()

    @abstractmethod
    def tokens_of(self, indices: Sequence[int]) -> Tensor:
        """The states of some windows one after the other, in float32: (tokens, layers, width)."""

    def batch(self, indices: Sequence[int], layers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """States of some windows in some layers, padded on the right with zeros.

        Returns:
            States in float32, (len(layers), batch, seq, width), and the attention mask, (batch, seq).
        """
        lengths = [self._lengths[i] for i in indices]
        columns = [self.layers.index(k) for k in layers]
        tokens = self.tokens_of(indices)[:, columns]
        rows = torch.nn.utils.rnn.pad_sequence(list(tokens.split(lengths)), batch_first=True)
        mask = torch.arange(rows.shape[1]) < torch.tensor(lengths).unsqueeze(1)
        return rows.permute(2, 0, 1, 3), mask.long().to(self.device)


@dataclass(frozen=True)
class HiddenStates(States):
    """States that are cached: in memory, on a GPU, or mapped from a file.

    Attributes:
        tokens: (tokens, layers, width) in 16 bits, or exact in 32, window after window.
        offsets: Where each window starts in `tokens`; one more entry than windows.
        layers: See `States`.
        num_layers: See `States`.
        target: Where they are handed out; None: where they are cached.
    """

    tokens: Tensor
    offsets: list[int]
    layers: tuple[int, ...]
    num_layers: int
    target: torch.device | None = None

    @property
    def device(self) -> torch.device:
        """Where they are handed out."""
        return self.target or self.tokens.device

    @property
    def width(self) -> int:
        """Width of a state."""
        return self.tokens.shape[2]

    def lengths(self) -> list[int]:
        """Number of tokens of each window, special ones included."""
        return [stop - start for start, stop in zip(self.offsets, self.offsets[1:], strict=False)]

    def tokens_of(self, indices: Sequence[int]) -> Tensor:
        """See `States`."""
        starts = torch.tensor([self.offsets[i] for i in indices])
        lengths = torch.tensor([self.offsets[i + 1] - self.offsets[i] for i in indices])
        rows = ranges(starts, lengths).to(self.tokens.device)
        return self.tokens.index_select(0, rows).to(self.device).float()


@dataclass(frozen=True)
class StreamedStates(States):
    """States that are computed whenever they are requested: the encoder runs once in each pass over the data.

    They are rounded to 16 bits as cached ones are, so that a training does not depend on where its states come from: to
    float16, or to bfloat16 where one of them is too large for that.

    Attributes:
        model: The encoder, in eval mode.
        windows: What it reads.
        pad_token_id: The tokenizer's.
        layers: See `States`.
        changes: See `states_of`.
    """

    model: Any
    windows: Sequence[HasInputIds]
    pad_token_id: int | None
    layers: tuple[int, ...]
    changes: tuple[Change, ...] = ()

    @property
    def num_layers(self) -> int:  # type: ignore[override]
        """Number of blocks L."""
        return int(self.model.base_model.config.num_hidden_layers)

    @property
    def device(self) -> torch.device:
        """Where the encoder is."""
        return torch.device(self.model.base_model.device)

    @property
    def width(self) -> int:
        """Width of a state."""
        return int(self.model.base_model.config.hidden_size)

    def lengths(self) -> list[int]:
        """Number of tokens of each window, special ones included."""
        return [len(window.input_ids) for window in self.windows]

    def tokens_of(self, indices: Sequence[int]) -> Tensor:
        """See `States`."""
        windows = [self.windows[i] for i in indices]
        states = states_of(self.model, windows, self.pad_token_id, self.layers, self.changes)
        half = states.half()
        return (half if half.isfinite().all() else states.bfloat16()).float()


@torch.no_grad()
def states_of(
    model: Any,
    windows: Sequence[HasInputIds],
    pad_token_id: int | None,
    layers: Sequence[int],
    changes: Sequence[Change] = (),
) -> Tensor:
    """The states of some windows, one after the other without padding.

    Args:
        model: An encoder (or adapter model, whose heads are left out) in eval mode.
        windows: What to encode, in one batch.
        pad_token_id: The tokenizer's.
        layers: Which states; L stands for `last_hidden_state`.
        changes: What changes states on their way, each within those before it.

    Returns:
        (tokens, layers, width), in the precision of the encoder.
    """
    encoder = model.base_model
    inputs = {name: tensor.to(encoder.device) for name, tensor in pad_batch(windows, pad_token_id).items()}
    with applied(changes, encoder):
        outputs = encoder(**inputs, output_hidden_states=True, return_dict=True)
    chosen = select_states(layers, outputs.hidden_states, outputs.last_hidden_state)
    lengths = torch.tensor([len(window.input_ids) for window in windows])
    real = ranges(torch.arange(len(windows)) * inputs["input_ids"].shape[1], lengths).to(encoder.device)
    return torch.stack([state.flatten(0, 1).index_select(0, real) for state in chosen], dim=1)


def identity_of(
    model: Any, windows: Sequence[HasInputIds], layers: Sequence[int], changes: Sequence[Change] = ()
) -> dict[str, str]:
    """What states depend on: the encoder, what it reads, what changes them, and the libraries that run it.

    The pieces of the windows stand for data, tokenizer, and lengths of windows: states are equal if the pieces are.
    """
    pieces = hashlib.sha256()
    for window in windows:
        for row in (window.input_ids, getattr(window, "token_type_ids", None) or ()):
            pieces.update(len(row).to_bytes(4, "little") + array("q", row).tobytes())
    installed = versions()
    about = {
        "encoder": fingerprint(model),
        "config": hashlib.sha256(model.config.to_json_string().encode()).hexdigest()[:16],
        "pieces": pieces.hexdigest()[:16],
        "layers": ",".join(map(str, layers)),
        "versions": ", ".join(f"{name} {installed[name]}" for name in _VERSIONS),
        "adapters": fingerprint_of_adapters(model),
        "changes": "; ".join(change.identity for change in changes),
    }
    return {name: value for name, value in about.items() if value}


def ranges(starts: Tensor, lengths: Tensor) -> Tensor:
    """Whole numbers from each start on, as many as its length, one range after the other; (sum of lengths,)."""
    before = lengths.cumsum(0) - lengths
    return torch.arange(int(lengths.sum())) + (starts - before).repeat_interleave(lengths)
