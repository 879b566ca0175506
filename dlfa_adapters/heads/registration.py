"""How the model classes reach the user: through `AutoAdapterModel`, or onto a model that exists already."""

from typing import Any, TypeVar

from adapters import AutoAdapterModel

from dlfa_adapters.ground.errors import UnsupportedModelError
from dlfa_adapters.heads.head import DLFAHead
from dlfa_adapters.heads.mixin import DLFAHeadsMixin
from dlfa_adapters.heads.models import MODELS
from dlfa_adapters.heads.schema import HEAD_TYPE

AnyModel = TypeVar("AnyModel")


def register() -> None:
    """Let `AutoAdapterModel` build our classes. Runs on `import dlfa_adapters`; a second time changes nothing."""
    for cls in MODELS:
        AutoAdapterModel.register(cls.config_class, cls, exist_ok=True)  # type: ignore[attr-defined]


def enable(model: AnyModel) -> AnyModel:
    """Give a model of adapters that exists already `add_dlfa_head`, in place.

    Args:
        model: An instance of one of upstream's classes, e.g. `adapters.BertAdapterModel`.

    Returns:
        The same model.

    Raises:
        UnsupportedModelError: If it is an instance of no class that a DLFA head can be put on.
    """
    instance: Any = model
    if isinstance(model, DLFAHeadsMixin):
        return model
    for cls in MODELS:
        if type(model) is cls.__bases__[1]:
            instance.__class__ = cls
            instance.custom_heads = {**instance.custom_heads, HEAD_TYPE: DLFAHead}
            if instance._active_heads:
                instance._follow_active_head()
            return model
    raise UnsupportedModelError(
        f"A DLFA head can be put on {', '.join(cls.__name__ for cls in MODELS)} of adapters, got "
        f"{type(model).__module__}.{type(model).__name__}; type model = AutoAdapterModel.from_pretrained(...)."
    )
