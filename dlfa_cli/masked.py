"""Options of the commands that learn by masked language modelling."""

from typing import Annotated

import typer

from dlfa_cli.from_dataclasses import MACHINE, STEPS

Steps = Annotated[int, typer.Option(help="Steps of the optimiser.", rich_help_panel=STEPS)]
BatchSize = Annotated[int, typer.Option(help="Rows in a step, over all processes.", rich_help_panel=STEPS)]
MaxLength = Annotated[
    int | None,
    typer.Option(help="Pieces in a row; default: 128, or as many as the encoder takes.", rich_help_panel=STEPS),
]
Warmup = Annotated[float, typer.Option(help="Share of the steps with a rising rate.", rich_help_panel=STEPS)]
Every = Annotated[int, typer.Option(help="Write a checkpoint every so many steps.", rich_help_panel=STEPS)]
Seed = Annotated[int, typer.Option(help="Seed of first weights and of what is masked.", rich_help_panel=STEPS)]
MicroBatch = Annotated[int | None, typer.Option(help="Rows at once; less takes less memory.", rich_help_panel=MACHINE)]
Precision = Annotated[
    str | None, typer.Option(help="bf16, fp16, fp32; default: bf16 on a GPU.", rich_help_panel=MACHINE)
]
GradientCheckpointing = Annotated[
    bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.", rich_help_panel=MACHINE)
]
Compile = Annotated[
    bool, typer.Option("--compile", help="torch.compile: takes a minute or two at first.", rich_help_panel=MACHINE)
]
ReportTo = Annotated[str, typer.Option(help="none, tensorboard, wandb.", rich_help_panel=MACHINE)]
