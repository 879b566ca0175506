"""Sentences of random states as padded batches, and back."""

import torch
from torch import Tensor

LENGTHS = (4, 1, 3)


def random_sentences(
    seed: int, lengths: tuple[int, ...], width: int, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(length, width, generator=generator, dtype=dtype) for length in lengths]


def pad(
    sentences: list[Tensor], length: int | None = None, side: str = "right", fill: float = 0.0
) -> tuple[Tensor, Tensor]:
    """States (batch, length, width), with `fill` in the padding, and the mask (batch, length)."""
    length = length or max(map(len, sentences))
    states = sentences[0].new_full((len(sentences), length, sentences[0].shape[1]), fill)
    mask = torch.zeros(len(sentences), length, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        start = 0 if side == "right" else length - len(sentence)
        states[row, start : start + len(sentence)] = sentence
        mask[row, start : start + len(sentence)] = 1
    return states, mask


def unpad(states: Tensor, mask: Tensor) -> list[Tensor]:
    return [row[real.bool()] for row, real in zip(states, mask, strict=True)]


def random_batch(
    seed: int,
    num_states: int = 2,
    lengths: tuple[int, ...] = LENGTHS,
    width: int = 8,
    dtype: torch.dtype = torch.float64,
    **padding,
) -> tuple[list[Tensor], Tensor]:
    """Some layers of one batch, and its mask."""
    layers = [pad(random_sentences(seed + 1000 * k, lengths, width, dtype), **padding) for k in range(num_states)]
    return [states for states, _ in layers], layers[0][1]


def buffers_of(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: buffer.clone() for name, buffer in module.named_buffers()}
