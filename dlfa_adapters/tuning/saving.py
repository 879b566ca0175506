"""What a run saves of a trained model, written and read again."""

from pathlib import Path
from typing import Any

from adapters.composition import Stack
from safetensors.torch import save_file

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.heads.schema import folder_name
from dlfa_adapters.tuning.base import Saved

ENCODER, ADAPTERS, HEAD, PEFT = "encoder", "adapters", "head", "peft"


def save_trained(
    model: Any, adapter_model: Any, tokenizer: Any, head_name: str, saved: Saved, folder: Path
) -> dict[str, Any]:
    """Write the head, and adapters, a PEFT adapter or the encoder.

    Args:
        model: The trained model: one of adapters, or for `peft` a PEFT model.
        adapter_model: The model of adapters whose head it began with; a PEFT model's head is copied back to it.
        tokenizer: Saved beside a complete encoder.
        head_name: Name of the head.
        saved: What is to be saved.
        folder: Where; it exists.

    Returns:
        What `load_trained` must know.
    """
    record: dict[str, Any] = {"saved": saved}
    if saved == "peft":
        _save_peft(model, adapter_model.heads[head_name], folder / PEFT)
    adapter_model.save_head(str(folder / HEAD), head_name)
    if saved == "encoder":
        save_encoder(model, tokenizer, folder / ENCODER)
    elif saved == "adapters":
        record["adapters"] = _in_order(model.active_adapters)
        for name in record["adapters"]:
            place = str(folder / ADAPTERS / folder_name(name))
            model.save_adapter(place, name, with_head=False, use_safetensors=True)
    return record


def load_trained(model: Any, head_name: str, record: dict[str, Any], folder: Path) -> Any:
    """Put head and adapters of a run on its encoder, and activate them.

    Args:
        model: The encoder, as a model of adapters.
        head_name: Name of the head.
        record: From `save_trained`.
        folder: The run folder.

    Returns:
        The model; for `peft` a PEFT model.

    Raises:
        RunError: If weights are missing or damaged.
    """
    if record["saved"] == "peft":
        from dlfa_adapters.models import load_lora

        return load_lora(folder / PEFT, encoder=model)
    names = record.get("adapters", [])
    for name in names:
        _load_adapter(model, folder / ADAPTERS / folder_name(name), name)
    model.load_head(str(folder / HEAD), load_as=head_name)
    if names:
        model.set_active_adapters(Stack(*names))
    model.active_head = head_name
    return model.eval()


def _load_adapter(model: Any, folder: Path, name: str) -> None:
    """Load an adapter; upstream lets weights be missing, which then are as they were drawn.

    Raises:
        RunError: If they cannot be read, or are not those of the adapter.
    """
    info: dict[str, Any] = {}
    try:
        model.load_adapter(str(folder), load_as=name, with_head=False, loading_info=info, use_safetensors=True)
    except (OSError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise RunError(f"The adapter in {folder} cannot be loaded ({first}); copy or train the run again.") from error
    wrong = [*info["missing_keys"], *info["unexpected_keys"]]
    if wrong:
        raise RunError(
            f"The adapter in {folder} lacks weights or has others than its configuration says: "
            f"{', '.join(wrong[:3])}; copy or train the run again."
        )


def _in_order(setup: Any) -> list[str]:
    """Names of a stack, from the bottom up."""
    return [name for child in setup.children for name in ([child] if isinstance(child, str) else _in_order(child))]


def _save_peft(model: Any, head: Any, folder: Path) -> None:
    """The LoRA with fusion and classifier; these also as a head of adapters, which says what the run is for."""
    from dlfa_adapters.models import save_lora
    from dlfa_adapters.models.lora import base_of
    from dlfa_adapters.tuning.convert import renamed

    trained = base_of(model).classifier
    trained = getattr(trained, "modules_to_save", {"default": trained})["default"]
    head.load_state_dict(renamed(trained.state_dict(), "out.", head.behind))
    save_lora(model, folder)


def save_encoder(model: Any, tokenizer: Any, folder: Path) -> None:
    """The encoder by itself, as Transformers writes one: it can be loaded by any tool, without adapters.

    Of a LoRA that was merged into the weights nothing else is saved.
    """
    encoder = model.base_model
    folder.mkdir(parents=True, exist_ok=True)
    config = encoder.config.to_diff_dict()
    for ours in ("adapters", "custom_heads", "prediction_heads", "id2label", "label2id", "num_labels"):
        config.pop(ours, None)
    plain = type(encoder.config)(**config)
    plain.architectures = [_plain_name(encoder)]
    plain.save_pretrained(folder)
    # adapters lists the word embeddings a second time, as the base of prompt tuning
    own = {k: v for k, v in encoder.state_dict().items() if not k.startswith("prompt_") and ".loras." not in k}
    state = {k: v.detach().cpu().contiguous() for k, v in own.items()}
    save_file(state, str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)


def _plain_name(encoder: Any) -> str:
    """`BertModel` for the class that adapters makes of it."""
    for cls in type(encoder).__mro__:
        if cls.__module__.startswith("transformers."):
            return cls.__name__
    return type(encoder).__name__
