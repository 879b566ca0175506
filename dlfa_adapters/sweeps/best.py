"""The best head of a frozen sweep as a run, which `dlfa predict` and `dlfa evaluate` take like any other."""

from pathlib import Path

from dlfa_adapters.ground.folders import remove_drafts
from dlfa_adapters.learning.finish import language_names, model_record
from dlfa_adapters.learning.frozen.export import add_trained_head
from dlfa_adapters.learning.rate_choice import finite_or_none
from dlfa_adapters.runs import Run, write_run
from dlfa_adapters.scores.metrics import metrics_for
from dlfa_adapters.sweeps.frozen import trained_head
from dlfa_adapters.sweeps.prepare import Prepared
from dlfa_adapters.sweeps.results import SweepResult, SweepRow
from dlfa_adapters.sweeps.saved import BEST


def save_best(prepared: Prepared, result: SweepResult) -> Run:
    """Write the run folder `best` of the head that is best on source dev.

    Args:
        prepared: The sweep; the head is put on its encoder.
        result: Its scores.
    """
    return save_head(prepared, result, result.best(), prepared.out / BEST)


def save_head(prepared: Prepared, result: SweepResult, row: SweepRow, out: Path) -> Run:
    """Write the run folder of any head of a frozen sweep.

    Args:
        prepared: The sweep.
        result: Its scores.
        row: The head.
        out: The run folder.

    Raises:
        RunError: If the sweep has no such head, or its weights are gone.
    """
    task, settings, model = prepared.task, prepared.settings, prepared.encoder.model
    head = trained_head(prepared, row)
    encoder = prepared.encoder.describe()
    add_trained_head(model, task.name, head, task.labels, head_type=task.kind)
    described = {name: prepared.data[name] for name in ("train", "dev")}
    config = {
        **model_record(task, encoder, model.heads[task.name].config, settings, prepared.tuning),
        "model": {"saved": "head"},
        "seed": row.spec.seed,
        "training": {
            **settings.as_dict(),
            "head_learning_rate": row.rates.rates.head,
            "rates_tried": {str(rates): finite_or_none(dev) for rates, dev, _ in row.rates.tried},
            "fuse_layer": list(row.spec.fuse_layer),
            "best": f"epoch {row.epoch}",
            "picked_on": f"{language_names(result.sources)} dev, among {len(result.rows)} heads of a sweep",
            "dev_scores": row.dev,
        },
        "data": described,
        "metrics": {
            "name": metrics_for(task)[0].main_score,
            "dev": {result.sources[0]: round(row.dev_score, 4)},
            "test": {language: round(score, 4) for language, score in row.scores().items()},
        },
    }
    remove_drafts(out)
    return write_run(out, config, lambda folder: model.save_head(str(folder / "head"), task.name))
