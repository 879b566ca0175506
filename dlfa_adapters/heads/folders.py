"""The methods of a model that save and load several adapters and heads: each in a folder of its own.

They are upstream's, with formats as in `saved_config`, and with folders named so that any name survives (`folder_of`).
"""

import os
import shutil
from typing import Any

from adapters.utils import ADAPTERFUSION_WEIGHTS_NAME, get_adapter_config_hash

from dlfa_adapters.heads.head import is_dlfa_head
from dlfa_adapters.heads.loader import HeadLoader
from dlfa_adapters.heads.saved_config import read_safetensors, write_safetensors
from dlfa_adapters.heads.schema import folder_name, is_one_folder


class FoldersMixin:
    """Saving and loading of several at once. `use_safetensors` as in `SavingMixin`."""

    def save_all_adapters(
        self: Any,
        save_directory: str,
        with_head: bool = True,
        meta_dict: dict[str, Any] | None = None,
        custom_weights_loaders: list[Any] | None = None,
        use_safetensors: bool | None = None,
    ) -> None:
        """Save every adapter to a folder of its own, see `save_adapter`."""
        for name in self.adapters_config:
            folder = os.path.join(save_directory, self._folder_of(name))
            meta = {**(meta_dict or {}), "config_id": get_adapter_config_hash(self.adapters_config.get(name))}
            self.save_adapter(folder, name, with_head, meta, custom_weights_loaders, use_safetensors)
            _copy_for_upstream(folder, save_directory, name)

    def save_all_heads(self: Any, save_directory: str, use_safetensors: bool | None = None) -> None:
        """Save every head to a folder of its own, see `save_head`."""
        for name in self.heads:
            self.save_head(os.path.join(save_directory, self._folder_of(name)), name, use_safetensors)

    def save_all_adapter_fusions(
        self: Any,
        save_directory: str,
        meta_dict: dict[str, Any] | None = None,
        custom_weights_loaders: list[Any] | None = None,
        use_safetensors: bool | None = None,
    ) -> None:
        """Save every AdapterFusion layer to a folder of its own, see upstream."""
        for name in self.adapters_config.fusions:
            folder = os.path.join(save_directory, folder_name(name).replace("%2C", ","))
            config, _ = self.adapters_config.get_fusion(name)
            meta = {**(meta_dict or {}), "config_id": get_adapter_config_hash(config)}
            self.save_adapter_fusion(folder, name, meta, custom_weights_loaders, use_safetensors=use_safetensors)
            _copy_for_upstream(folder, save_directory, name)

    def save_adapter_fusion(
        self: Any,
        save_directory: str,
        adapter_names: Any,
        meta_dict: dict[str, Any] | None = None,
        custom_weights_loaders: list[Any] | None = None,
        with_head: bool | str = False,
        use_safetensors: bool | None = None,
    ) -> None:
        """Save an AdapterFusion layer, see upstream."""
        names = getattr(adapter_names, "name", adapter_names)
        default = ",".join(names) if isinstance(names, list) else names
        head = (with_head if isinstance(with_head, str) else default) if with_head else None
        safe = write_safetensors(use_safetensors, self.heads[head] if head in self.heads else None)
        os.makedirs(save_directory, exist_ok=True)
        super().save_adapter_fusion(  # type: ignore[misc]
            save_directory, adapter_names, meta_dict, custom_weights_loaders, use_safetensors=safe
        )
        if head is not None:
            self.save_head(save_directory, head, safe)

    def load_adapter_fusion(
        self: Any,
        adapter_fusion_name_or_path: str,
        load_as: str | None = None,
        custom_weights_loaders: list[Any] | None = None,
        set_active: bool = False,
        with_head: bool = True,
        use_safetensors: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Load an AdapterFusion layer, see upstream."""
        loaders = list(custom_weights_loaders or [])
        if with_head:
            loaders.append(HeadLoader(self, error_on_missing=False, use_safetensors=use_safetensors))
        super().load_adapter_fusion(  # type: ignore[misc]
            adapter_fusion_name_or_path,
            load_as,
            loaders,
            set_active,
            with_head=False,
            use_safetensors=read_safetensors(use_safetensors, adapter_fusion_name_or_path, ADAPTERFUSION_WEIGHTS_NAME),
            **kwargs,
        )

    def save_adapter_setup(
        self: Any,
        save_directory: str,
        adapter_setup: Any,
        *args: Any,
        use_safetensors: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Save a composition with its adapters and heads, see upstream."""
        super().save_adapter_setup(save_directory, adapter_setup, *args, use_safetensors=use_safetensors, **kwargs)  # type: ignore[misc]

    def load_adapter_setup(
        self: Any, adapter_setup_name_or_path: str, *args: Any, use_safetensors: bool | None = None, **kwargs: Any
    ) -> Any:
        """Load a composition with its adapters and heads, see upstream."""
        return super().load_adapter_setup(  # type: ignore[misc]
            adapter_setup_name_or_path, *args, use_safetensors=use_safetensors, **kwargs
        )

    def _folder_of(self: Any, name: str) -> str:
        """The folder for an adapter or head; upstream's, the name as it is, in a model without a DLFA head."""
        ours = any(is_dlfa_head(head) for head in self.heads.values())
        return folder_name(name) if ours or not is_one_folder(name) else name


def _copy_for_upstream(folder: str, directory: str, name: str) -> None:
    """A second copy in `directory/name`: AdapterTrainer looks there for the best checkpoint of a name with a slash."""
    inside = os.path.normpath(os.path.join(directory, name))
    if "/" in name and inside.startswith(os.path.normpath(directory) + os.sep):
        shutil.copytree(folder, inside, dirs_exist_ok=True)
