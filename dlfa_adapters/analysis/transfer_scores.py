"""Scores by language that something is held against: of saved evaluations, of sweeps, or of a file of one's own."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dlfa_adapters.data.languages import main_code
from dlfa_adapters.data.places import check_there
from dlfa_adapters.data.readers import Notes, read_lines
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.scores.report import Report
from dlfa_adapters.scores.saved import evaluations_of, is_evaluation, read_report
from dlfa_adapters.sweeps.table import read_sweep, sweep_file
from dlfa_adapters.sweeps.variants import BASELINE

Scores = dict[str, dict[str, float]]
"""Name of a model -> language, as `main_code` spells it -> score."""

_LANGUAGE = "language"


def read_scores(place: str | Path, task: str | None = None) -> Scores:
    """Scores by language, those of the library in per cent.

    Args:
        place: One of these: a saved evaluation, or a run with one beside it: its main score. A sweep: its best head and
            its baseline, the means over seeds. A JSON file with a score for each language, `{"de": 71.2}`, or with
            several such by name, or what `dlfa evaluate --json` or `dlfa sweep --json` printed. A CSV or TSV file with
            a column `language` and one or several of scores.
        task: What the scores must be of, where the place tells; None for any.

    Returns:
        The scores; a language whose score is not defined is left out.

    Raises:
        DataError: If there is no such file or folder, or the file is none of these.
        ConfigError: If there are several evaluations beside a run, or none, or they are of another task.
        RunError: If a saved evaluation or sweep is damaged.
    """
    path = Path(place)
    check_there(path)
    if (sweep := sweep_file(path)) is not None:
        return _of_sweep(sweep, str(path), task)
    if is_evaluation(path):
        return _of_report(read_report(path), str(path), task)
    if path.is_dir():
        return _of_run(path, task)
    if path.suffix in (".csv", ".tsv"):
        return _of_table(path)
    if path.suffix == ".json":
        return _of_json(path, task)
    raise DataError(
        f"{path}: expected a run or sweep, a saved evaluation, or a .json, .csv or .tsv file of scores by language"
    )


def join_scores(parts: Iterable[Scores]) -> Scores:
    """The scores of several places.

    Raises:
        ConfigError: If two have the same name.
    """
    joined: Scores = {}
    for part in parts:
        if twice := joined.keys() & part.keys():
            raise ConfigError(f"There are two sets of scores of the name {min(twice)!r}; name each place once.")
        joined.update(part)
    return joined


def _of_run(path: Path, task: str | None) -> Scores:
    found = evaluations_of(path)
    if len(found) == 1:
        return _of_report(read_report(found[0]), str(path), task)
    if found:
        raise ConfigError(f"There are several evaluations of {path}; name one: {', '.join(map(str, found))}.")
    raise ConfigError(
        f"There is no saved evaluation of {path}; type dlfa evaluate {path} --data DATA --save, or name another folder."
    )


def _of_report(report: Report, name: str, task: str | None) -> Scores:
    _check_task(report.task["name"], task, name)
    main = next(iter(report.titles))
    scores = {row.language: row.scores[main].value for row in report.table.languages}
    return {name: _by_main_code({x: 100 * score for x, score in scores.items() if score is not None}, name)}


def _of_sweep(file: Path, name: str, task: str | None) -> Scores:
    saved = read_sweep(file)
    _check_task(saved.task, task, name)
    lines = {line.name: line for line in (saved.best, *saved.table.lines) if line.name in (saved.best.name, BASELINE)}
    return {
        f"{name}: {line.name}": _by_main_code(
            {x: 100 * score.value for x, score in line.languages.items() if score.value is not None}, name
        )
        for line in lines.values()
    }


def _check_task(its: str, task: str | None, name: str) -> None:
    """Refuse scores of another task.

    Raises:
        ConfigError: If they are of one.
    """
    if task is not None and its != task:
        raise ConfigError(
            f"Expected scores of {task}, but {name} has those of {its}; name one of {task}, or type dlfa analyze "
            f"overlap {its} with the data of {its}."
        )


def _of_json(path: Path, task: str | None) -> Scores:
    try:
        lines = "\n".join(read_lines(path, Notes(path)))
        told = json.loads(lines, object_pairs_hook=lambda pairs: _each_once(pairs, path))
    except ValueError as error:
        raise DataError(f"{path}: expected JSON, but it is none: {error}") from None
    if isinstance(told, dict) and "source_languages" in told:
        try:
            return _of_report(Report.from_dict(told), str(path), task)
        except (LookupError, TypeError, AttributeError) as error:
            raise RunError(f"{path} is damaged ({error}); evaluate again.") from None
    if isinstance(told, dict) and "heads" in told:
        return _of_sweep(path, str(path), task)
    several = isinstance(told, dict) and told and all(isinstance(each, dict) for each in told.values())
    scores = told if several else {path.stem: told}
    return {name: _by_main_code(_numbers(each, path), path) for name, each in scores.items()}


def _of_table(path: Path) -> Scores:
    lines = read_lines(path, Notes(path))
    header, *rows = csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ",") if lines else [[]]
    names = [name.strip() for name in header]
    if _LANGUAGE not in names or len(names) < 2:
        raise DataError(f"{path}: expected a header row with {_LANGUAGE!r} and a name for each column of scores")
    _each_once([(name, None) for name in names], path)
    for number, row in enumerate(rows, 2):
        if row and len(row) != len(names):
            raise DataError(f"{path}, line {number}: expected {len(names)} columns, but got {len(row)}")
    at = names.index(_LANGUAGE)
    scores = {}
    for column, name in enumerate(names):
        if column != at:
            told = [(row[at].strip(), row[column]) for row in rows if row and row[column].strip()]
            scores[name] = _by_main_code(_numbers(_each_once(told, path), path), path)
    return scores


def _each_once(pairs: Iterable[tuple[str, Any]], path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise DataError(f"{path}: expected each language and each column once, but {name} is there twice")
        found[name] = value
    return found


def _numbers(scores: Any, path: Path) -> dict[str, float]:
    if not isinstance(scores, dict) or not scores:
        raise DataError(f'{path}: expected a score for each language, such as {{"de": 71.2, "sw": 60.4}}')
    numbers = {}
    for language, score in scores.items():
        try:
            numbers[language] = float(score)
        except (TypeError, ValueError):
            raise DataError(f"{path}: expected a number as the score of {language}, but got {score!r}") from None
        if numbers[language] != numbers[language] or abs(numbers[language]) == float("inf"):
            raise DataError(f"{path}: expected a finite number as the score of {language}, but got {score!r}")
    return numbers


def _by_main_code(scores: Mapping[str, float], place: object) -> dict[str, float]:
    """The same by the code under which spellings of a language meet.

    Raises:
        DataError: If two spellings of one language are among them.
    """
    by_code: dict[str, float] = {}
    spelled: dict[str, str] = {}
    for language, score in scores.items():
        code = main_code(language)
        if (other := spelled.setdefault(code, language)) != language:
            raise DataError(
                f"{place}: expected one score for each language, but there are two for {code}, of {other} and "
                f"{language}; take one of them out, or evaluate with --languages and one of them"
            )
        by_code[code] = score
    return by_code
