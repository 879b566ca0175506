"""The choices of learning rates of a sweep, in files, by which a sweep that was killed goes on."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dlfa_adapters.frozen import HeadSpec, TrainedHead
from dlfa_adapters.ground.whole import write_whole
from dlfa_adapters.sweep.finetuned_files import RowFiles
from dlfa_adapters.sweep.rates import Choice, Pair, attempt_of, choose


class Choices:
    """The choices of a sweep, each in a file beside its finished trainings.

    Args:
        files: The sweep's trainings.
        tried: From `pairs`.
        seed: The first one.
    """

    def __init__(self, files: RowFiles, tried: Sequence[Pair], seed: int) -> None:
        self.files, self.pairs, self.seed = files, list(tried), seed

    def first(self, spec: HeadSpec) -> HeadSpec:
        """The head that is tried for a head of any seed."""
        return replace(spec, seed=self.seed)

    def of(self, spec: HeadSpec) -> Choice | None:
        """The rates of a head; None if they are still to be tried."""
        if len(self.pairs) == 1:
            return Choice(self.pairs[0])
        try:
            return Choice.from_dict(json.loads(self._path(spec).read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def missing(self, specs: Sequence[HeadSpec]) -> list[HeadSpec]:
        """The heads that are still to be tried so that some can be trained."""
        return list(dict.fromkeys(self.first(spec) for spec in specs if self.of(spec) is None))

    def write(self, spec: HeadSpec, choice: Choice) -> None:
        """Write a choice down."""
        with write_whole(self._path(spec)) as draft:
            draft.write_text(json.dumps(choice.to_dict(), allow_nan=False) + "\n", "utf-8")

    def _path(self, spec: HeadSpec) -> Path:
        return self.files.folder / f"rate-{self.files.key_of(self.first(spec))}.json"


Try = Callable[[Sequence[HeadSpec], Sequence[Pair]], Sequence[TrainedHead]]
"""Trains heads, each at the pair of rates that stands at its place."""


def choose_rates(choices: Choices, specs: Sequence[HeadSpec], attempt: Try) -> dict[HeadSpec, Choice]:
    """The rates of some heads; those that are not known are tried first.

    Args:
        choices: What is known.
        specs: The heads.
        attempt: Tries.
    """
    missing = choices.missing(specs)
    if missing:
        every = [(spec, pair) for spec in missing for pair in choices.pairs]
        heads = attempt([spec for spec, _ in every], [pair for _, pair in every])
        for i, spec in enumerate(missing):
            mine = slice(i * len(choices.pairs), (i + 1) * len(choices.pairs))
            found = zip(heads[mine], choices.pairs, strict=True)
            choices.write(spec, choose([attempt_of(head, pair) for head, pair in found]))
    return {spec: choice for spec in specs if (choice := choices.of(spec)) is not None}
