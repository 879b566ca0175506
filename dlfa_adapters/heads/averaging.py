"""Averages of heads: which can be averaged, and with which weights."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.heads.head import is_dlfa_head

_WHERE_IT_CAME_FROM = ("encoder", "versions")
"""What of a head's configuration may differ: the encoder's folder, and versions of libraries. Its form is checked."""


class AveragingMixin:
    """`average_head` for DLFA heads."""

    def average_head(
        self: Any,
        head_name: str,
        head_list: Sequence[str] | Mapping[str, float],
        weights: Sequence[float] | None = None,
        normalize_weights: bool = True,
        overwrite_ok: bool = False,
        set_active: bool = False,
    ) -> None:
        """Add a head whose weights are the weighted mean of those of other heads; see upstream.

        Heads whose encoder came from different folders can be averaged: what they need of it was checked when they were
        loaded.

        Args:
            head_name: Name of the new head.
            head_list: The heads; or their weights by name.
            weights: The weights; equal ones by default.
            normalize_weights: Whether they are divided by their sum.
            overwrite_ok: Whether a head of that name may be replaced.
            set_active: Whether to activate it.

        Raises:
            ConfigError: If a running variance of batch norm would not be positive, as negative weights can make it.
        """
        names = list(head_list)
        heads = [self.heads[name] for name in names if name in self.heads]
        if len(heads) == len(names) and heads and all(is_dlfa_head(head) for head in heads):
            shares = list(head_list.values()) if isinstance(head_list, Mapping) else weights
            _check_variances(heads, [1.0] * len(heads) if shares is None else list(shares), normalize_weights)
        with _as_of_one_place(heads):
            super().average_head(  # type: ignore[misc]
                head_name, head_list, weights, normalize_weights, overwrite_ok, set_active
            )


def _check_variances(heads: list[Any], weights: list[float], normalize: bool) -> None:
    total = sum(weights) if normalize else 1.0
    if len(weights) != len(heads):
        return  # upstream says so
    if total == 0:
        raise ConfigError(f"The weights {weights} add up to 0; type normalize_weights=False, or others.")
    states = [head.state_dict() for head in heads]
    for name in states[0]:
        if name.endswith("running_var") and all(name in state for state in states):
            mean = sum(weight / total * state[name] for weight, state in zip(weights, states, strict=True))
            if not bool((torch.as_tensor(mean) > 0).all()):
                raise ConfigError(
                    f"The weights {weights} make a running variance of batch norm ({name}) negative, and the scores no "
                    "numbers; type weights from 0 up, or train the heads with norm='layer'."
                )


@contextmanager
def _as_of_one_place(heads: list[Any]) -> Iterator[None]:
    """For a while, the configurations of DLFA heads say that they came from where the first did."""
    kept = [head.config for head in heads]
    try:
        for head in heads[1:]:
            if is_dlfa_head(head) and is_dlfa_head(heads[0]):
                head.config = {**head.config, **{key: kept[0].get(key) for key in _WHERE_IT_CAME_FROM}}
        yield
    finally:
        for head, config in zip(heads, kept, strict=True):
            head.config = config
