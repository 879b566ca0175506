"""Running a model over items of any length: in batches of similar length, as fast as the device goes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.data.budget import token_budget_batches

TOKENS = {"cuda": (16384, 4096)}
"""By device: most positions in a batch, padding included, and from how many on its items must be of like lengths.

A GPU is to be filled; there padding costs less than another batch."""

OTHERWISE = (512, 128)
"""The same for every other device: a matrix product is not faster with more, and padding costs its full price."""


def batch_logits(
    model: Any,
    items: Sequence[HasInputIds],
    pad_token_id: int | None,
    max_tokens: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[list[int], Tensor]]:
    """The logits of all items, batch by batch.

    Nothing here waits for a GPU: while it computes, the next batch is padded. Whoever reads numbers out of the logits
    does so when all batches are through.

    Args:
        model: A model whose forward gives `logits`.
        items: Windows, or encoded texts.
        pad_token_id: The tokenizer's.
        max_tokens: Positions in a batch, padding included; the default depends on the device.
        on_progress: Called with the number of items that were just given to the model.

    Yields:
        Indices of the items of a batch, and their logits; every item is in one batch.
    """
    device = model.device
    most, enough = TOKENS.get(device.type, OTHERWISE)
    lengths = [len(item.input_ids) for item in items]
    for batch in token_budget_batches(lengths, max_tokens or most, enough=min(enough, max_tokens or enough)):
        inputs = {name: x.to(device) for name, x in pad_batch([items[i] for i in batch], pad_token_id).items()}
        with _attention(device.type):
            logits = model(**inputs).logits
        yield batch, logits
        if on_progress is not None:
            on_progress(len(batch))


def _attention(device: str) -> AbstractContextManager[Any]:
    """On a GPU any attention kernel but cuDNN's, which is built anew for every size of a batch."""
    others = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    return sdpa_kernel(others) if device == "cuda" else nullcontext()
