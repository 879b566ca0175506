"""What a sweep trains and scores: encoder, data in the source language, data in the target languages, heads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlfa_adapters.data.places import AS_FOUND, Reading
from dlfa_adapters.data.sources import load_source
from dlfa_adapters.encoders import Encoder, load_encoder
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.centred import read_centring
from dlfa_adapters.learning.checks import default_source
from dlfa_adapters.learning.cut import fit_length, settings_to_predict
from dlfa_adapters.learning.data_notes import data_notes
from dlfa_adapters.learning.dataset import (
    Source,
    Sources,
    check_same_kind,
    describe_data,
    examples_of,
    load_dev,
    load_split,
    make_examples,
    task_for,
)
from dlfa_adapters.learning.features import spec_of
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.rate_choice import pairs
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.sources import mix
from dlfa_adapters.predict import Items
from dlfa_adapters.predict.items import check_fit, items_by_language
from dlfa_adapters.predict.options import with_runs
from dlfa_adapters.scores.translations import Translations, find_translations
from dlfa_adapters.sweeps.variants import make_variants, with_seeds
from dlfa_adapters.tasks import Task
from dlfa_adapters.tuning import Tuning

_NO_MATTER = ("fuse_layer", "compile", "report_to")
"""Settings that do not change what comes out."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request for a sweep, in the arguments of `run_sweep`, and how files are read.

    Two calls with equal ones, and equal data and encoder, are one sweep.
    """

    task: str
    train_data: Sources | None = None
    dev_data: Sources | None = None
    target_data: Source | None = None
    split: str = "test"
    languages: tuple[str, ...] | None = None
    limit: int | None = None
    language: str | None = None
    labels: str | None = None
    model: str = "offline"
    layers: tuple[int, ...] | None = None
    extra: tuple[str, ...] = ()
    seeds: int = 3
    reading: Reading = AS_FOUND


@dataclass
class Prepared:
    """A sweep that is about to begin; frozen and fine-tuned sweeps both start from it.

    Attributes:
        request: The request.
        task: The task, with the labels of the heads.
        tuning: What learns beside the heads.
        settings: Resolved ones; the fuse layer is not used.
        encoder: The encoder, without a head.
        specs: The heads, the seeds of each one after the other.
        train: Training data.
        dev: Source dev data, which choose epochs and the best head.
        targets: By language, what is scored after each epoch; it chooses nothing.
        sources: Languages trained on.
        data: For `train`, `dev` and `targets`: source, languages, items, fingerprint.
        out: The sweep's folder.
        options: What else a run of it reads, see `Kind.options`.
        translations: Which items of `targets` are translations of each other; None for a single language.
        taken: What the files were taken for.
        notes: What looks wrong in training and dev data.
        centring: What is taken off the states that heads read; None: nothing.
    """

    request: Request
    task: Task
    tuning: Tuning
    settings: Settings
    encoder: Encoder
    specs: list[HeadSpec]
    train: Examples
    dev: Examples
    targets: dict[str, Examples]
    sources: list[str]
    data: dict[str, dict[str, Any]]
    out: Path
    options: dict[str, Any] = field(default_factory=dict)
    translations: Translations | None = None
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    centring: Centring | None = None

    @property
    def num_layers(self) -> int:
        """Number of blocks L of the encoder."""
        return int(self.encoder.model.config.num_hidden_layers)

    def rates_in_words(self) -> str:
        """Which learning rates there are, for the screen."""
        rates = pairs(self.settings, frozen=self.tuning.on_states)
        if len(rates) == 1:
            return f"learning rate {rates[0]}"
        return f"learning rates {', '.join(map(str, rates))}: each head has the one that is best for it on dev"

    def decisive_settings(self) -> dict[str, Any]:
        """The settings that scores depend on; heads on frozen states know no smaller batches."""
        no_matter = (*_NO_MATTER, "micro_batch_size") if self.tuning.on_states else _NO_MATTER
        settings = {name: value for name, value in self.settings.as_dict().items() if name not in no_matter}
        return {**settings, "center": self.centring and self.centring.means.digest}


def prepare_sweep(request: Request, tuning: Tuning, settings: Settings, out: Path) -> Prepared:
    """Read everything.

    Raises:
        ConfigError: If an option has a value that cannot work, or there are no dev data.
        DataError: If the data cannot be read or are not for this task.
    """
    source = default_source(request.task) if request.train_data is None else request.train_data
    rows = load_split(source, request.task, "train", request.language, request.reading)
    dev_rows = load_dev(request.dev_data, source, request.task, request.language, request.reading)
    if dev_rows is None:
        raise ConfigError("A sweep needs dev data in the source language, to choose epochs on; name some with --dev.")
    check_same_kind(rows, dev_rows)
    task = task_for(request.task, rows, request.labels)
    if not (kind := kind_of_task(task)).learns_on_states:
        raise ConfigError(f"There is no sweep of {kind.name} tasks; train one head: dlfa train {task.name}.")
    items, described, taken = _targets(request, task, source)
    encoder = load_encoder(request.model)
    settings, notes = fit_length(settings, encoder.model)
    cut = settings_to_predict(settings, task, encoder)
    options = kind.split_options(settings.kind)[1]
    read = with_runs(kind, options)
    sources = list(dict.fromkeys([*rows.dataset["language"], *dev_rows.dataset["language"]]))
    centring = read_centring(settings, encoder.model, [*sources, *(each.language for each in items)])
    train = make_examples(task, rows.dataset, encoder.tokenizer, settings, read)
    data = {
        "train": describe_data(rows, source) | mix(train, source, request.language, settings.steps),
        "dev": describe_data(dev_rows, source if request.dev_data is None else request.dev_data),
        "targets": described,
    }
    return Prepared(
        request=request,
        task=task,
        tuning=tuning,
        settings=settings,
        encoder=encoder,
        specs=_specs(request, task, settings, encoder.model.config.num_hidden_layers),
        train=train,
        dev=make_examples(task, dev_rows.dataset, encoder.tokenizer, cut, read),
        targets={
            x.language: examples_of(
                task, kind.completed(x.inputs, read), x.gold, encoder.tokenizer, cut, [x.language] * len(x.inputs)
            )
            for x in items
        },
        sources=list(dict.fromkeys(rows.dataset["language"])),
        data=data,
        out=out,
        options=options,
        translations=find_translations(items, task),
        taken=list(dict.fromkeys([*rows.taken, *dev_rows.taken, *taken])),
        notes=notes + data_notes(rows, dev_rows, task),
        centring=centring,
    )


def _targets(request: Request, task: Task, source: Sources) -> tuple[list[Items], dict[str, Any], list[str]]:
    """The items to score by language, what a file says of them, and what they were taken for."""
    target = source if request.target_data is None else request.target_data
    if isinstance(target, Mapping) or (
        request.target_data is None and (not isinstance(source, str | Path) or Path(source).is_file())
    ):
        raise ConfigError("expected data in the languages to score; name a folder, a file or hub:NAME with --data.")
    loaded = load_source(target, request.task, request.split, request.languages, **request.reading.of(target))
    items, without_words = items_by_language(loaded, request.limit)
    check_fit(items, task, loaded.source)
    described = {
        "source": loaded.source,
        "split": request.split,
        "limit": request.limit,
        "languages": {each.language: {"items": len(each.gold), "fingerprint": each.fingerprint()} for each in items},
        "dropped": {**loaded.dropped, **({"no_words": without_words} if without_words else {})},
        **({"remarks": remarks} if (remarks := loaded.remarks()) else {}),
    }
    return items, described, loaded.taken


def _specs(request: Request, task: Task, settings: Settings, num_layers: int) -> list[HeadSpec]:
    base = spec_of(settings, "", (), kind_of_task(task))
    at = task.default_fuse_layer(num_layers)
    return with_seeds(make_variants(base, num_layers, layers=request.layers, extra=request.extra, at=at), request.seeds)
