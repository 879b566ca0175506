"""What a tuning is: which parameters learn, how many of each part, at which rates, and what of the model is saved."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dlfa_adapters.encoders.parts import blocks_of, part_of, pooler_of
from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from torch import nn

Saved = Literal["head", "adapters", "encoder", "peft"]
"""What a run saves: a head alone, adapters and head, encoder and head, or a PEFT adapter."""

_LISTS = ("layer", "layers", "block", "albert_layers")
"""What encoders call the list of their blocks."""


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """Training options where the user gives none.

    Attributes:
        learning_rate: Of everything but the head.
        head_learning_rate: Of fusion and classifier.
        epochs: Passes over the training data.
        head: Options of the head that have another default with this tuning, where the fusion has them.
        head_learning_rates: Rates of the head that are tried side by side, and of which source dev chooses; where
            there are none, or no dev data, it is `head_learning_rate`.
        min_steps: Least steps in all: small data get more epochs.
    """

    learning_rate: float
    head_learning_rate: float
    epochs: int
    head: Mapping[str, Any] = field(default_factory=dict)
    head_learning_rates: tuple[float, ...] = ()
    min_steps: int = 500


class Tuning(ABC):
    """A way to train an encoder with a DLFA head.

    Args:
        argument: What stands behind the colon of `freeze:6`, or None.

    Attributes:
        name: The name before the colon.
        summary: One line for lists.
        defaults: Training options where the user gives none.
        saved: What a run of it saves.
        on_states: Whether the encoder is frozen and runs once, and heads learn on its states.
        adds: What it adds to the blocks, such as adapters; nothing where it adds none.
        takes_argument: Whether something may stand behind the colon.
        leave_out: Blocks that get none of it, from 1.

    Raises:
        ConfigError: If there is an argument, and it takes none.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    defaults: ClassVar[Defaults]
    saved: ClassVar[Saved]
    on_states: ClassVar[bool] = False
    adds: ClassVar[str] = ""
    takes_argument: ClassVar[bool] = True

    def __init__(self, argument: str | None = None) -> None:
        self.argument = argument
        self.leave_out: tuple[int, ...] = ()
        if argument is not None and not self.takes_argument:
            raise ConfigError(f"--tuning {self.name} takes nothing behind a colon, got {str(self)!r}.")

    def __str__(self) -> str:
        return self.name if self.argument is None else f"{self.name}:{self.argument}"

    @abstractmethod
    def prepare(self, model: Any, head_name: str) -> Any:
        """Decide which parameters learn; add and activate what the method adds.

        Args:
            model: A model with the head that is to be trained.
            head_name: The head's name, which adapters get too.

        Returns:
            The model, or what wraps it.

        Raises:
            ConfigError: If the argument does not fit the model.
        """

    def defaults_for(self, classifier: str) -> Defaults:
        """Training options where the user gives none, with a classifier of `dlfa_adapters.fusion.CLASSIFIERS`."""
        return self.defaults

    def frozen_blocks(self, num_layers: int) -> int:
        """How many blocks, from the bottom, give the same states before and after training."""
        return next(k for k in range(num_layers + 1) if k + 1 not in self.leave_out)

    def record(self) -> dict[str, Any]:
        """What `run.json` says of it beyond its name."""
        return {}


def check_left_out(leave_out: Sequence[int], model: Any, fix: str, highest: int | None = None) -> list[int]:
    """The blocks without adapters as adapters counts them, from 0; `leave_out` counts from 1.

    `fix` says what to type instead. `highest` is the highest block that anything is read from; None: the last.

    Raises:
        ConfigError: If there is no such block, none is left that anything is read from, or blocks share their weights.
    """
    if not leave_out:
        return []
    blocks, named = len(blocks_of(model)), ", ".join(map(str, leave_out))
    if not set(leave_out) < set(range(1, blocks + 1)):
        raise ConfigError(f"leave_out names some of the blocks 1 to {blocks} of this encoder, got {named}; {fix}.")
    if highest is not None and set(leave_out) >= set(range(1, highest + 1)):
        raise ConfigError(
            f"leave_out names some of the blocks 1 to {highest}, the highest that the head reads, got {named}; "
            "leave out fewer, or type --tuning features to train the head alone."
        )
    return [k - 1 for k in leave_out]


def freeze(module: "nn.Module | None") -> None:
    """No parameter of the module learns."""
    if module is not None:
        module.requires_grad_(False)


def freeze_unused(model: Any, head_name: str) -> None:
    """Freeze what no loss of this head can reach: the pooler, and blocks above the highest state that is fused.

    Several processes need this: a parameter that gets no gradient on its own account is an error there.
    """
    freeze(pooler_of(model))
    encoder = model.base_model
    highest = max(model.heads[head_name].indices)
    blocks = [block for _, block in encoder.iter_layers()]
    if len(blocks) == encoder.config.num_hidden_layers:  # not where blocks share their weights
        for block in blocks[highest:]:
            freeze(block)


def frozen_modules(model: "nn.Module") -> "list[nn.Module]":
    """The largest modules that have parameters of which none learns; training keeps them in eval mode.

    Their dropout is then off, and running statistics of a frozen head stay as they are.
    """
    if any(True for _ in model.parameters()) and not any(p.requires_grad for p in model.parameters()):
        return [model]
    return [frozen for child in model.children() for frozen in frozen_modules(child)]


@dataclass(frozen=True)
class PartSize:
    """A row of the report.

    Attributes:
        part: `embeddings`, `block 3`, `adapters`, `fusion`, ...
        trainable: Parameters that learn.
        total: All parameters of the part.
    """

    part: str
    trainable: int
    total: int


def parameter_report(model: Any) -> list[PartSize]:
    """Trainable and all parameters of each part, in the order of the model; a shared parameter counts once."""
    blocks = block_names(model)
    sizes: dict[str, list[int]] = {}
    for name, parameter in model.named_parameters():
        if ".original_module." in name:  # PEFT's copy of what it trains in its stead
            continue
        row = sizes.setdefault(part_of(name, blocks), [0, 0])
        row[0] += parameter.numel() if parameter.requires_grad else 0
        row[1] += parameter.numel()
    return [PartSize(part, *row) for part, row in sizes.items()]


def trainable_share(report: list[PartSize]) -> tuple[int, int]:
    """Trainable and all parameters."""
    return sum(row.trainable for row in report), sum(row.total for row in report)


def block_names(model: Any) -> dict[str, int]:
    """Name of each block, with a dot at its end, to its number: lists of modules as long as the encoder is deep."""
    depth = getattr(model.config, "num_hidden_layers", 0)
    numbers = {}
    for name, module in model.named_modules():
        if type(module).__name__ == "ModuleList" and len(module) == depth and name.rpartition(".")[2] in _LISTS:
            numbers.update({f"{name}.{i}.": i + 1 for i in range(depth)})
    return numbers
