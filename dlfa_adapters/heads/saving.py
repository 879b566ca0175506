"""The methods of a model that save and load one adapter, one head, or all of the model.

They are upstream's, with folders that are made where they do not exist. What holds a DLFA head is written as
safetensors, and its head need not be called like the adapter; everything else is written as upstream writes it, so that
plain `adapters` reads it (see `saved_config`).
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from adapters.composition import Stack
from adapters.loading import AdapterLoader
from adapters.methods.prefix_tuning import PrefixTuningLayer
from adapters.utils import WEIGHTS_NAME

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.heads.head import is_dlfa_head
from dlfa_adapters.heads.loader import HeadLoader
from dlfa_adapters.heads.saved_config import (
    check_no_stray_head,
    check_saved_head,
    is_dlfa,
    name_of_adapter,
    read_head_config,
    read_safetensors,
    write_safetensors,
)

logger = logging.getLogger(__name__)


class SavingMixin:
    """Saving and loading.

    `use_safetensors`: True or False as upstream; by default the format of `saved_config.write_safetensors`, and for
    reading of `saved_config.read_safetensors`.
    """

    def save_head(
        self: Any, save_directory: str, head_name: str | None = None, use_safetensors: bool | None = None
    ) -> None:
        """Save a head to a folder: `head_config.json` and the weights.

        Args:
            save_directory: The folder; made where it does not exist, parents too.
            head_name: Name of the head; by default the active one.
            use_safetensors: See the class.

        Raises:
            RunError: If the model has no head of that name.
        """
        head_name = head_name or self.active_head
        if not isinstance(head_name, str) or head_name not in self.heads:
            raise RunError(f"This model has no head {head_name!r} to save; it has {', '.join(self.heads) or 'none'}.")
        safe = write_safetensors(use_safetensors, self.heads[head_name])
        HeadLoader(self, use_safetensors=safe).save(save_directory, head_name)

    def load_head(
        self: Any,
        save_directory: str,
        load_as: str | None = None,
        id2label: dict[int, str] | None = None,
        use_safetensors: bool | None = None,
        **kwargs: Any,
    ) -> tuple[str | None, str | None]:
        """Load a head from a folder, and activate it unless `set_active=False`.

        Args:
            save_directory: The folder.
            load_as: A new name for it.
            id2label: Other label names.
            use_safetensors: See the class.
            **kwargs: `set_active`, `loading_info`.

        Returns:
            The folder, and the name of the head.

        Raises:
            RunError: If a file is missing or damaged, or the head does not fit. The model is then as it was.
        """
        loader = HeadLoader(self, use_safetensors=use_safetensors)
        return loader.load(save_directory, load_as=load_as, id2label=id2label, **kwargs)

    def save_adapter(
        self: Any,
        save_directory: str,
        adapter_name: str,
        with_head: bool | str = True,
        meta_dict: dict[str, Any] | None = None,
        custom_weights_loaders: list[Any] | None = None,
        use_safetensors: bool | None = None,
    ) -> None:
        """Save an adapter, with its head.

        Its head is the one called like the adapter; where there is none, the active head, if that is a DLFA head, the
        adapter is the last of the active composition, and the head is not another adapter's.

        Args:
            save_directory: The folder; made where it does not exist, parents too.
            adapter_name: Name of the adapter.
            with_head: False for no head, a name for that one.
            meta_dict: See upstream.
            custom_weights_loaders: See upstream.
            use_safetensors: See the class.
        """
        loaders = list(custom_weights_loaders or [])
        head_name = with_head if isinstance(with_head, str) else _head_of(self, adapter_name) if with_head else None
        safe = write_safetensors(use_safetensors, self.heads[head_name] if head_name in self.heads else None)
        if head_name:
            loaders.append(HeadLoader(self, use_safetensors=safe, head_name=head_name))
        os.makedirs(save_directory, exist_ok=True)
        with _prefixes_unlinked(self) if safe else nullcontext():
            super().save_adapter(  # type: ignore[misc]
                save_directory,
                adapter_name,
                with_head=False,
                meta_dict=meta_dict,
                custom_weights_loaders=loaders,
                use_safetensors=safe,
            )
        logger.info("Saved adapter %r with head %r in %s.", adapter_name, head_name, save_directory)

    def load_adapter(
        self: Any,
        adapter_name_or_path: str,
        config: Any = None,
        version: str | None = None,
        model_name: str | None = None,
        load_as: str | None = None,
        with_head: bool = True,
        custom_weights_loaders: list[Any] | None = None,
        use_safetensors: bool | None = None,
        **kwargs: Any,
    ) -> str:
        """Load an adapter, with its head where one was saved with it.

        Args:
            adapter_name_or_path: A folder, or see upstream.
            config: See upstream.
            version: See upstream.
            model_name: See upstream.
            load_as: A new name for the adapter, and for its head where that is called like it.
            with_head: Whether to load the head.
            custom_weights_loaders: See upstream.
            use_safetensors: See the class.
            **kwargs: `set_active`, `leave_out`, `id2label` and so on, see upstream.

        Returns:
            The name of the adapter.

        Raises:
            RunError: If the head does not fit; the adapter is then not loaded either.
        """
        loaders = list(custom_weights_loaders or [])
        if with_head:
            head = read_head_config(adapter_name_or_path)
            if head is None:
                check_no_stray_head(adapter_name_or_path)
            elif is_dlfa(head):
                shared = name_of_adapter(adapter_name_or_path) == head["name"]
                check_saved_head(self, load_as if shared and load_as else head["name"], head)
            loaders.append(HeadLoader(self, error_on_missing=False, use_safetensors=use_safetensors))
        name = super().load_adapter(  # type: ignore[misc]
            adapter_name_or_path,
            config,
            version,
            model_name,
            load_as,
            with_head=False,
            custom_weights_loaders=loaders,
            use_safetensors=read_safetensors(use_safetensors, adapter_name_or_path, WEIGHTS_NAME),
            **kwargs,
        )
        info = kwargs.get("loading_info")
        if isinstance(info, dict) and info.get("missing_keys"):
            info["missing_keys"] = _under_no_name(self, name, info["missing_keys"])
        return str(name)

    def save_pretrained(self: Any, save_directory: Any, **kwargs: Any) -> None:
        """Save the whole model, see Transformers. Prefix tuning is usable afterwards, which upstream leaves broken."""
        with _prefixes_unlinked(self):
            super().save_pretrained(save_directory, **kwargs)  # type: ignore[misc]


@contextmanager
def _prefixes_unlinked(model: Any) -> Iterator[None]:
    """Take the pool of prefixes out of every layer for a while: safetensors take a tensor under one name only."""
    pools = [(module, module.pool) for module in model.modules() if isinstance(module, PrefixTuningLayer)]
    for layer, _ in pools:
        layer.set_pool(None)
    try:
        yield
    finally:
        for layer, pool in pools:
            layer.set_pool(pool)


def _head_of(model: Any, adapter: str) -> str | None:
    if adapter in model.heads:
        return adapter
    setup, head = model.active_adapters, model.active_head
    last = setup.children[-1] if isinstance(setup, Stack) else None
    if last != adapter or not isinstance(head, str) or head in model.adapters_config:
        return None
    return head if is_dlfa_head(model.heads[head]) else None


def _under_no_name(model: Any, adapter: str, missing: list[str]) -> list[str]:
    """The missing weights without those that are an adapter's under another name, which was there.

    Every layer has the pool of prefixes among its modules, so each prefix has as many names as there are layers; a file
    needs one of them.
    """
    belongs = AdapterLoader(model).filter_func(adapter)
    absent: list[str] = []
    for root in (model, model.base_model):  # names in a file of a bare encoder begin below it
        tensors = {name: id(tensor) for name, tensor in root.named_parameters(remove_duplicate=False) if belongs(name)}
        here = [name for name in missing if name in tensors]
        loaded = {tensor for name, tensor in tensors.items() if name not in here}
        absent += [name for name in here if tensors[name] not in loaded]
        missing = [name for name in missing if name not in tensors]
    return absent + missing
