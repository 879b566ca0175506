"""The sweep of a frozen encoder: states once, all heads side by side, each finished head in a file of its own."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import Tensor

from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.ground.files import remove_drafts_of
from dlfa_adapters.ground.tensors import save_tensors
from dlfa_adapters.learning.features import schedule_of
from dlfa_adapters.learning.frozen import HeadSpec, OnStates, Rate, TrainedHead, learn_on_states, with_states
from dlfa_adapters.learning.frozen.head import Epoch
from dlfa_adapters.learning.frozen.optimizer import before, read_or_delete
from dlfa_adapters.learning.frozen.stacks import all_layers
from dlfa_adapters.learning.rate_choice import Attempt, Pair, pairs
from dlfa_adapters.sweeps import STATES, TRAININGS
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.trainings import Choices, Job, RowFiles, SweepRow

_EPOCH = re.compile(r"epoch-[0-9a-f]{16}(\.before)?\.safetensors")


def frozen_sweep(
    prepared: Prepared, *, state_budget: int, note: Callable[[str], None], report: Progress
) -> list[SweepRow]:
    """Train every head of a sweep on the states of one frozen encoder, and score each after every epoch.

    All heads see the same batches in the same order, whatever their seed, which is that of their first weights. Where
    several learning rates are given, each head has the one that is best for its first seed on source dev. What is in
    the folder already and fits is neither computed nor trained again; beyond `state_budget` bytes of hidden states on
    the disk the encoder runs once in every epoch.

    Returns:
        The rows in the order of `prepared.specs`.

    Raises:
        ConfigError: If an option cannot work on a frozen encoder.
    """
    settings = prepared.settings
    if settings.head.pooling != "first" or settings.head.classifier != "linear":
        raise ConfigError(
            "A sweep of a frozen encoder reads words at their first piece and has a linear classifier; "
            "leave --pooling and --classifier out, or name another --tuning."
        )
    files = RowFiles(prepared.out / TRAININGS, prepared)
    missing = [
        number
        for number, spec in enumerate(prepared.specs)
        if files.read(number) is None or _read_weights(prepared, files.key(spec)) is None
    ]
    if there := len(prepared.specs) - len(missing):
        note(f"{there} of {len(prepared.specs)} heads are there already.")
    if missing:
        targets = {language: f"target-{language}" for language in prepared.targets}
        data = with_states(
            prepared.encoder.model,
            {
                "train": prepared.train,
                "dev": prepared.dev,
                **{name: prepared.targets[language] for language, name in targets.items()},
            },
            all_layers(prepared.specs, prepared.num_layers),
            prepared.encoder.tokenizer.pad_token_id,
            prepared.out / STATES,
            report,
            budget=state_budget,
            note=note,
            centring=prepared.centring,
        )
        specs = [prepared.specs[number] for number in missing]
        choices = Choices(files, pairs(settings, frozen=True), settings.steps.seed)
        _try(prepared, choices, specs, data, report)
        jobs = [Job(spec, choices.of(spec).rates) for spec in specs]
        checkpoint = _checkpoint(prepared, jobs)
        watch = {language: data[name] for language, name in targets.items()}
        stage = f"Training {len(specs)} heads side by side"
        trained = _train(prepared, jobs, data, checkpoint, stage, report, watch)
        for number, head in zip(missing, trained, strict=True):
            save_tensors(_weights(prepared, files.key(head.spec)), head.state_dict, {"head": head.spec.name})
            files.write(number, SweepRow.of(head, choices.of(head.spec)))
        for path in (checkpoint, before(checkpoint)):
            path.unlink(missing_ok=True)
    return [row for number in range(len(prepared.specs)) if (row := files.read(number)) is not None]


def trained_head(prepared: Prepared, row: SweepRow) -> TrainedHead:
    """The head of a row of a frozen sweep that is done, with its weights.

    Raises:
        RunError: If the sweep has no such head, or its weights are gone.
    """
    if row.spec not in prepared.specs:
        raise RunError(f"{row.spec.name} with seed {row.spec.seed} is not of the sweep in {prepared.out}.")
    key = RowFiles(prepared.out / TRAININGS, prepared).key(row.spec)
    weights = _read_weights(prepared, key)
    if weights is None:
        raise RunError(f"{_weights(prepared, key)} is missing or was damaged; start the sweep again.")
    epoch = Epoch(row.epoch, row.dev_score, weights, loss=row.loss)
    return TrainedHead(row.spec, _rate(prepared, row.rates.rates), row.dev, watched=row.languages, epochs=[epoch])


def _try(
    prepared: Prepared, choices: Choices, specs: Sequence[HeadSpec], data: Mapping[str, OnStates], report: Progress
) -> None:
    """Try the rates of some heads, where that has not been done; no target language is scored."""
    jobs = [job for job in choices.jobs(specs) if choices.read(job) is None]
    if not jobs:
        return
    stage = f"Trying {len(choices.pairs)} learning rates for {len({job.spec for job in jobs})} heads"
    heads = _train(prepared, jobs, data, _checkpoint(prepared, jobs), stage, report)
    for job, head in zip(jobs, heads, strict=True):
        choices.write(job, Attempt.of(head, job.rates))


def _train(
    prepared: Prepared,
    jobs: Sequence[Job],
    data: Mapping[str, OnStates],
    checkpoint: Path,
    stage: str,
    report: Progress,
    watch: Mapping[str, OnStates] | None = None,
) -> list[TrainedHead]:
    """Train heads at one rate each."""
    trials = learn_on_states(
        [job.spec for job in jobs],
        data["train"],
        data["dev"],
        prepared.task,
        schedule_of(prepared.settings),
        rates=[[_rate(prepared, job.rates)] for job in jobs],
        seed=prepared.settings.steps.seed,
        watch=watch,
        checkpoint=checkpoint,
        on_progress=lambda done, total: report(stage, done, total),
    )
    return [trial.head for trial in trials]


def _rate(prepared: Prepared, pair: Pair) -> Rate:
    return Rate(pair.head, prepared.settings.steps.weight_decay)


def _weights(prepared: Prepared, key: str) -> Path:
    return prepared.out / TRAININGS / f"weights-{key}.safetensors"


def _read_weights(prepared: Prepared, key: str) -> dict[str, Tensor] | None:
    """The weights of a head; None where they are not there, or were damaged, with a warning."""
    saved = read_or_delete(_weights(prepared, key), "the head is trained again")
    return None if saved is None else saved[0]


def _checkpoint(prepared: Prepared, jobs: Sequence[Job]) -> Path:
    """The file of the epochs that are done, by all that they depend on; files of other trainings are deleted."""
    specs = [[job.spec.record(), job.rates] for job in jobs]
    identity = [prepared.encoder.describe(), prepared.data, prepared.settings.as_dict(), prepared.task.labels, specs]
    identity += [prepared.centring.means.digest] if prepared.centring else []
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:16]
    path = prepared.out / TRAININGS / f"epoch-{digest}.safetensors"
    remove_drafts_of(path)
    for other in path.parent.glob("epoch-*.safetensors"):
        if other not in (path, before(path)) and _EPOCH.fullmatch(other.name) and not other.is_symlink():
            remove_drafts_of(other)
            other.unlink()
    return path
