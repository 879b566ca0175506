r"""What fine-tuning on one task does to what an encoder tells of another: probes before it, and after it.

"Enhancing Cross-Lingual Training with Knowledge Learned from Multi-Lingual Training", its Table 3. Of a model M that
was fine-tuned on a task and a probing task P,

$$\mathrm{probing}(M, P) = \mathrm{F1}(\text{ceiling}) - \mathrm{F1}(\text{probe})$$

probe: a new classifier for P on the frozen *pre-trained* encoder; ceiling: one on the frozen *fine-tuned* encoder of M.
A positive number says that fine-tuning has helped P. The encoder runs once over the data of a task; all its probes, of
several layers and at several rates, learn side by side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dlfa_adapters.analysis.probing.data import ProbeData
from dlfa_adapters.analysis.probing.learn import counts_of, learn_probes, score_of
from dlfa_adapters.analysis.probing.options import ProbeOptions
from dlfa_adapters.analysis.states import Opened
from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.intervals import Difference, Paired, paired_differences
from dlfa_adapters.scores.resample import draw_again, resample_languages
from dlfa_adapters.scores.translations import find_translations

DEFAULTS = ProbeOptions()


@dataclass(frozen=True, kw_only=True)
class ProbingCell:
    """A model and a probing task.

    Attributes:
        model: The run folder, or the encoder.
        trained_on: The task of the run; None for an encoder.
        task: The probing task.
        layer: The layer that is read.
        difference: A: the probe, B: the ceiling; their scores as shares, and ceiling minus probe with an interval.
    """

    model: str
    trained_on: str | None
    task: str
    layer: int
    difference: Difference

    @property
    def is_own(self) -> bool:
        """Whether the model was trained on the probing task, which the paper leaves out."""
        return self.trained_on == self.task

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "is_own": self.is_own}


@dataclass(frozen=True, kw_only=True)
class ModelProbing:
    """Probes and ceilings of some models.

    Attributes:
        before: The pre-trained encoder.
        score: A name of `options.SCORES`.
        resamples: Bootstrap resamples.
        tasks: For each probing task `scored_on`, and `sizes` by part of its data.
        edges: By model and task: for each of the `layers`, see `Probes.edges`.
        cells: Every model, probing task and layer.
    """

    before: str
    score: str
    resamples: int
    tasks: dict[str, dict[str, Any]]
    edges: dict[str, list[str | None]]
    cells: list[ProbingCell]

    @property
    def models(self) -> list[str]:
        """The models, in their order."""
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def layers(self) -> list[int]:
        """The layers that were read."""
        return sorted({cell.layer for cell in self.cells})

    def cell(self, model: str, task: str, layer: int) -> ProbingCell:
        """One of them."""
        return next(x for x in self.cells if (x.model, x.task, x.layer) == (model, task, layer))

    def matrix(self, layer: int) -> np.ndarray:
        """Differences in points, (models, tasks); NaN where there is none."""
        found = [[self.cell(m, t, layer).difference.difference for t in self.tasks] for m in self.models]
        return 100 * np.array([[np.nan if x is None else x for x in row] for row in found])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "cells": [cell.to_dict() for cell in self.cells]}


def probe_models(
    before: Opened,
    models: Iterable[tuple[str | None, Opened]],
    tasks: Sequence[ProbeData],
    options: ProbeOptions = DEFAULTS,
    layers: Sequence[int] | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> ModelProbing:
    """Train probes on the pre-trained encoder and ceilings on every model, for every task.

    Args:
        before: The pre-trained encoder.
        models: What was fine-tuned, and the task of each; each is opened when the one before it is done with.
        tasks: The probing tasks.
        options: How probes learn and are scored.
        layers: Which layers are read; default: the last one.
        progress: Called with a stage, how much of it was just done, and how much there is.

    Raises:
        ConfigError: If a task comes twice, a model is no fine-tuned `before`, or there is no such layer.
        RunError: If a model gives states that are not finite numbers.
    """
    names = [data.task.name for data in tasks]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"The task {twice[0]} comes twice; give each probing task once.")
    chosen = _layers(before, layers)

    edges: dict[str, list[str | None]] = {}

    def counts(model: Opened) -> list[np.ndarray]:
        by_task = []
        for data in tasks:
            name = f"{model.name}, {data.task.name}"
            encoder = encoder_of(model.model)
            probes = learn_probes(encoder, model.tokenizer, data, options, chosen, progress, name)
            edges[name] = probes.edges
            by_task.append(counts_of(probes, data, options.score))
        return by_task

    found, trained_on = [counts(before)], list[tuple[str, str | None]]()
    for task, model in models:
        check_shape(before, model)
        found.append(counts(model))
        trained_on.append((model.name, task))
    cells = _cells(found, trained_on, tasks, options, chosen)
    about = {data.task.name: {"scored_on": data.scored_on, "sizes": data.sizes} for data in tasks}
    return ModelProbing(
        before=before.name, score=options.score, resamples=options.resamples, tasks=about, edges=edges, cells=cells
    )


def _cells(
    found: Sequence[Sequence[np.ndarray]],
    trained_on: Sequence[tuple[str, str | None]],
    tasks: Sequence[ProbeData],
    options: ProbeOptions,
    layers: Sequence[int],
) -> list[ProbingCell]:
    """Every ceiling minus its probe; the intervals are those for all of them at once."""
    places, pairs = [], []
    for number, data in enumerate(tasks):
        values, samples = resampled([each[number] for each in found], data, options)
        for model, (name, task) in enumerate(trained_on, 1):
            for at, layer in enumerate(layers):
                drawn = samples[:, model, at] - samples[:, 0, at]
                pairs.append(Paired(values[0, at], values[model, at], drawn, len(data.languages)))
                places.append({"model": name, "trained_on": task, "task": data.task.name, "layer": layer})
    return [
        ProbingCell(**place, difference=difference)  # type: ignore[arg-type]
        for place, difference in zip(places, paired_differences(pairs), strict=True)
    ]


def resampled(found: Sequence[np.ndarray], data: ProbeData, options: ProbeOptions) -> tuple[np.ndarray, np.ndarray]:
    """Scores of several models on the same data, all languages put together, and on resamples of it.

    Of each model `counts_of` is given, (states, items, counts). Translations of each other are drawn together.

    Returns:
        (models, states), and (resamples, models, states).
    """
    counts = np.stack(found)  # models, states, items, counts
    models, states, items, width = counts.shape
    by_item = counts.transpose(2, 0, 1, 3).reshape(items, -1)
    of_language = np.array(data.languages)
    parts = {x.language: by_item[of_language == x.language] for x in data.scored}
    translations = find_translations(data.scored, data.task) if len(parts) > 1 else None
    sums = resample_languages(parts, translations, options.resamples, options.seed)
    drawn = sum(each.values for each in sums.values())
    samples = score_of(np.asarray(drawn).reshape(-1, models * states, width), data, options.score)
    samples = draw_again(samples, next(iter(sums.values())).random)
    values = score_of(counts.sum(2), data, options.score)
    return values, samples.reshape(-1, models, states)


def _layers(model: Opened, layers: Sequence[int] | None) -> list[int]:
    depth = encoder_of(model.model).config.num_hidden_layers
    if layers is None:
        return [depth]
    if not layers or (wrong := [layer for layer in layers if not 0 <= layer <= depth]):
        raise ConfigError(f"{model.name} has the layers 0 to {depth}, got {wrong[0] if layers else 'none'}.")
    return sorted(set(layers))


def check_shape(before: Opened, model: Opened) -> None:
    """Refuse a model that cannot have been fine-tuned from another one.

    Raises:
        ConfigError: If its encoder is of another family, depth or width.
    """
    if _shape(model) != _shape(before):
        raise ConfigError(
            f"{model.name} is {_shape(model)}, {before.name} is {_shape(before)}; name the encoder that it was "
            "fine-tuned from with --model."
        )


def _shape(model: Opened) -> str:
    config = encoder_of(model.model).config
    return f"{config.model_type} with {config.num_hidden_layers} layers of width {config.hidden_size}"
