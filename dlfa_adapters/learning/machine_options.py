"""The options of a training that say how the machine is used."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """How the machine is used; nothing of it changes what is learnt, up to rounding.

    Attributes:
        micro_batch_size: Items that a process runs at once; fewer take less memory and give the same gradients, up to
            the statistics of batch norm.
        precision: Numbers to compute in; default: bf16 on a GPU.
        gradient_checkpointing: Compute activations again in the backward pass: less memory, a third more time.
        compile: torch.compile, of the fusion alone.
        report_to: Where curves go: none, tensorboard, wandb.
        states: Blocks that do not change run once (`cached`) or in every epoch (`through`); default: cached where there
            is room and more than one epoch.
    """

    micro_batch_size: int | None = None
    precision: Literal["fp32", "bf16", "fp16"] | None = None
    gradient_checkpointing: bool = False
    compile: bool = False
    report_to: str = "none"
    states: Literal["cached", "through"] | None = None
