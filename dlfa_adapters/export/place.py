"""What an export needs: the packages, and a place for the file."""

from importlib.util import find_spec
from pathlib import Path

from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.ground.folders import check_writable


def check_extra() -> None:
    """Refuse to export without the packages of the extra `onnx`.

    Raises:
        MissingExtraError: Naming them.
    """
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"dlfa export needs {' and '.join(missing)}; type: pip install 'dlfa-adapters[onnx]'.")


def check_place(out: Path) -> None:
    """Refuse a place where no ONNX file can be.

    Raises:
        ConfigError: Naming it.
    """
    check_writable(out)
    if out.suffix != ".onnx" or out.is_dir():
        raise ConfigError(f"The file must be called something.onnx, got {out}; type e.g. onnx/ner.onnx.")
