"""Training on centred languages: the means that are requested, checked against data and encoder."""

from collections.abc import Iterable
from typing import Any

from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.learning.settings import Settings


def read_centring(settings: Settings, model: Any, languages: Iterable[str]) -> Centring | None:
    """The means that a training on data in some languages takes off, in all layers; None where there are none.

    Raises:
        ConfigError: If a language has no mean, or they are of another encoder.
        DataError: If there is no such file.
        RunError: If it is damaged.
    """
    if settings.text.center is None:
        return None
    means, languages = LanguageMeans.read(settings.text.center), list(dict.fromkeys(languages))
    layers = range(means.depth + 1)
    means.check_fits(model, layers, languages)
    return Centring(means, tuple(layers))
