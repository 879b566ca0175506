"""Each attention head probed alone: its output, before the output projection, read by a linear classifier.

"Enhancing Cross-Lingual Training with Knowledge Learned from Multi-Lingual Training", its Table 4 and Figures A1 to A4.
All heads of all layers are probed side by side: the encoder runs once, and no probe waits for another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlfa_adapters.analysis.probing.data import ProbeData
from dlfa_adapters.analysis.probing.learn import learn_probes
from dlfa_adapters.analysis.probing.options import ProbeOptions
from dlfa_adapters.analysis.probing.overlap import check_top
from dlfa_adapters.analysis.states import Opened
from dlfa_adapters.encoders.head_states import HeadStates
from dlfa_adapters.ground.environment import Progress

DEFAULTS = ProbeOptions()


@dataclass(frozen=True, kw_only=True)
class HeadProbing:
    """How much of a task each head of a model tells.

    Attributes:
        name: The run folder, or the encoder.
        task: Name of the task.
        score: A name of `options.SCORES`.
        scored_on: What was scored, such as `test de, en`.
        scores: In percent, (layers, heads): of all languages put together.
        languages: The same of each language.
        dev: The task's metric on dev, in percent, (layers, heads).
        rates: The learning rate that dev chose, likewise.
        edges: For each head, layer after layer, whether that is the `lowest` or the `highest` of those tried, or None.
        sizes: Items by part of the data.
    """

    name: str
    task: str
    score: str
    scored_on: str
    scores: np.ndarray
    languages: dict[str, np.ndarray]
    dev: np.ndarray
    rates: np.ndarray
    edges: list[str | None]
    sizes: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; rows are layers, the lowest first."""
        maps = {name: getattr(self, name).tolist() for name in ("scores", "dev", "rates")}
        return {**vars(self), **maps, "languages": {x: each.tolist() for x, each in self.languages.items()}}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "HeadProbing":
        """What `to_dict` gave."""
        maps: dict[str, Any] = {name: np.array(record[name], dtype=float) for name in ("scores", "dev", "rates")}
        by_language = {language: np.array(each, dtype=float) for language, each in record["languages"].items()}
        return cls(**{**record, **maps, "languages": by_language})


def check_heads(model: Opened, top: Sequence[int] = ()) -> None:
    """Refuse a model whose heads cannot be probed, or that has not so many.

    Raises:
        ConfigError: If K in `top` is not from 1 to the number of heads.
        UnsupportedModelError: If heads cannot be told apart.
    """
    heads = HeadStates(model.model)
    check_top(top, heads.layers * heads.heads)


def probe_heads(
    model: Opened,
    data: ProbeData,
    options: ProbeOptions = DEFAULTS,
    progress: Progress = lambda stage, done, total: None,
) -> HeadProbing:
    """Train a linear classifier on the output of every head of a model, all side by side, and score them.

    Args:
        model: An encoder, or the model of a run.
        data: The data of a task.
        options: How probes learn and are scored.
        progress: Called with a stage, how much of it was just done, and how much there is.

    Raises:
        UnsupportedModelError: If the heads of the encoder cannot be told apart.
        RunError: If the model gives outputs that are not finite numbers.
    """
    heads = HeadStates(model.model)
    probes = learn_probes(heads, model.tokenizer, data, options, None, progress, model.name)
    shape = (heads.layers, heads.heads)
    return HeadProbing(
        name=model.name,
        task=data.task.name,
        score=options.score,
        scored_on=data.scored_on,
        scores=probes.scores(data, options.score).reshape(shape),
        languages={
            items.language: probes.scores(data, options.score, items.language).reshape(shape) for items in data.scored
        },
        dev=np.array(probes.dev).reshape(shape),
        rates=np.array([head.rate.learning_rate for head in probes.heads]).reshape(shape),
        edges=probes.edges,
        sizes=data.sizes,
    )


def by_language(found: Sequence[HeadProbing]) -> dict[str, np.ndarray]:
    """A ranking for each model and language, by name."""
    return {f"{name} {language}": scores for name, each in named(found) for language, scores in each.languages.items()}


def rankings(found: Sequence[HeadProbing]) -> dict[str, np.ndarray]:
    """A ranking for each model, by name."""
    return {name: each.scores for name, each in named(found)}


def named(found: Sequence[HeadProbing]) -> list[tuple[str, HeadProbing]]:
    """Each with a name of its own: the model; its task too, where there are several; a number, where it is taken."""
    several = len({each.task for each in found}) > 1
    names: list[str] = []
    for each in found:
        name = f"{each.name} on {each.task}" if several else each.name
        times = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({times + 1})" if times else name)
    return list(zip(names, found, strict=True))
