"""The loss: a mean over items, or over the items of the whole accumulated batch.

Trainer cuts a batch into micro-batches (gradient accumulation, ranks) and says how many items the whole has,
`num_items_in_batch`, the labels that are not -100. A mean of means is the mean of the whole only where the parts have
equally many items, which sentences do not; sums divided by the same number add up exactly. A stock head of adapters
gives a mean over its micro-batch, which is turned into this micro-batch's share of the whole: mean * items here / items
in the whole.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dlfa_adapters.data.pooling import IGNORED

SINGLE, MULTI, REGRESSION = "single_label_classification", "multi_label_classification", "regression"


def problem_type(num_labels: int, labels: Tensor) -> str:
    """What Transformers takes a classification for that does not say: by the number of labels and their dtype."""
    if num_labels == 1:
        return REGRESSION
    return MULTI if labels.is_floating_point() else SINGLE


def mean_loss(logits: Tensor, labels: Tensor, problem: str = SINGLE, num_items_in_batch: Any = None) -> Tensor:
    """The loss in float32.

    Args:
        logits: Scores, (..., labels).
        labels: Label ids (...), with -100 where none counts; for several labels an item 0 and 1, (..., labels); for
            regression numbers, of any shape with as many.
        problem: `single_label_classification`, `multi_label_classification` or `regression`.
        num_items_in_batch: The number of items in the whole batch, an int or a tensor with one element; without it
            those given here count. No items give a loss of 0.
    """
    scores = logits.float()
    if problem == SINGLE:
        flat = labels.reshape(-1)
        total = functional.cross_entropy(scores.reshape(flat.numel(), -1), flat, ignore_index=IGNORED, reduction="sum")
        items = (flat != IGNORED).sum()
    else:
        loss = functional.binary_cross_entropy_with_logits if problem == MULTI else functional.mse_loss
        total = loss(scores.reshape(-1), labels.reshape(-1).float(), reduction="sum")
        items = total.new_tensor(labels.numel())
    if num_items_in_batch is not None:
        items = torch.as_tensor(num_items_in_batch, device=total.device).reshape(-1)[0]
    return total / items.clamp(min=1)


def share_of_batch(loss: Tensor, items: Tensor, num_items_in_batch: Any) -> Tensor:
    """The part of the whole batch's mean loss that these items make up.

    Args:
        loss: The mean over `items`.
        items: Their number. With none the result is 0, where the mean itself is not a number.
        num_items_in_batch: The number in the whole batch, an int or a tensor with one element; None: the mean stays.
    """
    loss = torch.where(items > 0, loss, torch.zeros_like(loss))
    if num_items_in_batch is None:
        return loss
    total = torch.as_tensor(num_items_in_batch, device=loss.device).reshape(-1)[0]
    return loss * (items / total.clamp(min=1)).to(loss.dtype)
