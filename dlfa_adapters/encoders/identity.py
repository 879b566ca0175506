"""What of an encoder a head depends on: its type, depth and width. Saved with every head, and checked at loading."""

import hashlib
from typing import Any

from dlfa_adapters.ground.errors import RunError


def describe_encoder(config: Any) -> dict[str, Any]:
    """The encoder as it stands in a saved head.

    Args:
        config: The Transformers configuration of the model.
    """
    return {
        "model_type": config.model_type,
        "num_layers": config.num_hidden_layers,
        "hidden_size": config.hidden_size,
        "name": getattr(config, "name_or_path", "") or "",
    }


def fingerprint(model: Any) -> str:
    """A short hash of an encoder: names, shapes and the first 64 values of every weight, without adapters and heads.

    Cheap enough for every load, and different for other weights: retraining moves every tensor.
    """
    digest = hashlib.sha256()
    for name, weight in sorted(model.base_model.named_parameters()):
        if "adapter" in name or "prompt_tuning" in name or "lora" in name or "prefix_tuning" in name:
            continue
        values = weight.detach().flatten()[:64].float().cpu().numpy()
        digest.update(f"{name} {tuple(weight.shape)}".encode() + values.tobytes())
    return digest.hexdigest()[:16]


def check_encoder(head_name: str, saved: dict[str, Any], config: Any) -> None:
    """Refuse a saved head that belongs to another kind of encoder.

    Args:
        head_name: Name of the head, for the message.
        saved: What `describe_encoder` said when the head was saved.
        config: The configuration of the model that is to take it.

    Raises:
        RunError: Naming both encoders. The checkpoint's name may differ: that is what fine-tuning does.
    """
    here = describe_encoder(config)
    if any(saved.get(key) != here[key] for key in ("model_type", "num_layers", "hidden_size")):
        name = saved.get("name") or "the model that it was saved from"
        raise RunError(
            f"Head {head_name!r} belongs to {_sentence(saved)}, but this model is {_sentence(here)}; load it into "
            f"AutoAdapterModel.from_pretrained({name!r}) or another model of that kind."
        )


def _sentence(encoder: dict[str, Any]) -> str:
    return (
        f"a {encoder.get('model_type')} encoder with {encoder.get('num_layers')} layers "
        f"of width {encoder.get('hidden_size')}"
    )
