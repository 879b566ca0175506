"""`run.json`: what it says of a training, and what it must hold. What it holds besides is left alone."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.tasks import Task

if TYPE_CHECKING:
    from pydantic import BaseModel


HEAD_OPTIONS = ("fusion", "fuse_layer", "gate", "reduction", "branches", "norm", "init", "classifier")
"""What `run.json` says of a head; all its options are in `head/head_config.json`."""


def run_record(
    task: Task,
    *,
    encoder: Mapping[str, Any],
    head: Mapping[str, Any],
    windows: Mapping[str, Any],
    tuning: str,
    seed: int,
    training: Mapping[str, Any],
    data: Mapping[str, Any],
    metrics: Mapping[str, Any],
    model: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What `run.json` says of a training; `write_run` adds format, versions and checksums.

    Args:
        task: What was trained for; its name is also the head's.
        encoder: The encoder before training, from `Encoder.describe`.
        head: The head's configuration, of which it says `HEAD_OPTIONS`, those that are there.
        windows: `max_length`, `context`, `pooling`, and for documents `first_sentences`.
        tuning: What learned.
        seed: Of the training.
        training: Options, and what came of them.
        data: For `train` and `dev`: source, language, items, fingerprint.
        metrics: `name`, and scores in percent on `dev`, and `test`.
        model: What `load_trained` must know; None: nothing but a head is there.
        options: What the model reads besides, see `Kind.options`; left out where there is nothing.
    """
    return {
        "task": task.name,
        "labels": list(task.labels),
        **kind_of_task(task).record(task),
        "encoder": dict(encoder),
        "head": {"name": task.name, **{key: head[key] for key in HEAD_OPTIONS if key in head}},
        "windows": dict(windows),
        **({"options": dict(options)} if options else {}),
        "tuning": tuning,
        **({} if model is None else {"model": dict(model)}),
        "seed": seed,
        "training": dict(training),
        "data": dict(data),
        "metrics": dict(metrics),
    }


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
        first_sentences: Annotated[int, Field(ge=1)] = missing

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

    class Center(Part):
        layers: Annotated[list[Natural], Field(min_length=1)]
        languages: Annotated[list[Name], Field(min_length=1)]
        fingerprint: Name

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
        options: dict[str, Any] = missing
        tuning: str = ""
        model: Model = missing
        seed: int = 0
        training: dict[str, Any] = missing
        data: dict[str, Data] = missing
        metrics: Metrics = missing
        center: Center = missing
        versions: dict[str, str] = missing
        files: dict[Name, Sha256]

    return RunFile


@cache
def training_schema() -> "type[BaseModel]":
    """The model of `training.json`, the configuration of a training that has not ended."""
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
