"""What `head_config.json` of a DLFA head and `language.json` must hold; if the values can work, the head says."""

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

HEAD_TYPE = "dlfa"
INNER_HEAD_TYPES = (
    "tagging",
    "classification",
    "multilabel_classification",
    "multiple_choice",
    "question_answering",
    "dependency_parsing",
)


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
            if self.inner_head_type not in INNER_HEAD_TYPES:
                raise ValueError(f"inner_head_type must be one of {', '.join(INNER_HEAD_TYPES)}")
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
