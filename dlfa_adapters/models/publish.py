"""Saving a plain model with a card, and putting both on the hub."""

import os
import tempfile
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.models.card import Card, write_card


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
