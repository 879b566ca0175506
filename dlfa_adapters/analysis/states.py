"""One vector for each sentence: its mean state in every layer of a model, and behind the fusion where it has one."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.data.batching import HasInputIds, pad_batch
from dlfa_adapters.data.budget import token_budget_batches
from dlfa_adapters.encoders.compute import tokens_at_once
from dlfa_adapters.fusion import Fusion, select_states
from dlfa_adapters.fusion.readout import pool_tokens
from dlfa_adapters.ground.errors import RunError

FUSED = "fused"
"""The name of the state behind the fusion; layers are called `0`..`L`."""


@torch.no_grad()
def sentence_states(
    model: Any,
    sentences: Sequence[HasInputIds],
    pad_token_id: int | None,
    on_progress: Callable[[int], None] | None = None,
) -> dict[str, Tensor]:
    """The mean state over the real tokens of each sentence, special tokens included.

    The model runs once, as it does when it predicts: with its adapters or LoRA, without dropout. What the encoder and
    the fusion give is read on the way, so that every kind of model is read alike.

    Args:
        model: An encoder, an adapter model with a DLFA head in force, a plain model of `dlfa_adapters.models`, or a
            PEFT model around one; in eval mode, and it stays on its device.
        sentences: From `encode_texts`.
        pad_token_id: The tokenizer's.
        on_progress: Called with the number of sentences that were just done.

    Returns:
        (sentences, width) in float32 for each of `0`..`L`, where L is `last_hidden_state`, and with a fusion for
        `fused`: what it gives, before LSTM and classifier.

    Raises:
        RunError: If a state is not a finite number.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # out of PEFT's wrapper
    encoder, fusions = inner.base_model, [module for module in model.modules() if isinstance(module, Fusion)]
    seen: dict[str, Any] = {}
    hooks = [encoder.register_forward_hook(lambda _module, _inputs, output: seen.update(encoder=output))]
    # Of fusions within a fusion the outer one ends last, and is kept.
    hooks += [
        each.register_forward_hook(lambda _module, _inputs, output: seen.update(fused=output)) for each in fusions
    ]
    lengths = [len(sentence.input_ids) for sentence in sentences]
    found: dict[str, Tensor] = {}
    try:
        for batch in token_budget_batches(lengths, tokens_at_once(inner, encoder.config)):
            rows = pad_batch([sentences[i] for i in batch], pad_token_id)
            inputs = {name: tensor.to(encoder.device) for name, tensor in rows.items()}
            (model if fusions else encoder)(**inputs, output_hidden_states=True, return_dict=True)
            for name, state in _by_name(seen).items():
                means = pool_tokens(state.float(), inputs["attention_mask"], "mean").cpu()
                found.setdefault(name, torch.empty(len(sentences), means.shape[1]))[batch] = means
            if on_progress is not None:
                on_progress(len(batch))
    finally:
        for hook in hooks:
            hook.remove()
    if not all(state.isfinite().all() for state in found.values()):
        raise RunError("The model gives hidden states that are not finite numbers; its weights may be damaged.")
    return found


def _by_name(seen: dict[str, Any]) -> dict[str, Tensor]:
    """What was read of a batch: (batch, seq, width) each."""
    outputs = seen["encoder"]
    states = select_states(range(len(outputs.hidden_states)), outputs.hidden_states, outputs.last_hidden_state)
    return {**{str(k): state for k, state in enumerate(states)}, **({FUSED: seen[FUSED]} if FUSED in seen else {})}
