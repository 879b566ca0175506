"""The model card, and saving and publishing a plain model with it."""

import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters._version import __version__
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import kind_named


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a card says beyond the model itself.

    Attributes:
        scores: Language to metric to value, 0..1; None for a score that is not defined.
        dataset: Name of the data that the scores are for, as on the hub if it is there.
        source_language: The language of the training labels.
        license: Of the weights, as the hub abbreviates it (`apache-2.0`).
        training: Sentences about the training: data, method, seed, command.
        tags: Further tags.
    """

    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    dataset: str | None = None
    source_language: str | None = None
    license: str | None = None
    training: str = ""
    tags: tuple[str, ...] = ()


def write_card(model: Any, card: Card, folder: Path, name: str) -> None:
    """Write the card of a `DLFAPreTrainedModel`, which its code calls `name`, as `README.md` with its metadata.

    Raises:
        ConfigError: If a score is neither a number in 0..1 nor None.
    """
    from huggingface_hub import ModelCard

    metadata = _metadata(model, card, name)
    (folder / "README.md").write_text(str(ModelCard(f"---\n{metadata}\n---\n\n{_text(model, card, name)}")), "utf-8")


def _metadata(model: Any, card: Card, name: str) -> str:
    from huggingface_hub import EvalResult, ModelCardData

    scores = list(_defined(card))
    pipeline = kind_named(model.kind).pipeline
    results = [
        EvalResult(
            task_type=pipeline,
            dataset_type=card.dataset,
            dataset_name=card.dataset,
            dataset_config=language,
            metric_type=metric,
            metric_value=value,
        )
        for language, metric, value in scores
        if card.dataset
    ]
    data = ModelCardData(
        library_name="transformers",
        pipeline_tag=pipeline,
        base_model=model.config.encoder_name,
        license=card.license,
        language=sorted({*card.scores, *([card.source_language] if card.source_language else [])}) or None,
        datasets=[card.dataset] if card.dataset else None,
        metrics=sorted({metric for _, metric, _ in scores}) or None,
        tags=["dlfa-adapters", "layer-fusion", "cross-lingual", *card.tags],
        model_name=name,
        eval_results=results or None,
    )
    return str(data.to_yaml())


def _defined(card: Card) -> Any:
    """(language, metric, value) of the scores that are defined.

    Raises:
        ConfigError: If one is no score.
    """
    for language, row in card.scores.items():
        for metric, value in row.items():
            if value is None:
                continue
            if isinstance(value, bool) or not math.isfinite(value) or not 0 <= value <= 1:
                raise ConfigError(f"A score must be in 0..1, or None, got {value!r} for {metric} in {language!r}.")
            yield language, metric, float(value)


def _text(model: Any, card: Card, name: str) -> str:
    config = model.config
    fused = " and ".join(str(k) for k in config.fuse_layer or ()) or "none"
    labels = ", ".join(f"`{config.id2label[i]}`" for i in sorted(config.id2label))
    parts = [
        f"# {name}",
        f"{type(model).__name__} on `{config.encoder_name or config.encoder_config.model_type}` "
        f"({config.num_hidden_layers} layers of width {config.hidden_size}). Fusion: `{config.fusion}`, fuse layer: "
        f"{fused} (layer k is the output of block k). Labels: {labels}.",
        "Layer fusion (DLFA) is described in Chen, Guo, Liu and Tao 2022, "
        "[arXiv 2205.08497](https://arxiv.org/abs/2205.08497).",
        "## Use",
        "```python\nimport dlfa_adapters  # pip install dlfa-adapters; makes the model class known to Transformers\n"
        f"from transformers import pipeline\n\n{kind_named(model.kind).usage(name)}\n```",
        "## Scores",
        _table(card),
        f"## Training\n\n{card.training}" if card.training else "",
        f"Written by dlfa_adapters {__version__}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(card: Card) -> str:
    if not card.scores:
        return "No scores were given."
    metrics = list(dict.fromkeys(metric for row in card.scores.values() for metric in row))
    lines = [f"| language | {' | '.join(metrics)} |", "|---" * (len(metrics) + 1) + "|"]
    for language, row in card.scores.items():
        values = [row.get(metric) for metric in metrics]
        lines.append(f"| {language} | {' | '.join('–' if v is None else f'{100 * v:.1f}' for v in values)} |")
    source = f", labels for training in {card.source_language} only" if card.source_language else ""
    return "\n".join(lines) + f"\n\nIn percent{f', on {card.dataset}' if card.dataset else ''}{source}."


class PublishMixin:
    """`save_pretrained` and `push_to_hub` that take a card."""

    def save_pretrained(
        self: Any, save_directory: str | os.PathLike[str], *args: Any, card: Any = None, **kwargs: Any
    ) -> None:
        """Save configuration and weights (safetensors); with a card, also `README.md`.

        Args:
            save_directory: The folder.
            *args: See Transformers.
            card: A `Card`: the scores, and what they were measured on.
            **kwargs: See Transformers.

        Raises:
            ConfigError: If the encoder was loaded in 4 bits by `from_encoder`: then only the LoRA is worth saving.
        """
        if getattr(self.encoder, "hf_quantizer", None) is not None:
            raise ConfigError("The encoder is in 4 bits and is not saved; type save_lora(peft_model, folder).")
        super().save_pretrained(save_directory, *args, **kwargs)  # type: ignore[misc]
        if card is not None and kwargs.get("is_main_process", True):
            write_card(self, card, Path(save_directory), os.path.basename(os.path.normpath(save_directory)))

    def push_to_hub(self: Any, repo_id: str, *args: Any, card: Card | None = None, **kwargs: Any) -> Any:
        """Put the model on the hub.

        Args:
            repo_id: `user/name`.
            *args: See Transformers.
            card: A `Card`, which becomes the repository's `README.md`. Without one everything is as in Transformers.
            **kwargs: With a card: `private`, `token`, `commit_message`, `revision`, `create_pr`, `max_shard_size`;
                without one see Transformers.

        Returns:
            What the hub says about the commit.

        Raises:
            ConfigError: With a card, if an option is none of these.
        """
        if card is None:
            return super().push_to_hub(repo_id, *args, **kwargs)  # type: ignore[misc]
        if args or set(kwargs) - {"private", "token", "commit_message", "revision", "create_pr", "max_shard_size"}:
            raise ConfigError(
                "push_to_hub with a card takes private, token, commit_message, revision, create_pr and max_shard_size, "
                f"by name; got {', '.join([*map(repr, args), *kwargs])}."
            )
        return _upload(self, repo_id, card, **kwargs)


def _upload(
    model: Any,
    repo_id: str,
    card: Card,
    private: bool | None = None,
    token: str | bool | None = None,
    commit_message: str | None = None,
    revision: str | None = None,
    create_pr: bool = False,
    max_shard_size: str = "5GB",
) -> Any:
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    name = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size=max_shard_size)
        write_card(model, card, Path(folder), name)
        return api.upload_folder(
            repo_id=name,
            folder_path=folder,
            commit_message=commit_message or f"Upload {type(model).__name__}",
            revision=revision,
            create_pr=create_pr,
        )
