"""Which items of several languages are translations of each other, so that a resample has to draw them together.

In XNLI, PAWS-X, SIB-200 and the Parallel Universal Dependencies (PUD) a test set is the same in every language. An item
that is hard is then hard in all of them, and the mean over languages varies more than it would if each had items of its
own: intervals of languages that are drawn one by one are too narrow.

What tells it are the ids, never the number of items: ids of the data's own (`index_id`, `sent_id`, `pairID`); for a
task that is known to be parallel also the place in the file. Ids that stand for different things, such as 1, 2, ... in
two files that have nothing to do with each other, are detected by the gold labels, which translations share.
Where items are drawn together that are no translations, the interval is as wide as it would be otherwise.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlfa_adapters.kinds import kind_named
from dlfa_adapters.predict import Items
from dlfa_adapters.tasks import Task

AGREEMENT = 0.9
"""Translations have the same gold label at least as often as this."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How the languages of a mean are drawn in a resample.

    Attributes:
        together: Whether items that are translations of each other are drawn together.
        by: What tells that they are; None where nothing does.
        shared: Ids that at least two languages have.
        alone: Items without a partner, which each language draws for itself.
        sentence: All that for a reader.
    """

    together: bool
    by: str | None
    shared: int
    alone: int
    sentence: str

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> "Drawn | None":
        """What `dataclasses.asdict` made the values of; None for a single language."""
        return None if values is None else cls(**values)


EARLIER = Drawn(
    together=False,
    by=None,
    shared=0,
    alone=0,
    sentence="Languages were resampled one by one, by a version that knew no other way: if items are translations of "
    "each other, the intervals of the means are too narrow; make it anew.",
)
"""The note on figures that were saved before languages could be drawn together."""


@dataclass(frozen=True)
class Translations:
    """The items of several languages by what tells translations.

    Attributes:
        keys: By language, the key of each item: equal for translations of each other; None for an item that can have no
            partner.
        drawn: What a reader has to know.
    """

    keys: dict[str, list[str | None]]
    drawn: Drawn


def find_translations(languages: Sequence[Items], task: Task) -> Translations | None:
    """Look for items that are translations of each other.

    Args:
        languages: Items, or predictions, by language.
        task: Their task; `Task.parallel` says whether the place in a file counts as an id.

    Returns:
        None for a single language. Without translations, every key is None.
    """
    if len(languages) < 2:
        return None
    keys = {each.language: _keys(each, task) for each in languages}
    times = Counter(key for by_item in keys.values() for key in set(by_item) if key is not None)
    shared = {key for key, number in times.items() if number > 1}
    untold = any(each.own_ids is None for each in languages)
    if not shared or (kind_named(task.kind).shares_gold and not _labels_agree(languages, keys, shared)):
        return _apart(languages, untold and kind_named(task.kind).ids_beside)
    joined = {name: [key if key in shared else None for key in by_item] for name, by_item in keys.items()}
    alone = sum(key is None for by_item in joined.values() for key in by_item)
    linked = [each for each in languages if any(key is not None for key in joined[each.language])]
    id_name = kind_named(task.kind).id_name(task)
    by = " and ".join(dict.fromkeys("place in the file" if each.own_ids is False else id_name for each in linked))
    sentence = f"Languages are resampled together: items are translations of each other (by {by})"
    sentence += f"; {alone:,} items without a partner are drawn by themselves." if alone else "."
    if untold:
        sentence += (
            " The evaluation was saved before it said what its ids are: that equal ones are translations is assumed."
        )
    drawn = Drawn(together=True, by=by, shared=len(shared), alone=alone, sentence=sentence)
    return Translations(joined, drawn)


def _keys(items: Items, task: Task) -> list[str | None]:
    """What each item would share with its translations."""
    if items.own_ids is False:
        return [f"place {name}" if task.parallel else None for name in items.ids]
    tells = kind_named(task.kind).tells_translations
    return [f"id {name}" if task.parallel or tells(name) else None for name in items.ids]


def _labels_agree(languages: Sequence[Items], keys: Mapping[str, list[str | None]], shared: set[str]) -> bool:
    """Whether texts that share a key share the label too."""
    first: dict[str, str] = {}
    same = compared = 0
    for each in languages:
        for key, label in zip(keys[each.language], each.gold, strict=True):
            if key in shared and key is not None:
                compared += key in first
                same += key in first and first[key] == label
        for key, label in zip(keys[each.language], each.gold, strict=True):
            if key is not None:
                first.setdefault(key, label)
    return same >= AGREEMENT * compared


def _apart(languages: Sequence[Items], without_ids: bool) -> Translations:
    sentence = "Languages are resampled one by one: nothing tells that items are translations of each other."
    if without_ids:
        sentence = (
            "Languages are resampled one by one: the evaluation was saved without the ids of its sentences, so it is "
            "assumed that none are translations of each other; evaluate again if they are."
        )
    alone = sum(len(each.gold) for each in languages)
    return Translations(
        {each.language: [None] * len(each.gold) for each in languages},
        Drawn(together=False, by=None, shared=0, alone=alone, sentence=sentence),
    )
