"""What `run.json` and `training.json` must hold. What they hold besides is left alone."""

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

if TYPE_CHECKING:
    from pydantic import BaseModel


@cache
def run_schema() -> "type[BaseModel]":
    """The model of `run.json`; a part may be missing, as in the runs of earlier versions, but not of another type."""
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

    Name = Annotated[str, StringConstraints(min_length=1)]
    Natural = Annotated[int, Field(ge=0)]
    Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]

    missing: Any = None  # a part that may be missing, but is no null

    class Part(BaseModel):
        model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=())

    class Encoder(Part):
        name: Name
        fingerprint: Name
        origin: str = ""
        model_type: str = ""
        hidden_size: Natural = 0
        num_hidden_layers: Natural = 0

    class Head(Part):
        name: Name
        fusion: Name = "dlfa"
        fuse_layer: list[Natural] | None = None

    class Windows(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid")
        max_length: Annotated[int, Field(ge=1)]
        context: Natural = 0
        pooling: Literal["first", "last", "mean"] = "first"

    class Model(Part):
        saved: Literal["head", "adapters", "encoder", "peft"]
        adapters: Annotated[list[Name], Field(min_length=1)] = missing

    class Data(Part):
        source: Any = None
        language: str | list[str] = ""

    class Metrics(Part):
        name: str = ""
        dev: float | dict[str, float] | None = None
        test: dict[str, float] = missing

    def different(names: list[str]) -> list[str]:
        if len(set(names)) < len(names):
            raise ValueError("a label comes twice")
        return names

    class RunFile(Part):
        format: Natural
        task: Name = "-"
        labels: Annotated[list[Name], Field(min_length=1), AfterValidator(different)] = missing
        pair: bool | None = None
        encoder: Encoder = missing
        head: Head = missing
        windows: Windows = missing
        tuning: str = ""
        model: Model = missing
        seed: int = 0
        training: dict[str, Any] = missing
        data: dict[str, Data] = missing
        metrics: Metrics = missing
        versions: dict[str, str] = missing
        files: dict[Name, Sha256]

    return RunFile


@cache
def training_schema() -> "type[BaseModel]":
    """The model of `training.json`, which says what a training that has not ended was asked for."""
    from pydantic import BaseModel, ConfigDict

    class Request(BaseModel):
        model_config = ConfigDict(strict=True, extra="allow", protected_namespaces=())
        model: str

    class TrainingFile(BaseModel):
        model_config = ConfigDict(strict=True, extra="allow")
        id: str
        request: Request
        encoder: str
        data: dict[str, Any]
        chosen: dict[str, Any] | None = None

    return TrainingFile
