"""`dlfa analyze`: what encoders and runs are like inside; each analysis is a command and a file of its own."""

import typer

from dlfa_cli.analyze.cosine import cosine
from dlfa_cli.analyze.head_probing import head_probing
from dlfa_cli.analyze.head_updates import head_updates
from dlfa_cli.analyze.language_id import language_id
from dlfa_cli.analyze.means import means
from dlfa_cli.analyze.overlap import overlap
from dlfa_cli.analyze.probing import probing
from dlfa_cli.analyze.pseudo_perplexity import pseudo_perplexity
from dlfa_cli.analyze.sentences import sentences
from dlfa_cli.analyze.translate import translate
from dlfa_cli.analyze.words import words
from dlfa_cli.options import Command, CommandGroup

analyze_app = typer.Typer(cls=CommandGroup, no_args_is_help=True)


@analyze_app.callback()
def _group() -> None:
    """Look inside an encoder or a run. Example: `dlfa analyze cosine runs/ner-demo --parallel en-sw.tsv`."""


for _command in (
    cosine,
    head_probing,
    head_updates,
    language_id,
    means,
    overlap,
    probing,
    pseudo_perplexity,
    sentences,
    translate,
    words,
):
    analyze_app.command(cls=Command)(_command)
