"""Names of heads and adapters: which are allowed, and how one becomes the name of a folder."""

import re

from dlfa_adapters.ground.errors import ConfigError


def check_head_name(head_name: object, kind: str = "head") -> str:
    """Refuse a name that cannot be that of a module, or that would leave the folder it is saved in.

    Heads and adapters are kept in an `nn.ModuleDict`, which takes no dots and no names of its own attributes (`keys`,
    `to`...). A slash is fine (`en/wiki@ukp`).

    Args:
        head_name: The name.
        kind: What is to be called so.

    Returns:
        The name.

    Raises:
        ConfigError: Saying what is wrong with the name and what to type.
    """
    if not isinstance(head_name, str) or not head_name.strip():
        raise ConfigError(f"A {kind} needs a name that is not empty, got {head_name!r}; type e.g. 'ner'.")
    if "." in head_name:
        raise ConfigError(
            f"A {kind} name cannot contain a dot (torch separates modules with it), got {head_name!r}; "
            f"type e.g. {head_name.replace('.', '_')!r}."
        )
    from torch import nn

    if hasattr(nn.ModuleDict, head_name) or hasattr(nn.ModuleDict(), head_name):
        raise ConfigError(
            f"A {kind} cannot be called {head_name!r}, which is an attribute of torch's ModuleDict; "
            f"type e.g. {f'{head_name}_{kind}'.replace(' ', '_')!r}."
        )
    if not head_name.isprintable() or "\\" in head_name or any(not part for part in head_name.split("/")):
        raise ConfigError(
            f"A {kind} name cannot begin or end with a slash or contain an empty part, a backslash or control "
            f"characters, got {head_name!r}; type e.g. 'en/wiki'."
        )
    return head_name


def folder_name(name: str) -> str:
    """One folder name for any adapter or head name: what is special to a file system is percent-encoded.

    `en/wiki@ukp` becomes `en%2Fwiki@ukp`. A comma is encoded too: `AdapterTrainer` takes a folder with one for an
    AdapterFusion layer.
    """
    encoded = re.sub(r'[/\\%,:*?"<>|\x00-\x1f]', lambda found: f"%{ord(found.group()):02X}", name)
    return encoded if encoded.strip(".") else encoded.replace(".", "%2E")


def is_one_folder(name: str) -> bool:
    """Whether a name can be that of a folder as it is, without leaving the one around it or meeting an encoded one."""
    return not re.search(r"[/\\%\x00-\x1f]", name) and bool(name.strip("."))
