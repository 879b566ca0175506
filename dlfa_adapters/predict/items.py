"""The items of data by language, and whether they are such as a run predicts."""

from collections.abc import Sequence

from dlfa_adapters.data.assemble import Loaded
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.kinds import kind_named, kind_of_task
from dlfa_adapters.predict import Items
from dlfa_adapters.tasks import Task


def items_by_language(loaded: Loaded, limit: int | None = None) -> tuple[list[Items], int]:
    """The items of each language, in the order of the data; with a limit only so many from the start of each.

    Returns:
        The items, and how many sentences without words were left out.

    Raises:
        ConfigError: If the limit is smaller than one.
        DataError: If some items are pairs and some are not.
    """
    if limit is not None and limit < 1:
        raise ConfigError(f"expected a limit of at least 1, got {limit}.")
    columns = {name: list(loaded.dataset[name]) for name in loaded.dataset.column_names}
    kind = kind_named(loaded.kind)
    inputs, gold = kind.inputs(columns), kind.gold(columns)
    rows: dict[str, list[int]] = {}
    without_words = 0
    for i, language in enumerate(columns["language"]):
        if kind.is_empty(inputs[i]):
            without_words += 1
        else:
            rows.setdefault(language, []).append(i)
    if not rows:
        raise DataError(f"{loaded.source}: expected sentences, but none has a word")
    flawed = columns.get("placeholder", [False] * len(gold))
    every = {"ids": columns["id"], "inputs": inputs, "gold": gold, "placeholder": flawed}
    items = []
    for language, numbers in rows.items():
        own = {name: [values[i] for i in numbers[:limit]] for name, values in every.items()}
        items.append(Items(language=language, kind=loaded.kind, own_ids=language in loaded.own_ids, **own))
    return items, without_words


def check_fit(items: Sequence[Items], task: Task, source: str) -> None:
    """Checks that data are for a task, before a model is loaded.

    Raises:
        DataError: If the kinds differ, tags are not entity tags where spans are counted, single texts come where pairs
            are expected or both are mixed, or the model knows none of the labels.
    """
    for language in items:
        if language.kind != task.kind:
            raise DataError(
                f"{source}: expected data for {task.name}, a {task.kind} task, but this is {language.kind} data"
            )
    kind_of_task(task).check_fit(items, task, source)
    there = {label for language in items for label in language.gold_labels(task.labels)}
    if not there & set(task.labels):
        raise DataError(
            f"{source}: the model knows none of the labels in these data ({', '.join(sorted(there)[:5])}); it knows "
            f"{', '.join(task.labels[:5])}{', ...' if len(task.labels) > 5 else ''}. Are they data for another task?"
        )
