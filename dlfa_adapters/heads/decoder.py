"""The decoder of a masked language model: a checkpoint's own, or one that was trained with a language adapter and kept.

`load_masked_lm` gives a model that writes pieces: a checkpoint with its decoder, or an encoder without one, such as the
offline encoder, with a language adapter and the decoder beside it.
"""

import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.head_utils import STATIC_TO_FLEX_HEAD_MAP
from torch import Tensor
from transformers import AutoModelForMaskedLM

from dlfa_adapters.encoders.adapted import is_adapted
from dlfa_adapters.encoders.load import OFFLINE, Encoder, load_encoder, load_tokenizer, told_if_not_loaded
from dlfa_adapters.ground.environment import only_cached
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.ground.tensors import read_tensors, save_tensors
from dlfa_adapters.heads.language import UNCHECKED
from dlfa_adapters.heads.masked_lm import MASKED_LM_TYPE, MaskedLMHead
from dlfa_adapters.heads.schema import DECODER, check_decoder

_HEAD = "masked_lm"

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

    Of the encoder's configuration `architectures` says what the checkpoint was saved from.

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


def add_decoder(model: Any, head_name: str, decoder: Decoder | None) -> MaskedLMHead:
    """Add a masked-language-model head with a decoder's weights, or new ones for None; a head of that name goes."""
    model.register_custom_head(MASKED_LM_TYPE, MaskedLMHead)
    if decoder is None:
        head = MaskedLMHead(model, head_name)
    else:
        head = MaskedLMHead(model, head_name, decoder.activation_function, decoder.layer_norm_eps)
        head.load_state_dict(decoder.weights)
    model.add_prediction_head(head, overwrite_ok=True)
    return head


def save_decoder(head: MaskedLMHead, folder: Path) -> None:
    """Save a decoder beside the adapter or encoder that it was trained with; other libraries do not look at it."""
    options = ("activation_function", "layer_norm_eps")
    save_tensors(folder / DECODER, head.state_dict(), {name: head.config[name] for name in options})


def read_decoder(folder: str | Path) -> Decoder:
    """Read what `save_decoder` wrote.

    Raises:
        ConfigError: If there is none, as in folders of other origin.
        DamagedError: If the file is not the one that was written.
    """
    check_decoder(folder)
    weights, options = read_tensors(Path(folder) / DECODER)
    return Decoder(options["activation_function"], options["layer_norm_eps"], weights)


def load_masked_lm(name: str, language_adapter: str | Path | None = None) -> Encoder:
    """Load a model that writes pieces, as its `logits`.

    Args:
        name: A folder or a name on the hub with a masked language model, or the folder of an encoder that was adapted
            (`dlfa adapt`); or with a language adapter any encoder that it was trained on, `offline` too.
        language_adapter: A folder of `train_language`, whose adapter is put into the encoder and whose decoder on it.

    Returns:
        The model in eval mode: a `PreTrainedModel` of Transformers, or of adapters with a language adapter or adapted.

    Raises:
        ConfigError: If there is no such model, it has no decoder, or the adapter belongs to another encoder.
    """
    if language_adapter is not None:
        decoder = read_decoder(str(language_adapter).removeprefix(UNCHECKED))
        encoder = load_encoder(name)
        encoder.model.set_active_adapters(encoder.model.load_language_adapter(language_adapter))
        add_decoder(encoder.model, _HEAD, decoder)
        encoder.model.active_head = _HEAD
        return replace(encoder, origin=f"{encoder.origin}, with {language_adapter}", model=encoder.model.eval())
    if is_adapted(name):
        encoder = load_encoder(name)
        add_decoder(encoder.model, _HEAD, read_decoder(name))
        encoder.model.active_head = _HEAD
        return replace(encoder, model=encoder.model.eval())
    missing: list[str] = [name]
    if name != OFFLINE:
        local = only_cached(name)
        with told_if_not_loaded(name, local):
            tokenizer = load_tokenizer(name)
            model, info = AutoModelForMaskedLM.from_pretrained(name, local_files_only=local, output_loading_info=True)
            taken = inspect.signature(model.forward).parameters  # some tokenizers give segments to models without
            tokenizer.model_input_names = [each for each in tokenizer.model_input_names if each in taken]
        missing = [key for key in info["missing_keys"] if not key.startswith(f"{model.base_model_prefix}.")]
    if missing:
        raise ConfigError(
            f"The encoder {name!r} has no decoder, which writes pieces; name a masked language model, or train a "
            f"decoder with dlfa train-language --model {name} and give its folder as language adapter, or adapt the "
            f"encoder with dlfa adapt --model {name} and name its folder."
        )
    return Encoder(name, f"{name} ({'folder' if Path(name).is_dir() else 'hub'})", model.eval(), tokenizer)
