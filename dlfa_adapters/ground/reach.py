"""Whether the hub answers, asked once: its libraries would try for minutes before they say that it does not."""

import contextlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from threading import Thread

from huggingface_hub import constants, get_session

_SECONDS = 10
"""Long enough for a slow line; a name that is not found, or no network at all, shows at once."""


def only_cached(name: str) -> bool:
    """Whether a name on the hub can be found in the cache alone: what `local_files_only` of `from_pretrained` takes.

    Args:
        name: A name on the hub, or a folder, for which nothing is asked.
    """
    return not Path(name).exists() and not hub_answers()


@cache
def hub_answers() -> bool:
    """Whether the hub answers; with HF_HUB_OFFLINE it is not asked. The answer holds for this process."""
    if constants.HF_HUB_OFFLINE:
        return False
    answered = []

    def ask() -> None:
        with contextlib.suppress(OSError):  # what requests raises
            get_session().head(constants.ENDPOINT, timeout=_SECONDS, allow_redirects=False)
            answered.append(True)

    thread = Thread(target=ask, daemon=True)  # looking a name up has no time limit of its own
    thread.start()
    thread.join(_SECONDS + 1)
    return bool(answered)


def no_answer() -> str:
    """Why nothing came from the hub, for an error's text."""
    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    return f"the hub ({constants.ENDPOINT}) does not answer"


@contextlib.contextmanager
def cached_datasets_only(wanted: bool) -> Iterator[None]:
    """Inside, `datasets` takes what is in its cache and asks nobody, if so wanted.

    Its own switch is read from HF_HUB_OFFLINE once, when it is imported.
    """
    import datasets  # half a second, which whoever asks for an encoder need not wait

    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = before or wanted
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before
