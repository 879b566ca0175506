"""The versions that a run, a sweep and kept states record."""

from importlib import metadata

_PACKAGES = ("dlfa-adapters", "adapters", "transformers", "torch", "datasets", "peft", "tokenizers")


def versions() -> dict[str, str]:
    """Versions of the packages that matter for repeating a run."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
