"""Loading the encoder of a run by name, and telling whether it is the same one again."""

import hashlib
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.errors import ConfigError
from dlfa_adapters.heads.bare import load_encoder_model
from dlfa_adapters.offline.encoder import find_offline_encoder, load_found

OFFLINE = "offline"


@dataclass(frozen=True)
class Encoder:
    """A loaded encoder.

    Attributes:
        name: `offline`, a folder, or a name on the hub.
        origin: One line that says where the weights come from.
        model: An adapter model in eval mode.
        tokenizer: Its fast tokenizer.
    """

    name: str
    origin: str
    model: Any
    tokenizer: Any

    def describe(self) -> dict[str, Any]:
        """What a run folder records, to find and recognise the encoder later."""
        config = self.model.config
        return {
            "name": self.name,
            "origin": self.origin,
            "model_type": config.model_type,
            "hidden_size": config.hidden_size,
            "num_hidden_layers": config.num_hidden_layers,
            "fingerprint": fingerprint(self.model),
        }


def load_encoder(name: str = OFFLINE) -> Encoder:
    """Load an encoder and its tokenizer.

    Args:
        name: `offline` (multilingual-e5-small from the package index), a folder, or a name on the hub.

    Raises:
        ConfigError: If there is no such model, or the hub cannot be reached.
        MissingExtraError: If `offline` is asked for and the extra `demo` is not installed.
    """
    if name == OFFLINE:
        found = find_offline_encoder()
        model, tokenizer = load_found(found)
        return Encoder(name, found.origin, model, tokenizer)
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = load_encoder_model(name)
    except (OSError, ValueError) as error:
        first = textwrap.shorten(str(error).strip().splitlines()[0], 200, placeholder=" …")
        raise ConfigError(
            f"The encoder {name!r} cannot be loaded ({first}); give a folder, a name on a hub that can be reached, "
            f"or {OFFLINE!r} for the one from the package index."
        ) from error
    where = "folder" if Path(name).is_dir() else "hub"
    return Encoder(name, f"{name} ({where})", model, tokenizer)


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
