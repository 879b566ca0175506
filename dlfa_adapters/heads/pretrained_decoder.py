"""The masked-language-model decoder of a checkpoint that has one."""

from dataclasses import dataclass
from typing import Any

from adapters.head_utils import STATIC_TO_FLEX_HEAD_MAP
from torch import Tensor
from transformers import AutoModelForMaskedLM

from dlfa_adapters.ground.reach import only_cached

_WITH_DECODER = ("ForMaskedLM", "ForPreTraining")


@dataclass(frozen=True)
class Decoder:
    """What `MaskedLMHead` takes.

    Attributes:
        activation_function: Its name.
        layer_norm_eps: Of the layer norm.
        weights: By the names that they have in `MaskedLMHead`.
    """

    activation_function: str
    layer_norm_eps: float
    weights: dict[str, Tensor]


def pretrained_decoder(location: str, config: Any) -> Decoder | None:
    """Read the decoder of a checkpoint; its output embeddings are the encoder's input embeddings.

    Args:
        location: Where the encoder came from: a folder, or a name on the hub.
        config: The encoder's configuration; `architectures` says what the checkpoint was saved from.

    Returns:
        The decoder, or None where the checkpoint has none, only a part of one, or one with embeddings of its own.
    """
    if not any(name.endswith(_WITH_DECODER) for name in config.architectures or ()):
        return None
    model, info = AutoModelForMaskedLM.from_pretrained(
        location, output_loading_info=True, local_files_only=only_cached(location)
    )
    known = STATIC_TO_FLEX_HEAD_MAP.get(type(model).__name__)
    if known is None or not model.config.tie_word_embeddings:
        return None
    dense, _, norm, output = known["layers"]
    names = {"dense": dense, "norm": norm}
    modules = dict(model.named_modules())
    if not {*names.values(), output} <= set(modules):  # DeBERTa with `legacy=False` has another one
        return None
    if any(key.startswith((f"{dense}.", f"{norm}.")) for key in info["missing_keys"]):
        return None
    weights = {f"{ours}.{key}": t for ours, theirs in names.items() for key, t in modules[theirs].state_dict().items()}
    return Decoder(
        known["config"]["activation_function"], modules[norm].eps, {**weights, "bias": modules[output].bias.detach()}
    )
