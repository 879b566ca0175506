"""`dlfa evaluate` as one function: predict, score, save."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dlfa_adapters.ground.running import Progress
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.scores.intervals import RESAMPLES
from dlfa_adapters.scores.report import Report
from dlfa_adapters.scores.saved import check_evaluation_place, default_folder, save_evaluation
from dlfa_adapters.scores.scoring import build_report


def evaluate_run(
    run: str | Path | Run,
    source: str | Path | Iterable[Any],
    *,
    split: str = "test",
    languages: Iterable[str] | None = None,
    out: str | Path | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Let the model of a run predict all of some data, score every language, and save report and predictions.

    Args:
        run: A run folder.
        source: Data, as for `data.sources.load_source`.
        split: `train`, `dev` or `test`.
        languages: Languages wanted; default: all there are. For a single file: its language.
        out: Where to save; default: beside the run, by data and split. An earlier evaluation there is replaced.
        resamples: Bootstrap resamples.
        seed: Of the resampling.
        progress: Called after each batch and language.
        **options: Further arguments of `predict_run`.

    Returns:
        The report; `render.markdown` makes tables of it.

    Raises:
        RunError: If the folder is no whole run, or a word is left without a prediction.
        ConfigError: If an option has a value that cannot work, or something else is in the way of `out`.
        DataError: If the data cannot be read or do not fit the run.
    """
    run = run if isinstance(run, Run) else read_run(run)
    named = str(source) if isinstance(source, str | Path) else "items"
    folder = Path(out) if out is not None else default_folder(run.folder, named, split)
    check_evaluation_place(folder)
    predictions = predict_run(run, source, split=split, languages=languages, progress=progress, **options)
    report = build_report(predictions, resamples=resamples, seed=seed, progress=progress)
    save_evaluation(folder, predictions, report)
    return report
