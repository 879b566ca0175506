"""Names that something new can be registered under."""

import re
from collections.abc import Collection

from dlfa_adapters.ground.errors import ConfigError


def check_new_name(kind: str, name: object, known: Collection[str], ours: Collection[str], overwrite_ok: bool) -> None:
    """Refuse a name that nothing can be registered under.

    Args:
        kind: What is registered, for the sentence.
        name: The name.
        known: Names that are taken.
        ours: Those of them that the library itself took, which are never replaced.
        overwrite_ok: Whether one of the others may be.

    Raises:
        ConfigError: If the name is not one in lower case, or is taken.
    """
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise ConfigError(
            f"The name of a {kind} must be lower-case letters, digits, _ and -, a letter first; got {name!r}."
        )
    if name in ours:
        raise ConfigError(f"The {kind} {name!r} is the library's own; register yours under another name.")
    if name in known and not overwrite_ok:
        raise ConfigError(f"There is a {kind} {name!r} already; type overwrite_ok=True to replace it.")
