"""Options that say how files are read, for every command that reads labelled data."""

from typing import Annotated

import typer

PANEL = "Reading"

Format = Annotated[
    str | None,
    typer.Option("--format", "-f", help="Where it is not found rightly: columns, conllu, ...", rich_help_panel=PANEL),
]
WordColumn = Annotated[
    str | None,
    typer.Option(help="Column of the words: from 0, or its name in the header row.", rich_help_panel=PANEL),
]
TagColumn = Annotated[
    str | None,
    typer.Option(help="Column of the tags: from 0, from -1 backwards, or its name.", rich_help_panel=PANEL),
]
