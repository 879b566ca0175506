"""Names of heads and adapters, and what `head_config.json` and `language.json` must hold.

If values can work, the head says.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dlfa_adapters.ground.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel

HEAD_TYPE = "dlfa"
DECODER = "decoder.safetensors"
"""The decoder in the folder of a language adapter that was trained here."""

STOCK_HEAD_TYPES = (
    "tagging",
    "classification",
    "multilabel_classification",
    "multiple_choice",
    "question_answering",
    "dependency_parsing",
)


def inner_head_types() -> tuple[str, ...]:
    """What a DLFA head can stand in front of: the stock heads of adapters, and those that a kind of task brings."""
    from dlfa_adapters.tasks import KINDS

    return (*STOCK_HEAD_TYPES, *(head_type for kind in KINDS.values() for head_type in kind.own_heads))


def check_inner_head_type(head_type: object) -> None:
    """Refuse a head type that there is not.

    Raises:
        ConfigError: Naming those that there are.
    """
    if head_type not in inner_head_types():
        raise ConfigError(f"head_type must be one of {', '.join(inner_head_types())}; got {head_type!r}.")


@cache
def head_schema() -> "type[BaseModel]":
    """The model of `head_config.json`."""
    from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

    from dlfa_adapters.fusion.build import FUSIONS
    from dlfa_adapters.tasks.head_options import HeadOptions, split_options

    Name = Annotated[str, StringConstraints(min_length=1)]
    Natural = Annotated[int, Field(ge=0)]
    Positive = Annotated[int, Field(ge=1)]

    missing: Any = None  # a part that may be missing, but is no null

    class Part(BaseModel):
        model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=())

    class Encoder(Part):
        model_type: Name
        num_layers: Positive
        hidden_size: Positive
        name: str = ""

    class Options(Part):
        head_type: Name
        inner_head_type: Name
        format: Positive = 1
        fusion: Name = "dlfa"
        fuse_layer: Natural | list[Natural] | None = None
        num_labels: Positive | None = None
        num_choices: Positive | None = None
        label2id: dict[str, Natural] | None = None
        encoder: Encoder = missing
        versions: dict[str, str] = missing
        layers: Natural | None = None
        activation_function: Name | None = None
        dropout_prob: Annotated[float, Field(ge=0, le=1)] | None = None
        bias: bool | None = None

        @model_validator(mode="after")
        def _agrees(self) -> "Options":
            if self.fusion in FUSIONS:  # of one that is not registered here the head itself says so
                options, _ = split_options({**(self.model_extra or {}), "fusion": self.fusion})
                HeadOptions().changed(**options)
            if self.inner_head_type not in inner_head_types():
                raise ValueError(f"inner_head_type must be one of {', '.join(inner_head_types())}")
            ids = sorted((self.label2id or {}).values())
            if self.label2id and (ids != list(range(len(ids))) or len(ids) != (self.num_choices or self.num_labels)):
                raise ValueError("label2id must name each of the labels 0, 1, ... once")
            return self

    class HeadFile(Part):
        name: Name
        model_class: Name
        config: Options

    return HeadFile


@cache
def language_schema() -> "type[BaseModel]":
    """The model of `language.json`, which stands beside a language adapter that was trained here."""
    from pydantic import BaseModel, ConfigDict, Field, StringConstraints

    Name = Annotated[str, StringConstraints(min_length=1)]
    Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
    missing: Any = None

    class Part(BaseModel):
        model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=())

    class Encoder(Part):
        name: Name
        fingerprint: Name
        num_hidden_layers: Annotated[int, Field(ge=1)]

    class LanguageFile(Part):
        language: Name
        encoder: Encoder
        training: dict[str, Any] = missing
        files: dict[Name, Sha256]

    return LanguageFile


def check_head_name(head_name: object, kind: str = "head") -> str:
    """Refuse a name that cannot be that of a module, or that would leave the folder it is saved in.

    Heads and adapters are stored in an `nn.ModuleDict`, which takes no dots and no names of its own attributes (`keys`,
    `to`...). A slash is fine (`en/wiki@ukp`). `kind` is what is to be called so.

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


def check_decoder(folder: str | Path) -> None:
    """Refuse the folder of a language adapter without a decoder.

    Raises:
        ConfigError: If there is none, as in folders of other origin.
    """
    if not (Path(folder) / DECODER).is_file():
        raise ConfigError(
            f"There is no decoder in {folder} ({DECODER}); train the language adapter anew with dlfa train-language, "
            "which keeps the decoder beside it."
        )


def folder_name(name: str) -> str:
    """One folder name for any adapter or head name: what is special to a file system is percent-encoded.

    `en/wiki@ukp` becomes `en%2Fwiki@ukp`. A comma is encoded too: `AdapterTrainer` takes a folder with one for an
    AdapterFusion layer.
    """
    encoded = re.sub(r'[/\\%,:*?"<>|\x00-\x1f]', lambda match: f"%{ord(match.group()):02X}", name)
    return encoded if encoded.strip(".") else encoded.replace(".", "%2E")


def is_one_folder(name: str) -> bool:
    """Whether a name can be that of a folder as it is, without leaving the one around it or meeting an encoded one."""
    return not re.search(r"[/\\%\x00-\x1f]", name) and bool(name.strip("."))
