"""Merging a LoRA into the encoder."""

from typing import Any

import torch
from torch import Tensor

from dlfa_adapters.encoders.plain import probe_inputs
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.models.base import DLFAPreTrainedModel
from dlfa_adapters.models.lora import base_of


def merge_lora(model: Any, tolerance: float = 1e-5) -> DLFAPreTrainedModel:
    """Merge a LoRA into the encoder's weights, and check that the scores are the same.

    Fusion and classifier stay as they are trained. The merge is done in float32: a small update is lost when it is
    rounded to the 8 bits of a bfloat16 weight. The model comes back in float32.

    Args:
        model: What `peft.get_peft_model` or `load_lora` gave. It is used up.
        tolerance: How far the scores of a probe may be apart, relative to the largest, before and after.

    Returns:
        The plain model in eval mode, which `save_pretrained` saves completely.

    Raises:
        ConfigError: If the encoder is in 4 bits.
        RunError: If the scores differ.
    """
    base = base_of(model)
    if getattr(base, "is_quantized", False):
        raise ConfigError("Merging into 4-bit weights would round the LoRA away; type load_lora(folder), then merge.")
    model = model.float().eval()
    before = probe_scores(model)
    merged: DLFAPreTrainedModel = model.merge_and_unload(safe_merge=True).eval()
    difference = (probe_scores(merged) - before).abs().max().item()
    if not difference <= tolerance * max(1.0, before.abs().max().item()):
        raise RunError(
            f"Merging changed the scores by {difference:.1e}, more than {tolerance:.0e}; keep the LoRA apart."
        )
    return merged


@torch.no_grad()
def probe_scores(model: Any, **options: Any) -> Tensor:
    """The scores that a model in eval mode gives to two short texts, in one tensor; without those that are -inf."""
    config = getattr(model.config, "encoder_config", model.config)
    logits = model(**probe_inputs(config, model.device), **options).logits
    several = logits if isinstance(logits, tuple) else (logits,)
    scores = torch.cat([each.flatten() for each in several])
    return scores[scores != -torch.inf]
