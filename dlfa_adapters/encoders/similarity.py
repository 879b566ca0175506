"""How alike a frozen encoder's states of parallel sentences are, layer by layer."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders.compute import tokens_at_once
from dlfa_adapters.encoders.states import encode


def sentence_means(
    model: Any,
    sentences: Sequence[HasInputIds],
    pad_token_id: int | None,
    layers: Sequence[int],
    on_progress: Callable[[int], None] | None = None,
) -> Tensor:
    """The mean state over the tokens of each sentence.

    Args:
        model: The encoder, in eval mode.
        sentences: From `encode_texts`.
        pad_token_id: The tokenizer's.
        layers: Which states.
        on_progress: Called with the number of sentences that were just done.

    Returns:
        (layers, sentences, width) in float32.
    """
    config = model.base_model.config
    lengths = [len(sentence.input_ids) for sentence in sentences]
    means = torch.empty(len(layers), len(sentences), config.hidden_size)
    for batch in token_budget_batches(lengths, tokens_at_once(model, config)):
        states = encode(model, [sentences[i] for i in batch], pad_token_id, layers).float()
        for i, tokens in zip(batch, states.split([lengths[i] for i in batch]), strict=True):
            means[:, i] = tokens.mean(0).cpu()
        if on_progress is not None:
            on_progress(len(batch))
    return means


def parallel_cosine(first: Tensor, second: Tensor) -> Tensor:
    """The mean cosine of sentences and their translations in each layer (Chen et al. 2022, arXiv 2205.08497, Table VI).

    Args:
        first: Means of the sentences, (layers, sentences, width).
        second: Means of their translations, likewise.

    Returns:
        (layers,).
    """
    return torch.nn.functional.cosine_similarity(first, second, dim=2).mean(1)
