"""Probes: a linear classifier a state, all of a model side by side on states that are computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dlfa_adapters.analysis.probing.data import ProbeData
from dlfa_adapters.analysis.probing.options import ProbeOptions
from dlfa_adapters.encoders.head_states import HeadStates
from dlfa_adapters.encoders.positions import most_positions
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.metric import macro_f1
from dlfa_adapters.learning.frozen import (
    HeadSpec,
    Linear,
    Rate,
    TaggedStates,
    TrainedHead,
    learn_on_states,
    predict_ids,
    unit_states,
)

_WEIGHT_DECAY = 0.01


@dataclass(frozen=True)
class Probes:
    """Probes of some states of a model for a task.

    Attributes:
        heads: The trained classifiers, one a state, in the order of the states; each at the rate that dev chose.
        predicted: The label ids that they give to what is scored, (states, words or texts).
        scored: What that is.
        labels: Label names by id.
        edges: For each, `lowest` or `highest` where its rate is an end of those that were tried, else None.
    """

    heads: list[TrainedHead]
    predicted: Tensor
    scored: TaggedStates
    labels: tuple[str, ...]
    edges: list[str | None]

    @property
    def dev(self) -> list[float]:
        """The task's metric on dev, in percent."""
        return [head.dev_score for head in self.heads]

    def scores(self, data: ProbeData, score: str, language: str | None = None) -> np.ndarray:
        """The score of each probe in percent, over all languages put together.

        Args:
            data: The data that it was learned on.
            score: A name of `options.SCORES`.
            language: Of the items in this language alone.

        Returns:
            (states,).
        """
        chosen = [language in (None, other) for other in data.languages]
        tags = [each for each, wanted in zip(self.scored.tags, chosen, strict=True) if wanted]
        words = torch.tensor(
            [wanted for each, wanted in zip(self.scored.tags, chosen, strict=True) for _ in each], dtype=torch.bool
        )
        predicted = self.predicted[:, words.to(self.predicted.device)]
        if score == "metric":
            return np.array(kind_of_task(data.task).scorer()(tags, self.labels)(predicted))
        counts = label_counts(predicted, [[tag for each in tags for tag in each]], self.labels)
        return 100 * np.nan_to_num(macro_f1(counts[:, 0]))


def edge_note(name: str, edges: Sequence[str | None]) -> list[str]:
    """A sentence where a quarter of some probes or more has a rate at an end of those that were tried."""
    found = [(end, edges.count(end)) for end in ("lowest", "highest") if 4 * edges.count(end) >= len(edges) > 0]
    return [
        f"{name}: {number} of {len(edges)} probes have the {end} rate of --lr; a {end.replace('est', 'er')} one may be "
        "better for them."
        for end, number in found
    ]


def label_counts(predicted: Tensor, gold: Sequence[Sequence[str]], labels: Sequence[str]) -> np.ndarray:
    """What macro-F1 is a function of, see `kinds.metric.counts_by_label`, of many classifiers.

    Args:
        predicted: Label ids, (classifiers, units).
        gold: The right labels of each item; one that is none of `labels` is a label that is never predicted.
        labels: Label names by id.

    Returns:
        Whole numbers, (classifiers, items, labels * 3).
    """
    ids = {label: number for number, label in enumerate(labels)}
    right = np.array([ids.setdefault(label, len(ids)) for each in gold for label in each], dtype=np.int64)
    item = np.repeat(np.arange(len(gold)), [len(each) for each in gold])

    def by_label(item: np.ndarray, label: np.ndarray) -> np.ndarray:
        return np.bincount(item * len(ids) + label, minlength=len(gold) * len(ids))

    found = []
    for each in predicted.cpu().numpy():
        hit = each == right
        found.append(np.stack([by_label(item[hit], right[hit]), by_label(item, each), by_label(item, right)], -1))
    return np.stack(found).reshape(len(found), len(gold), -1)


def counts_of(probes: Probes, data: ProbeData, score: str) -> np.ndarray:
    """What the score of each probe is a function of, of each item that is scored; see `score_of`.

    Returns:
        Whole numbers, (states, items, counts).
    """
    if score == "metric":
        counts: np.ndarray = (
            kind_of_task(data.task).scorer()(probes.scored.tags, probes.labels).counts(probes.predicted).cpu().numpy()
        )
        return counts
    return label_counts(probes.predicted, probes.scored.tags, probes.labels)


def score_of(counts: np.ndarray, data: ProbeData, score: str) -> np.ndarray:
    """The score, as a share, of sums of `counts_of`, (..., counts) to (...); NaN where it is not defined."""
    if score != "metric":
        return macro_f1(counts)
    values: np.ndarray = kind_of_task(data.task).scorer().score(torch.from_numpy(counts)).numpy() / 100
    return values


def learn_probes(
    model: Any,
    tokenizer: Any,
    data: ProbeData,
    options: ProbeOptions,
    layers: Sequence[int] | None = None,
    progress: Progress = lambda stage, done, total: None,
    name: str = "",
) -> Probes:
    """Compute the states of all data once, and train a probe on each kind of state, all at once.

    Args:
        model: An encoder in eval mode, or `HeadStates` of one.
        tokenizer: Its fast tokenizer.
        data: The data.
        options: How probes learn.
        layers: Which states; default: all.
        progress: Called with a stage, how much of it was just done, and how much there is.
        name: What the model is called on the screen.

    Raises:
        RunError: If the model gives states that are not finite numbers.
    """
    parts = {"train": data.train, "dev": data.dev, **({"test": data.test} if data.test else {})}
    most = most_positions(model.encoder if isinstance(model, HeadStates) else model)
    examples = {part: data.examples(items, tokenizer, most) for part, items in parts.items()}
    stage, total = f"Hidden states ({name})", sum(len(each.rows) for each in examples.values())
    states = {
        part: unit_states(
            model, each, tokenizer.pad_token_id, layers, lambda done: progress(stage, done, total)
        )
        for part, each in examples.items()
    }  # fmt: skip
    specs = [
        HeadSpec.of(str(state), options.seed, fusion="layer", fuse_layer=(state,))
        for state in states["train"].states.layers
    ]
    trials = learn_on_states(
        specs,
        states["train"],
        states["dev"],
        data.task,
        Linear(options.epochs, batch_size=options.batch_size),
        rates=[[Rate(rate, _WEIGHT_DECAY) for rate in options.learning_rates]] * len(specs),
        seed=options.seed,
        on_progress=lambda done, steps: progress(f"Probes ({name})", done, steps),
    )
    heads, scored = [trial.head for trial in trials], states["test" if data.test else "dev"]
    predicted, edges = predict_ids(heads, scored, data.task.labels), [trial.edge for trial in trials]
    return Probes(heads, predicted, scored, tuple(data.task.labels), edges)
