"""The loss over a whole accumulated batch.

Trainer cuts a batch into micro-batches (gradient accumulation, ranks) and tells the model how many items the whole has:
`num_items_in_batch`, the labels that are not -100. A head's own loss is a mean over its micro-batch. A mean of means is
the mean of the whole only where the parts have equally many items, which sentences do not. So the mean is turned into
this micro-batch's share of the whole: mean * items here / items in the whole. The shares add up exactly.
"""

from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.pooling import IGNORED

COUNTABLE = ("tagging", "classification", "multilabel_classification", "multiple_choice")
"""Inner heads whose items Trainer counts: those with `labels`. Question answering and parsing have other inputs."""


def items_in(head_type: str, num_labels: int, labels: Tensor, attention_mask: Tensor | None) -> Tensor:
    """How many items the mean of the stock head's loss is over.

    Args:
        head_type: One of `COUNTABLE`.
        num_labels: Number of labels; a classification head with one is a regression.
        labels: The labels that the head gets.
        attention_mask: (batch, seq), or None. A tagging head leaves masked positions out.

    Returns:
        A scalar on the device of the labels.
    """
    if head_type == "multilabel_classification" or (head_type == "classification" and num_labels == 1):
        return labels.new_tensor(labels.numel(), dtype=torch.long)
    counted = labels != IGNORED
    if head_type == "tagging" and attention_mask is not None:
        counted = counted & (attention_mask == 1)
    return counted.sum()


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
