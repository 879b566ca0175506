"""Which head gets which rows: the slicing rule of `Parallel` and `BatchSplit`.

`Parallel` runs N adapters on one input of B sentences. The input is replicated where the first adapter stands, so an
encoder's states have B rows below it and N * B above (`[2, 2, 2, 4, 4]`). A state of B rows belongs to every channel,
one of N * B is cut. N comes from the composition and B from the input, never from a quotient of sizes.

`BatchSplit` gives each head some of the B rows: of the states, and of every input (labels, attention mask) too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.composition import AdapterCompositionBlock, BatchSplit, MultiTask
from adapters.context import AdapterSetup
from torch import Tensor
from transformers.utils import ModelOutput

from dlfa_adapters.ground.errors import ConfigError

TASK_IDS = "task_ids"
"""The input of a model in which `MultiTask` is active: for each row the number of its task."""


@dataclass(frozen=True)
class HeadInput:
    """What one head is called with.

    Attributes:
        name: Name of the head.
        outputs: The encoder's output, cut.
        attention_mask: (rows, seq) or None, cut.
        kwargs: Further inputs, cut.
    """

    name: str
    outputs: ModelOutput
    attention_mask: Tensor | None
    kwargs: dict[str, Any]

    def cut(self, name: str, function: Callable[[Tensor], Tensor]) -> "HeadInput":
        """What another head is called with: every tensor cut by a function."""
        kwargs = {key: _map(value, function) for key, value in self.kwargs.items()}
        return HeadInput(name, _map(self.outputs, function), _map(self.attention_mask, function), kwargs)


def adapter_setup(model: Any) -> AdapterCompositionBlock | None:
    """The composition in force: that of an `AdapterSetup` context, else the model's own."""
    context = AdapterSetup.get_context()
    return context.adapter_setup if context is not None else model.adapters_config.active_setup


def has_tasks(setup: Any) -> bool:
    """Whether there is a `MultiTask` in a composition."""
    if isinstance(setup, AdapterCompositionBlock):
        return isinstance(setup, MultiTask) or any(has_tasks(child) for child in setup.children)
    return False


def check_tasks(setup: AdapterCompositionBlock | None, given: Mapping[str, Any]) -> None:
    """Refuse a call without the numbers of the tasks where they are needed.

    Raises:
        ConfigError: Saying what to type.
    """
    if given.get(TASK_IDS) is None and has_tasks(setup):
        raise ConfigError(
            f"{setup} needs {TASK_IDS}, for each row the place of its adapter in MultiTask, and got none; type "
            f"model(..., {TASK_IDS}=torch.tensor([0, 1])), or give the data set for Trainer such a column."
        )


def head_setup(model: Any, head_name: str | None) -> list[str] | AdapterCompositionBlock:
    """The heads in force, in the order of upstream: the `head` argument, an `AdapterSetup` context, `active_head`."""
    if head_name:
        return [head_name]
    in_context = AdapterSetup.get_context_head_setup() if len(model.heads) > 0 else None
    setup = in_context or model._active_heads or []
    return [setup] if isinstance(setup, str) else setup


def head_inputs(
    heads: list[str] | AdapterCompositionBlock,
    adapters: AdapterCompositionBlock | None,
    outputs: ModelOutput,
    attention_mask: Tensor | None,
    batch: int,
    kwargs: Mapping[str, Any],
    rows_per_label: Mapping[str, int],
) -> Iterator[HeadInput]:
    """Cut the encoder's output and the other inputs of `batch` rows for each of the heads in force.

    `adapters` is the composition in force, see `adapter_setup`: it tells how many channels run side by side. A
    `BatchSplit` of heads cuts the batch. `rows_per_label` says by head how many rows of the input make one item of
    `labels`: more than 1 in multiple choice.

    Raises:
        ConfigError: If the number of heads is not that of the channels, or the batch sizes do not add up.
    """
    channels = adapters.parallel_channels if adapters is not None else 1
    names, whole = list(heads), HeadInput("", outputs, attention_mask, dict(kwargs))
    if isinstance(heads, BatchSplit):
        if channels > 1:
            raise ConfigError("A BatchSplit of heads cannot stand above Parallel adapters; activate one of the two.")
        if sum(heads.batch_sizes) != batch:
            raise ConfigError(
                f"BatchSplit has batch sizes {heads.batch_sizes}, in all {sum(heads.batch_sizes)}, but the batch has "
                f"{batch} sentences; type batch_sizes that add up to {batch}."
            )
        yield from _split(names, heads.batch_sizes, whole, batch, rows_per_label)
        return
    if channels > 1 and len(names) != channels:
        raise ConfigError(
            f"Parallel runs {channels} channels, but there is {len(names)} head for them ({', '.join(names)}); "
            f"activate one head a channel, e.g. model.active_head = ['a', 'b']."
        )
    for i, name in enumerate(names):
        if channels == 1:
            yield replace(whole, name=name, kwargs=dict(kwargs))
        else:
            yield whole.cut(name, _channel(i, batch, channels))


def _channel(index: int, batch: int, channels: int) -> Callable[[Tensor], Tensor]:
    def cut(tensor: Tensor) -> Tensor:
        if tensor.dim() and tensor.shape[0] == batch * channels:
            return tensor[index * batch : (index + 1) * batch]
        return tensor

    return cut


def _split(
    names: list[str], batch_sizes: list[int], whole: HeadInput, batch: int, rows_per_label: Mapping[str, int]
) -> Iterator[HeadInput]:
    row = label = 0
    for name, size in zip(names, batch_sizes, strict=True):
        start, stop, row = row, row + size, row + size
        labels = slice(label, label + size // rows_per_label.get(name, 1))
        label = labels.stop

        def cut(tensor: Tensor, start: int = start, stop: int = stop) -> Tensor:
            return tensor[start:stop] if tensor.dim() and tensor.shape[0] == batch else tensor

        part = whole.cut(name, cut)
        if whole.kwargs.get("labels") is not None:
            part.kwargs["labels"] = whole.kwargs["labels"][labels]
        yield part


def _map(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply to every tensor in a nest of outputs, tuples and lists; leave the rest alone."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, ModelOutput):
        return type(value)(**{key: _map(item, function) for key, item in value.items()})
    if isinstance(value, (tuple, list)):
        return type(value)(_map(item, function) for item in value)
    return value
