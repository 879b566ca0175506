"""How text is cut: what is learned from, and what is predicted by a training and by its run."""

from typing import Any

from dlfa_adapters.encoders import Encoder
from dlfa_adapters.encoders.positions import fitting_length
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tasks import Task


def fit_length(settings: Settings, model: Any) -> tuple[Settings, list[str]]:
    """Settings with rows that an encoder takes, and what there is to say of it; see `fitting_length`.

    Raises:
        ConfigError: If a length was given that does not fit.
    """
    length, said = fitting_length(model, settings.text.max_length, was_given="max_length" in settings.given)
    return settings.changed(max_length=length), said


def length_asked(asked: Settings, fitted: Settings) -> dict[str, None]:
    """What a request says of a default that `fit_length` cut: that none was given, so that it is cut when resumed."""
    return {} if fitted.text.max_length == asked.text.max_length else {"max_length": None}


def settings_to_predict(settings: Settings, task: Task, encoder: Encoder) -> Settings:
    """Settings by which is cut what is predicted; what is learned from may be cut shorter."""
    return settings.changed(max_length=kind_of_task(task).longest(settings.text.max_length, encoder.most_pieces))


def windows_of(settings: Settings) -> dict[str, Any]:
    """What `run.json` says of how text is cut."""
    sentences = settings.text.first_sentences
    return {
        "max_length": settings.text.max_length,
        "context": settings.text.context,
        "pooling": settings.head.pooling,
        **({"first_sentences": sentences} if sentences else {}),
    }
