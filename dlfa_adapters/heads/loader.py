"""Reading and writing one head: exact names, and checks before anything is changed.

Upstream picks a head's weights by substring (saving `ner` takes `ner_de` along) and replaces a head of another shape
with a warning. Here a head's weights are those below `heads.<name>.`, and a head that does not fit is refused.
"""

import os
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adapters.loading import PredictionHeadLoader, WeightsLoaderHelper
from adapters.utils import HEAD_CONFIG_NAME, HEAD_WEIGHTS_NAME, SAFE_HEAD_WEIGHTS_NAME

from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.heads.saved_config import (
    check_saved_head,
    is_dlfa,
    name_of_adapter,
    read_head_config,
    read_safetensors,
)


class _ExactWeights(WeightsLoaderHelper):
    """Loads the weights that the filter lets through, and none besides."""

    def load_weights_from_state_dict(
        self, state_dict: dict[str, Any], filter_func: Callable[[str], bool], rename_func: Any = None, **kwargs: Any
    ) -> Any:
        for rename in rename_func if isinstance(rename_func, (list, tuple)) else [rename_func]:
            if rename is not None:
                state_dict = self.rename_state_dict(state_dict, rename)
        state_dict = {key: value for key, value in state_dict.items() if filter_func(key)}
        return super().load_weights_from_state_dict(state_dict, filter_func, **kwargs)


class HeadLoader(PredictionHeadLoader):
    """Upstream's loader of heads, with exact names and with checks.

    Args:
        model: The model.
        error_on_missing: Whether a missing head is an error.
        use_safetensors: Whether safetensors are written, and read where there are any; None, for reading only, leaves
            that to `read_safetensors`.
        head_name: The head to save, where it is not called like the adapter that it is saved with.
    """

    def __init__(
        self,
        model: Any,
        error_on_missing: bool = True,
        use_safetensors: bool | None = None,
        head_name: str | None = None,
    ) -> None:
        super().__init__(model, error_on_missing=error_on_missing, convert_to_flex_head=model._convert_to_flex_head)
        self.use_safetensors = use_safetensors
        self.head_name = head_name
        self.weights_helper = _ExactWeights(
            model,
            HEAD_WEIGHTS_NAME,
            HEAD_CONFIG_NAME,
            use_safetensors=bool(use_safetensors),
            safe_weights_name=SAFE_HEAD_WEIGHTS_NAME,
        )

    def filter_func(self, head_name: str) -> Callable[[str], bool]:
        """Whether a weight is the head's; the closing dot tells `heads.ner.` from `heads.ner_de.`."""
        prefix = f"heads.{head_name}."
        return lambda key: key.startswith(prefix)

    def rename_func(self, old_name: str, new_name: str) -> Callable[[str], str]:
        """Replace the prefix, and only there."""
        old, new = f"heads.{old_name}.", f"heads.{new_name}."
        return lambda key: new + key[len(old) :] if key.startswith(old) else key

    def save(self, save_directory: str, name: str | None = None) -> None:
        """Write `head_config.json` and the weights."""
        name = self.head_name or name
        if name in self.model.heads:
            os.makedirs(save_directory, exist_ok=True)
        super().save(save_directory, name=name)

    def load(
        self, save_directory: str, load_as: str | None = None, loading_info: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[str | None, str | None]:
        """Read a head and add it to the model.

        Returns:
            The folder and the name of the head, or None twice where there is none and that is no error.

        Raises:
            RunError: If a file is missing or damaged, or the head does not fit this model or the head it replaces. The
                model is then as it was.
        """
        config = read_head_config(save_directory)
        if config is None and self.error_on_missing:
            raise RunError(f"There is no saved head in {save_directory!r} ({HEAD_CONFIG_NAME} is missing).")
        self.weights_helper.use_safetensors = read_safetensors(self.use_safetensors, save_directory, HEAD_WEIGHTS_NAME)
        if config is None:
            return None, None
        if not is_dlfa(config):
            return super().load(save_directory, load_as=load_as, loading_info=loading_info, **kwargs)
        if load_as and name_of_adapter(save_directory) not in (None, config["name"]):
            load_as = None  # the new name is the adapter's; a head with a name of its own keeps it
        name = load_as or config["name"]
        check_saved_head(self.model, name, config, kwargs.get("id2label"))
        if config["model_class"] != type(self.model).__name__:
            raise RunError(
                f"The saved head in {save_directory!r} is of a {config['model_class']}, this model is a "
                f"{type(self.model).__name__}; load it into the class that it was saved from."
            )
        if not any(
            os.path.isfile(os.path.join(save_directory, f)) for f in (SAFE_HEAD_WEIGHTS_NAME, HEAD_WEIGHTS_NAME)
        ):
            raise RunError(
                f"The saved head in {save_directory!r} has no weights ({SAFE_HEAD_WEIGHTS_NAME} is missing)."
            )
        info: dict[str, Any] = {} if loading_info is None else loading_info
        before = set(info.get("missing_keys", ()))
        with _unchanged_on_error(self.model, name):
            try:
                result = super().load(save_directory, load_as=load_as, loading_info=info, **kwargs)
            except (OSError, RuntimeError) as error:
                one_line = textwrap.shorten(str(error), 300, placeholder=" …")
                raise RunError(f"The weights of the head in {save_directory!r} cannot be read: {one_line}") from error
            missing = sorted(set(info.get("missing_keys", ())) - before)
            if missing:
                raise RunError(f"The saved head in {save_directory!r} lacks weights: {', '.join(missing)}.")
        return result


@contextmanager
def _unchanged_on_error(model: Any, name: str) -> Iterator[None]:
    head, active = model.heads[name] if name in model.heads else None, model._active_heads
    try:
        yield
    except BaseException:
        model.delete_head(name)
        if head is not None:
            model.add_prediction_head(head, set_active=False)
        model.active_head = active
        raise
