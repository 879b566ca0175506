"""Which items share a batch: those of similar length, under a budget of tokens."""

from collections.abc import Sequence

from dlfa_adapters.ground.errors import ConfigError


def token_budget_batches(
    lengths: Sequence[int], max_tokens: int, max_items: int | None = None, enough: int | None = None
) -> list[list[int]]:
    """Groups items of similar length so that no batch, once padded, has more than `max_tokens` tokens.

    The longest come first: if the memory is too small, this shows at once. The batches hold indices, by which results
    are put back in the order of the input.

    Args:
        lengths: Tokens of each item.
        max_tokens: Most tokens in a padded batch; an item that alone has more is a batch of its own.
        max_items: Most items in a batch.
        enough: A batch with so many tokens takes no item that is shorter than nine tenths of its longest, which would
            be padding to a tenth and more.

    Returns:
        Indices of the items of each batch; every index is in exactly one.

    Raises:
        ConfigError: If a limit is smaller than one.
    """
    if max_tokens < 1 or (max_items is not None and max_items < 1):
        raise ConfigError(
            f"expected max_tokens and max_items of at least 1, got {max_tokens} and {max_items}; type max_tokens=8192."
        )
    batches: list[list[int]] = []
    width = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        items = len(batches[-1]) if batches else 0
        uneven = enough is not None and items * width >= enough and lengths[index] < 0.9 * width
        if not batches or (items + 1) * width > max_tokens or items == max_items or uneven:
            batches.append([])
            width = lengths[index]
        batches[-1].append(index)
    return batches
