"""Several tasks on one encoder, a head each: what the steps of such a training are made of.

Every step is of one task, drawn by the number of its rows or by a temperature, so that its gradient touches the head of
the task and what all share. An epoch has as many steps of the main task, on average, as there are without the others.
A task in several source languages is drawn as it is alone, so many rows of each language.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor

from dlfa_adapters.data.mixture import Mixture, shares_by_temperature
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.aux_options import languages_of, read_aux
from dlfa_adapters.learning.dataset import describe_data, load_split, make_examples, task_for
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.sources import mixed

HEAD = "head"
"""What a model of adapters calls the head that shall read a batch."""

_RAREST = 1e-4  # of the steps are the main task's, where a temperature below 1 makes them rarer than its rows are


class TaskRow(NamedTuple):
    """A row with the name of its task, which is that of the head."""

    row: Any
    task: str

    @property
    def input_ids(self) -> list[int]:
        """Pieces of the row."""
        pieces: list[int] = self.row.input_ids
        return pieces


class SeveralTasks:
    """A main task and auxiliary ones.

    Args:
        main: The data of the main task.
        aux: Those of the auxiliary tasks, by name.
        batch_size: Rows of a step, all of one task.
        temperature: A task with n rows is drawn as n^(1/T).
        seed: Of the draws.

    Attributes:
        rows: Those of all tasks.
        mixture: Which rows an epoch has.

    Raises:
        ConfigError: If the temperature leaves next to no steps to the main task.
    """

    def __init__(
        self, main: Examples, aux: Mapping[str, Examples], *, batch_size: int, temperature: float, seed: int
    ) -> None:
        self.main, self.aux = main, dict(aux)
        self.rows: list[TaskRow] = []
        numbers: dict[str, Sequence[int]] = {}
        within: dict[str, Mixture] = {}
        for name, examples in {main.task.name: main, **self.aux}.items():
            numbers[name] = range(len(self.rows), len(self.rows) + len(examples.rows))
            self.rows += [TaskRow(row, name) for row in examples.rows]
            if examples.mixture is not None:  # with random numbers of its own
                within[name] = replace(examples.mixture, seed=(len(numbers) << 32) + seed)
        shares = shares_by_temperature({name: len(rows) for name, rows in numbers.items()}, temperature)
        if temperature < 1 and shares[main.task.name] < _RAREST:
            raise ConfigError(
                f"--aux-temperature {temperature:g} draws {main.task.name} in less than one step of "
                f"{1 / _RAREST:,.0f}, so that an epoch has no end; type --aux-temperature 1 or more."
            )
        of_main = -(-main.epoch_rows // batch_size)
        steps = round(of_main / shares[main.task.name])
        self.mixture = Mixture(numbers, shares, steps * batch_size, seed, together=batch_size, within=within)

    @property
    def epoch_rows(self) -> int:
        """Rows in an epoch."""
        return self.mixture.epoch_rows

    def collator(self, pad_token_id: int | None) -> Callable[[Sequence[Any]], dict[str, Tensor]]:
        """What pads the rows of one task, and names its head; rows of no task are dev data of the main one."""
        every = {self.main.task.name: self.main, **self.aux}
        collators = {name: examples.collator(pad_token_id) for name, examples in every.items()}

        def collate(rows: Sequence[Any]) -> dict[str, Any]:
            if not isinstance(rows[0], TaskRow):
                return collators[self.main.task.name](rows)
            [name] = {row.task for row in rows}
            return {**collators[name]([row.row for row in rows]), HEAD: name}

        return collate


def read_tasks(
    settings: Settings,
    named: Sequence[str],
    main: Examples,
    loaded: Encoder,
    data: dict[str, dict[str, Any]],
    *,
    are_drawn: bool,
) -> SeveralTasks | None:
    """Read auxiliary data and add their heads to a model; None where there are no auxiliary tasks.

    The head of the main task is there and stays the active one. Descriptions of the auxiliary data are added to `data`;
    where steps are drawn (`are_drawn`), every step is of one task, and each task's share of them is added too.

    Raises:
        ConfigError: If a task is of a kind with other labels.
        DataError: If data cannot be read, or are in another language than those of the main task.
    """
    if settings.steps.aux is None:
        return None
    source, aux = set(main.languages), {}
    for name, place in read_aux(settings.steps.aux).items():
        rows = load_split(place, name, "train", languages_of(place, name, named))
        if others := set(rows.dataset["language"]) - source - {"und"}:
            raise DataError(
                f"expected data of {name} in the source language {', '.join(sorted(source))}, but got "
                f"{', '.join(sorted(others))}; name other data with --aux."
            )
        task = task_for(
            name, rows, None, f"for a task with the labels of the data type another name in --aux, my-{name}"
        )
        kind = kind_of_task(task)
        if kind.label_inputs != ("labels",):
            raise ConfigError(f"--aux is for tags and labels, and {name} has trees; leave it out.")
        head_type, options = kind.head_types[0], {**kind.head_options, **settings.head.keywords()}
        loaded.model.add_dlfa_head(name, head_type=head_type, id2label=task.id2label, **options)
        aux[name] = mixed(make_examples(task, rows.dataset, loaded.tokenizer, settings), named, settings.steps)
        data[name] = describe_data(rows, place)
    loaded.model.active_head = main.task.name
    steps = settings.steps
    several = SeveralTasks(
        main, aux, batch_size=steps.batch_size, temperature=steps.aux_temperature or 1.0, seed=steps.seed
    )
    shares = several.mixture.shares
    if not are_drawn:
        return several
    data["train"]["share"] = round(shares[main.task.name], 6)
    for name in aux:
        data[name]["share"] = round(shares[name], 6)
    return several


def tasks_in_a_line(data: Mapping[str, Mapping[str, Any]], task: str) -> list[str]:
    """How often each task is drawn, for the screen: a line, or none."""
    if "share" not in data["train"]:
        return []
    shares = {task: data["train"]["share"], **{name: of["share"] for name, of in data.items() if name not in _SPLITS}}
    parts = [f"{name} {100 * share:.3g} %" for name, share in shares.items()]
    return [f"Tasks: {', '.join(parts)} of the steps; on average an epoch has as many of {task} as alone"]


_SPLITS = ("train", "dev")
