"""LoRA on a plain model, with PEFT: what is trained and saved, and how a saved one comes back."""

import copy
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import nn

from dlfa_adapters.encoders.plain import plain_encoder, read_encoder
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.models.base import DLFAPreTrainedModel
from dlfa_adapters.models.card import Card, write_card
from dlfa_adapters.models.config import DLFAConfig
from dlfa_adapters.models.construct import four_bits
from dlfa_adapters.models.parsing import DLFAForDependencyParsing
from dlfa_adapters.models.task_models import DLFAForSequenceClassification, DLFAForTokenClassification

CLASSES: dict[str, type[DLFAPreTrainedModel]] = {
    cls.__name__: cls for cls in (DLFAForTokenClassification, DLFAForSequenceClassification, DLFAForDependencyParsing)
}

_QUERY_AND_VALUE = (
    "query", "value", "query_proj", "value_proj", "q_proj", "v_proj", "q_lin", "v_lin", "q", "v", "Wqkv", "in_proj",
)  # fmt: skip
"""How encoders call the maps that Hu et al. 2021 adapt (arXiv 2106.09685, Section 4.2); some have one for all."""


def peft_modules_to_save(model: Any) -> list[str]:
    """What PEFT must train and save completely: fusion and classifier, the running statistics of batch norm included.

    Args:
        model: A `DLFAPreTrainedModel`.

    Raises:
        ConfigError: If it is none.
    """
    _check(model)
    return ["classifier"]


def lora_config(
    model: Any,
    r: int = 8,
    lora_alpha: float | None = None,
    lora_dropout: float = 0.0,
    target_modules: str | list[str] | None = None,
    **options: Any,
) -> Any:
    """What `peft.get_peft_model` needs beside the model.

        peft_model = get_peft_model(model, lora_config(model, r=16))

    Args:
        model: A `DLFAPreTrainedModel`.
        r: The rank.
        lora_alpha: The update is scaled by lora_alpha / r; by default 2 r.
        lora_dropout: In front of the update.
        target_modules: Names of linear maps of the encoder, `"all-linear"` for all of them; by default those for
            queries and values. Only the encoder is searched.
        **options: Further options of `peft.LoraConfig`.

    Returns:
        A `peft.LoraConfig`.

    Raises:
        ConfigError: If the encoder has no linear map of such a name.
    """
    from peft import LoraConfig, TaskType

    saved = [*peft_modules_to_save(model), *(options.pop("modules_to_save", None) or ())]
    names = _targets(model.encoder, target_modules)
    return LoraConfig(
        task_type=TaskType[kind_named(model.kind).peft_task],
        r=r,
        lora_alpha=2 * r if lora_alpha is None else lora_alpha,
        lora_dropout=lora_dropout,
        target_modules=rf"encoder\.(.*\.)?({'|'.join(names)})",
        modules_to_save=list(dict.fromkeys(saved)),
        **options,
    )


def save_lora(model: Any, folder: str | os.PathLike[str], card: Card | None = None) -> None:
    """Save a LoRA, fusion and classifier, and the configuration that `load_lora` needs; the encoder is not saved.

    Args:
        model: What `peft.get_peft_model` gave for a `DLFAPreTrainedModel`.
        folder: A folder; made where it does not exist.
        card: For `README.md`.
    """
    base = base_of(model)
    model.save_pretrained(folder)
    config = copy.deepcopy(base.config)
    config.architectures = [type(base).__name__]
    for name in ("quantization_config", "_pre_quantization_dtype"):  # how it was loaded this time, not what it is
        vars(config.encoder_config).pop(name, None)
    config.save_pretrained(folder)
    if card is not None:
        write_card(base, card, Path(folder), Path(folder).name)


def load_lora(
    folder: str | os.PathLike[str],
    encoder: Any = None,
    *,
    load_in_4bit: bool = False,
    is_trainable: bool = False,
    **loading: Any,
) -> Any:
    """Load what `save_lora` saved.

    Args:
        folder: The folder.
        encoder: The encoder, a name, a folder or a model; by default the one that the LoRA was trained on.
        load_in_4bit: Load the encoder in 4 bits.
        is_trainable: Whether training goes on.
        **loading: Options of the encoder's `from_pretrained`.

    Returns:
        A `peft.PeftModel` in eval mode.

    Raises:
        RunError: If the folder has no such configuration, its weights are damaged or lack some, or the encoder is of
            another kind or unknown.
    """
    from peft import PeftConfig

    try:
        config = DLFAConfig.from_pretrained(folder)
        trained_on = PeftConfig.from_pretrained(os.fspath(folder)).base_model_name_or_path
        cls = CLASSES[(config.architectures or [""])[0]]
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, ConfigError) and (Path(folder) / "config.json").is_file():
            raise  # what is in it cannot be had here, such as a fusion that is not registered
        raise RunError(
            f"{folder} is not a folder of save_lora: it lacks config.json or adapter_config.json of a DLFA model; for "
            "a checkpoint of Trainer type PeftModel.from_pretrained(model, folder), with the model from from_encoder."
        ) from error
    loading |= four_bits() if load_in_4bit else {}
    if encoder is None and trained_on:  # the LoRA was put on a model that was trained and saved before
        model = cls.from_pretrained(trained_on, **loading)
        if load_in_4bit:
            model.classifier.float()
    else:
        model = cls._around(config, _encoder(encoder or config.encoder_name, config, loading, folder))
    return _with_weights(model, folder, is_trainable)


def _with_weights(model: Any, folder: str | os.PathLike[str], is_trainable: bool) -> Any:
    """The model with the updates, fusion and classifier of the folder; PEFT itself lets weights be missing.

    Raises:
        RunError: If they cannot be read, or are not those of this model.
    """
    from peft import PeftModel, get_peft_model_state_dict

    file = Path(folder) / "adapter_model.safetensors"
    if not file.is_file():
        raise RunError(f"{folder} lacks {file.name}, the weights of the LoRA; save or copy it again.")
    try:
        with safe_open(file, "pt") as weights:
            names = set(weights.keys())
    except SafetensorError as error:
        raise RunError(f"{file} is damaged ({error}); save or copy it again.") from error
    try:
        loaded = PeftModel.from_pretrained(model, os.fspath(folder), is_trainable=is_trainable)
    except (KeyError, RuntimeError) as error:  # a part that is saved completely is not, or sizes differ
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise RunError(f"{file} does not fit its configuration ({first}); save or copy the folder again.") from error
    missing = sorted(set(get_peft_model_state_dict(loaded, save_embedding_layers=False)) - names)
    if missing:
        raise RunError(f"{file} lacks weights: {', '.join(missing[:3])}; save or copy it again.")
    return loaded


def base_of(model: Any) -> DLFAPreTrainedModel:
    """The plain model inside a PEFT model.

    Raises:
        ConfigError: If it is no PEFT model around one.
    """
    from peft import PeftModel

    if not isinstance(model, PeftModel):
        raise ConfigError(f"A PEFT model is needed, got {type(model).__name__}; type get_peft_model(model, ...) first.")
    return _check(model.get_base_model())


def _check(model: Any) -> DLFAPreTrainedModel:
    if not isinstance(model, DLFAPreTrainedModel):
        raise ConfigError(
            f"{' or '.join(CLASSES)} is needed, got {type(model).__name__}; type "
            "DLFAForTokenClassification.from_encoder(name, task='ner')."
        )
    return model


def _encoder(encoder: Any, config: DLFAConfig, loading: dict[str, Any], folder: Any) -> Any:
    if encoder is None:
        raise RunError(f"{folder} does not say which encoder it is for; type load_lora(folder, encoder=...).")
    if isinstance(encoder, (str, os.PathLike)):
        return read_encoder(os.fspath(encoder), config.encoder_config, **loading)
    plain = plain_encoder(encoder)
    expected = config.encoder_config
    sizes = [(c.model_type, c.num_hidden_layers, c.hidden_size) for c in (expected, plain.config)]
    if sizes[0] != sizes[1]:
        raise RunError(
            f"{folder} is for a {sizes[0][0]} encoder with {sizes[0][1]} layers of width {sizes[0][2]}, but a "
            f"{sizes[1][0]} encoder with {sizes[1][1]} layers of width {sizes[1][2]} was given."
        )
    return plain


def _targets(encoder: nn.Module, target_modules: str | list[str] | None) -> list[str]:
    """Last parts of the names of linear maps."""
    linear = {name.rpartition(".")[2] for name, module in encoder.named_modules() if isinstance(module, nn.Linear)}
    if target_modules == "all-linear":
        return sorted(linear)
    wanted = [target_modules] if isinstance(target_modules, str) else target_modules or _QUERY_AND_VALUE
    present = [name for name in wanted if name in linear]
    if not present or (target_modules is not None and len(present) < len(wanted)):
        missing = ", ".join(name for name in wanted if name not in present)
        raise ConfigError(
            f"The encoder has no linear maps called {missing}; target_modules can be {', '.join(sorted(linear))}, or "
            "'all-linear'."
        )
    return present
