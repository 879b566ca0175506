"""What stands beside an ONNX file, so that it can be used without this library; and what an export needs."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dlfa_adapters.data.backend import plain_backend
from dlfa_adapters.ground.errors import ConfigError, MissingExtraError
from dlfa_adapters.ground.files import read_json, write_json
from dlfa_adapters.ground.folders import check_writable
from dlfa_adapters.tasks import KINDS

FORMAT = 1
PACKAGE = "dlfa_onnx"
_HERE = Path(__file__).parent
_ALWAYS = {  # in every version
    "__init__": _HERE / "runtime.py",
    **{name: _HERE.parent / "data" / f"{name}.py" for name in ("windows", "alignment", "backend", "budget", "words")},
    "errors": _HERE.parent / "ground" / "errors.py",
}
_SPECIAL = ("unk", "mask", "pad", "eos", "cls", "sep", "bos")


def sources() -> dict[str, Path]:
    """The files that become the package, by module: of all kinds of tasks, whose models may share a folder."""
    of_kinds = {name: path for kind in KINDS.values() for name, path in kind.onnx_sources().items()}
    return {**_ALWAYS, "onnx_model": _HERE.parent / "kinds" / "onnx_model.py", **of_kinds}


def write_beside(file: Path, tokenizer: Any, about: Mapping[str, Any]) -> None:
    """Write `NAME.json`, `tokenizer.json` and the package `dlfa_onnx` into the folder of `NAME.onnx`.

    The tokenizer is a fast one; `about` is what a user of the model must know.
    """
    ids = {name: getattr(tokenizer, f"{name}_token_id", None) for name in _SPECIAL}
    record = {"format": FORMAT, **about, "special_ids": {name: id_ for name, id_ in ids.items() if id_ is not None}}
    write_json(file.with_suffix(".json"), record)
    (file.parent / "tokenizer.json").write_text(tokenizer_json(tokenizer), "utf-8")
    package = file.parent / PACKAGE
    package.mkdir(exist_ok=True)
    for name, source in sources().items():
        standalone = re.sub(r"\bdlfa_adapters(\.\w+)*(?=\.\w+ import)", PACKAGE, source.read_text("utf-8"))
        (package / f"{name}.py").write_text(standalone, "utf-8")


def tokenizer_json(tokenizer: Any) -> str:
    """A fast tokenizer as one file, without the truncation and padding that somebody may have set."""
    return str(plain_backend(tokenizer).to_str())


def check_neighbours(file: Path, tokenizer: Any) -> None:
    """Refuse a folder that has a model with another tokenizer, or a file of somebody else in the place of one of ours.

    Raises:
        ConfigError: If so.
    """
    about, package = file.with_suffix(".json"), file.parent / PACKAGE
    if about.exists() and not {"format", "opset"} <= read_json(about).keys():
        raise ConfigError(f"{about} is not of an exported model and would be replaced; give another name or folder.")
    if package.is_symlink() or (package.exists() and not all((package / f"{name}.py").is_file() for name in _ALWAYS)):
        raise ConfigError(f"{package} is not of an exported model; give this model a folder of its own.")
    there = file.parent / "tokenizer.json"
    if there.exists() and there.read_text("utf-8") != tokenizer_json(tokenizer):
        raise ConfigError(f"{file.parent} has another model's tokenizer.json; give this model a folder of its own.")


def check_extra() -> None:
    """Refuse, with a `MissingExtraError`, to export without the packages of the extra `onnx`."""
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"dlfa export needs {' and '.join(missing)}; type: pip install 'dlfa-adapters[onnx]'.")


def check_place(out: Path) -> None:
    """Refuse, with a `ConfigError`, a place where no ONNX file can be."""
    check_writable(out)
    if out.suffix != ".onnx" or out.is_dir():
        raise ConfigError(f"The file must be called something.onnx, got {out}; type e.g. onnx/ner.onnx.")
