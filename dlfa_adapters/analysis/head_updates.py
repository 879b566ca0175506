r"""How far each attention head moved in training: the mean absolute change of its weights, normalised.

"Enhancing Cross-Lingual Training with Knowledge Learned from Multi-Lingual Training", its Figure 1. Of head h in layer
l, with the weights $w$ before and $w'$ after,

$$u_{lh} = \frac{1}{n} \sum_{i=1}^{n} |w'_i - w_i|, \qquad \hat{u}_{lh} = u_{lh} / \max_{l', h'} u_{l'h'}$$

The paper says "absolute weight changes" and "normalised" and gives neither the weights nor the norm nor the normaliser.
Here $w$ are a head's rows of the query, key and value projections and its columns of the output projection, without
biases; other choices are options. Spearman's rho does not depend on `max` or `none`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from dlfa_adapters.analysis.correlation import spearman
from dlfa_adapters.analysis.head_updates_options import HeadUpdatesOptions
from dlfa_adapters.analysis.starts import check_start, start_of
from dlfa_adapters.encoders.attention import PROJECTIONS, head_weights
from dlfa_adapters.encoders.load import load_encoder
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.models import merge_lora
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.runs import Run
from dlfa_adapters.tuning.convert import merge_adapters
from dlfa_adapters.tuning.saving import ENCODER

DEFAULTS = HeadUpdatesOptions()


@dataclass(frozen=True, kw_only=True)
class HeadUpdates:
    """How far the heads of a model moved.

    Attributes:
        name: The run folder, or the encoder.
        before: What it is compared with.
        changes: The mean absolute change of the weights of each head, (layers, heads).
        values: The same, normalised.
    """

    name: str
    before: str
    changes: np.ndarray
    values: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """For JSON; rows are layers, the lowest first."""
        maps = {"changes": self.changes.tolist(), "values": self.values.tolist()}
        return {"name": self.name, "before": self.before, **maps}


@dataclass(frozen=True, kw_only=True)
class UpdatesCompared:
    """Two models: whether the same heads moved.

    Attributes:
        a: The first one.
        b: The second one.
        rho: Spearman's rank correlation over heads; None where all heads of one moved alike.
        p_value: Two-sided, of "there is no correlation".
        differences: The normalised updates of b minus those of a, (layers, heads).
    """

    a: str
    b: str
    rho: float | None
    p_value: float | None
    differences: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """For JSON; rows are layers, the lowest first."""
        return {**vars(self), "differences": self.differences.tolist()}


def update_map(before: Tensor, after: Tensor, options: HeadUpdatesOptions = DEFAULTS) -> tuple[np.ndarray, np.ndarray]:
    """The changes of heads, as they are and normalised.

    Args:
        before: From `head_weights`.
        after: Likewise.
        options: Which weights, and how they are normalised.

    Returns:
        The mean absolute changes, and the normalised ones, (layers, heads) each in float64.

    Raises:
        ConfigError: If the two are not of encoders of one shape.
        RunError: If no weight differs, or one is not a finite number.
    """
    if before.shape != after.shape:
        a, b = ("x".join(map(str, each.shape)) for each in (before, after))
        raise ConfigError(
            "Expected encoders with heads of one shape, got (layers x heads x projections x weights) "
            f"{a} and {b}; name the encoder that the training started from with --before."
        )
    chosen = [PROJECTIONS.index(name) for name in options.weights]
    first, second = before[:, :, chosen].double(), after[:, :, chosen].double()
    changes = (second - first).abs().mean((2, 3)).numpy()
    if not np.isfinite(changes).all():
        raise RunError("Weights of attention heads are not finite numbers; the model may be damaged.")
    if not changes.any():
        raise RunError(
            "No weight of an attention head differs: nothing there has learnt; give runs of --tuning full, freeze:N or "
            "lora, or another encoder with --before."
        )
    if options.normalise == "relative":
        return changes, changes / first.abs().mean((2, 3)).numpy()
    return changes, changes / (changes.max() if options.normalise == "max" else 1.0)


def measure_head_updates(
    models: Sequence[Run | str],
    before: str | None = None,
    options: HeadUpdatesOptions = DEFAULTS,
    progress: Progress = lambda stage, done, total: None,
) -> list[HeadUpdates]:
    """How far the heads of trained models moved from where the training started.

    Args:
        models: Runs whose encoder has learnt, with a LoRA as its merged weights; or encoders, a folder or a name on the
            hub.
        before: The encoder that they are compared with; None: for each run the one that it was trained on.
        options: Which weights, and how they are normalised.
        progress: Called after each model.

    Raises:
        ConfigError: If an encoder cannot be loaded, or an encoder is named without `before`.
        RunError: If a run cannot be loaded or no head of it has learnt; also of bottleneck adapters.
        UnsupportedModelError: If the heads of the encoder cannot be told apart.
    """
    found, loaded = [], dict[str, tuple[Tensor, str]]()
    for model in models:
        start = before or start_of(model)
        if start not in loaded:
            encoder = load_encoder(start)
            loaded = {start: (head_weights(encoder.model), encoder.describe()["fingerprint"])}
        weights, fingerprint = loaded[start]
        if before is None and isinstance(model, Run):
            check_start(model, fingerprint)
        name = str(model.folder) if isinstance(model, Run) else model
        try:
            changes, values = update_map(weights, _weights_of(model), options)
        except (ConfigError, RunError) as error:
            raise type(error)(f"{name} beside {start}: {error}") from None
        found.append(HeadUpdates(name=name, before=start, changes=changes, values=values))
        progress("Weights of heads", 1, len(models))
    return found


def compare_updates(found: Sequence[HeadUpdates]) -> list[UpdatesCompared]:
    """Every two models of the same shape, in their order."""
    compared = []
    for a, b in combinations(found, 2):
        if a.values.shape == b.values.shape:
            rho, p = spearman(a.values.flatten().tolist(), b.values.flatten().tolist())
            differences = b.values - a.values
            compared.append(UpdatesCompared(a=a.name, b=b.name, rho=rho, p_value=p, differences=differences))
    return compared


def not_compared(found: Sequence[HeadUpdates]) -> list[tuple[str, str]]:
    """The names of every two models that `compare_updates` leaves out: their layers or heads are other ones."""
    return [(a.name, b.name) for a, b in combinations(found, 2) if a.values.shape != b.values.shape]


def _weights_of(model: Run | str) -> Tensor:
    """The weights of a trained model."""
    if not isinstance(model, Run):
        return head_weights(load_encoder(model).model)
    saved = model.config.get("model", {}).get("saved")
    if saved == "encoder":
        return head_weights(load_encoder(str(Path(model.folder) / ENCODER)).model)
    trained = load_run(model).model
    if saved == "peft":
        return head_weights(merge_lora(trained))
    try:
        merge_adapters(trained)
    except UnsupportedModelError as error:
        raise RunError(f"no weight of its heads has learnt, {error}") from None
    return head_weights(trained)
