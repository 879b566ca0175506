"""Options that say how the machine is used, for every command that trains."""

from typing import Annotated

import typer

PANEL = "Machine"

Precision = Annotated[str | None, typer.Option(help="bf16, fp16, fp32; default: bf16 on a GPU.", rich_help_panel=PANEL)]
GradientCheckpointing = Annotated[
    bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.", rich_help_panel=PANEL)
]
Compile = Annotated[bool, typer.Option("--compile", help="torch.compile: of the fusion alone.", rich_help_panel=PANEL)]
ReportTo = Annotated[str, typer.Option(help="none, tensorboard, wandb.", rich_help_panel=PANEL)]
