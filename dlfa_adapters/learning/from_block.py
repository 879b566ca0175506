"""Training from the states of a block: what stands below the first parameter that learns runs once over the data.

With `freeze:6`, or with adapters in the upper blocks alone, the output of block 6 is the same in every epoch. It is
computed once for all rows and cached in float32, and so is a lower state that the head fuses; in the training blocks 1
to 6 hand out what is cached. Frozen parts are in eval mode either way, so both ways learn the same, up to rounding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.encoders.cache import Cache, find_room
from dlfa_adapters.encoders.compute import Below, LowerStates, compute_states
from dlfa_adapters.encoders.parts import blocks_of, embeddings_of
from dlfa_adapters.fusion import select_states
from dlfa_adapters.ground.environment import Progress, world_size
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.files import in_bytes
from dlfa_adapters.learning.plan import Ready
from dlfa_adapters.learning.settings import Settings

Collate = Callable[[Sequence[Any]], dict[str, Tensor]]

NUMBERS = "row_numbers"
"""What the numbers of the rows are called in a batch."""

_NO_LOWER = "--states cached needs a first block that does not learn; type e.g. --tuning freeze:6 or --leave-out 1-6."
_NOT_PEFT = "--states cached needs a model of the package adapters; type --tuning lora."
_PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}
_NEAR = {None: 1e-4, torch.bfloat16: 2e-2, torch.float16: 2e-3}  # as a share of the largest value
_SHARE = 0.1  # of a GPU's free memory: activations, gradients and optimiser come on top


class NumberedRow(NamedTuple):
    """A row with the number of its states."""

    row: Any
    number: int

    @property
    def input_ids(self) -> list[int]:
        """Pieces of the row."""
        pieces: list[int] = self.row.input_ids
        return pieces


def numbered(rows: Sequence[Any], first: int = 0) -> list[NumberedRow]:
    """Rows with their numbers, from `first`."""
    return [NumberedRow(row, number) for number, row in enumerate(rows, first)]


def with_numbers(collate: Collate) -> Collate:
    """What makes batches of numbered rows, with their numbers in them."""

    def collate_numbered(rows: Sequence[NumberedRow]) -> dict[str, Tensor]:
        return {**collate([each.row for each in rows]), NUMBERS: torch.tensor([each.number for each in rows])}

    return collate_numbered


@dataclass(frozen=True)
class Choice:
    """Whether a training begins at a block, or runs through all of them.

    Attributes:
        line: The note to the user.
        below: The blocks below which nothing learns.
        cache: Where their states go; None: they run in every epoch.
    """

    line: str
    below: Below
    cache: Cache | None

    @property
    def states(self) -> str:
        """As the option has it."""
        return "through" if self.cache is None else "cached"

    def computed(self, ready: Ready, progress: Progress) -> LowerStates | None:
        """The states, computed or from the cache; None where the blocks run in every epoch."""
        if self.cache is None:
            return None
        model, rows, stage = ready.plan.model, _rows(ready), "Computing hidden states, once"
        pad_token_id = ready.plan.encoder.tokenizer.pad_token_id
        progress(stage, 0, len(rows))
        model.eval()
        states = self.cache.states(model, {"rows": rows}, pad_token_id, lambda done: progress(stage, done, len(rows)))
        return LowerStates(self.below, states["rows"])


def _rows(ready: Ready) -> list[HasInputIds]:
    """Training data, and dev data behind them."""
    return [*ready.train.rows, *(ready.dev.rows if ready.dev else ())]


def choose_states(ready: Ready, folder: Path) -> Choice | None:
    """What `choose` says of a training, whose states may go into a folder; its plan and settings say it too.

    The model goes to the GPU if there is one.

    Raises:
        ConfigError: See `choose`.
    """
    plan, rows = ready.plan, _rows(ready)
    if ready.several is not None:  # whose rows are not all of one form
        return None
    if plan.model is not plan.encoder.model or not rows:  # PEFT's, whose blocks run in every epoch
        if plan.settings.machine.states == "cached":
            raise ConfigError(_NOT_PEFT if rows else _NO_LOWER)
        return None
    plan.model.to("cuda" if torch.cuda.is_available() else plan.model.device)
    indices, pad_token_id = plan.model.heads[plan.task.name].indices, plan.encoder.tokenizer.pad_token_id
    choice = choose(plan.model, indices, rows, ready.train.epoch_rows, pad_token_id, plan.settings, folder)
    if choice is not None:
        plan.states, plan.settings = choice.line, plan.settings.changed(states=choice.states)
    return choice


def choose(
    model: Any,
    indices: Sequence[int],
    rows: Sequence[HasInputIds],
    count: int,
    pad_token_id: int | None,
    settings: Settings,
    folder: Path,
) -> Choice | None:
    """Whether the states of the blocks that do not change are cached.

    By itself it does so if there is more than one epoch, and room. The model, prepared by a tuning, is where it will be
    trained; `indices` are the states that the head fuses, `rows` those of training and dev data, of which an epoch has
    `count`.

    Returns:
        The choice; None where something learns from the first block on.

    Raises:
        ConfigError: If they shall be cached, and cannot be.
    """
    requested, by_length = settings.machine.states, sorted(rows, key=lambda row: len(row.input_ids))
    below = _below(model.eval(), indices, by_length[:2], pad_token_id, settings)
    if below is None:
        if requested == "cached":
            raise ConfigError(_NO_LOWER)
        return None
    cache = find_room(model, {"rows": rows}, below.layers, folder, changes=[below], exact=True)
    small = cache.size <= _SHARE * _free(cache.device)
    cache = replace(cache, on_device=small)
    reason = None
    if world_size() > 1:
        reason = "for states are cached in one process alone"
    elif cache.folder is None and not cache.on_device:
        reason = f"for there is no room for {in_bytes(cache.size)} of states"
    elif not _agrees(model, below, [by_length[i] for i in (0, len(rows) // 2, -1)], indices, pad_token_id):
        reason = f"for those of {model.config.model_type} hand on more than states"
    elif requested is None and settings.steps.total(count) * settings.steps.batch_size <= count:
        reason = "for there is one"
    if reason and requested == "cached":
        raise ConfigError(f"--states cached does not work here, {reason}; leave it out.")
    if requested == "through" or reason:
        also = f", {reason}" if reason else ""
        return Choice(f"Hidden states: blocks 1 to {below.depth} run in every epoch{also}", below, None)
    return Choice(f"{cache}; blocks 1 to {below.depth} run once", below, cache)


def _free(device: torch.device) -> int:
    """Free bytes of a GPU."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0


def _below(
    model: Any, indices: Sequence[int], rows: Sequence[HasInputIds], pad_token_id: int | None, settings: Settings
) -> Below | None:
    """The blocks whose states depend on nothing that learns, as autograd tells; None where there are none."""
    encoder, lengths = model.base_model, []
    try:
        blocks = blocks_of(model)
    except ConfigError:  # blocks share their weights
        return None
    if any(weight.requires_grad for part in (*embeddings_of(model), blocks[0]) for weight in part.parameters()):
        return None
    handles = [
        block.register_forward_hook(lambda _, args, out: lengths.append(len(out) if isinstance(out, tuple) else 0))
        for block in blocks
    ]
    inputs = {name: tensor.to(encoder.device) for name, tensor in pad_batch(rows, pad_token_id).items()}
    try:
        with torch.enable_grad():
            states = encoder(**inputs, output_hidden_states=True, return_dict=True).hidden_states
    finally:
        for handle in handles:
            handle.remove()
    depth = next((k for k, state in enumerate(states) if state.requires_grad), len(blocks)) - 1
    if depth < 1:
        return None
    layers = sorted({depth, *(k for k in indices if 1 <= k < depth)})
    return Below(depth, tuple(lengths), tuple(layers), _PRECISIONS.get(str(settings.machine.precision)))


@torch.no_grad()
def _agrees(
    model: Any, below: Below, rows: Sequence[HasInputIds], indices: Sequence[int], pad_token_id: int | None
) -> bool:
    """Whether a few rows have the same states from the cached ones on as they have otherwise."""
    encoder = model.base_model
    batch = pad_batch(rows, pad_token_id)
    inputs, real = {name: tensor.to(encoder.device) for name, tensor in batch.items()}, batch["attention_mask"].bool()
    lower = LowerStates(
        below,
        compute_states(
            model, rows, pad_token_id, layers=below.layers, changes=[below], exact=True, cache_on=encoder.device
        ),
    )

    def run() -> Tensor:
        with below.precision(encoder.device):
            outputs = encoder(**inputs, output_hidden_states=True, return_dict=True)
        chosen = select_states([*indices, len(below.lengths)], outputs.hidden_states, outputs.last_hidden_state)
        return torch.stack([state.float()[real.to(state.device)] for state in chosen])

    through = run()
    with lower.installed(model), lower.read(torch.arange(len(rows))):
        cached = run()
    return bool((through - cached).abs().max() <= _NEAR[below.autocast] * through.abs().max())
