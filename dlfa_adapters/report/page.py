"""What `dlfa report` is given, and the page that is made of it: one file with style and script that loads nothing."""

import base64
import hashlib
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dlfa_adapters._version import __version__
from dlfa_adapters.ground.errors import ConfigError, RunError, told_if_damaged
from dlfa_adapters.ground.files import sha256_of, write_text
from dlfa_adapters.ground.folders import check_writable
from dlfa_adapters.report.evaluation import EvaluationPart, Facts, evaluation_part, run_facts
from dlfa_adapters.report.sweep import SweepPart, sweep_part
from dlfa_adapters.runs import Run, read_run
from dlfa_adapters.scores.saved import REPORT, evaluations_of, is_evaluation, read_evaluation, read_report
from dlfa_adapters.scores.show import percent
from dlfa_adapters.sweeps.table import read_sweep, sweep_file

_HUES = {"PER": 145, "LOC": 200, "ORG": 300}


@dataclass(frozen=True)
class Page:
    """What a page holds.

    Attributes:
        title: Its title.
        summary: One line below the title.
        command: The command that writes it.
        evaluations: The evaluations, each a part of the page.
        sweep: A sweep, if that is what it shows.
        configuration: What the run or sweep records, by part.
        notes: What was left out.
    """

    title: str
    summary: str
    command: str
    evaluations: Sequence[EvaluationPart] = ()
    sweep: SweepPart | None = None
    configuration: dict[str, Facts] = field(default_factory=dict)
    notes: Sequence[str] = ()


def write_report(source: str | Path, out: str | Path | None = None) -> Path:
    """Write the HTML report of a run with all its saved evaluations, of one saved evaluation, or of a sweep.

    Args:
        source: A run folder, the folder of a saved evaluation, or of a sweep.
        out: The file; default: `SOURCE.html` beside the folder. A file there is replaced.

    Returns:
        The file.

    Raises:
        RunError: If it is none of these, has a damaged file, or the run has not been evaluated.
        ConfigError: If nothing can be written there.
    """
    file = Path(out) if out is not None else default_file(source)
    check_writable(file)
    html = render_page(report_page(source))
    write_text(file, html)
    return file


def default_file(source: str | Path) -> Path:
    """Where the report goes if no other is given: beside the folder, under its name.

    Raises:
        ConfigError: If it is the root, beside which there is nothing.
    """
    folder = Path(source).absolute()
    if not folder.name:
        raise ConfigError(f"The report of {folder} needs a place; give a file with --out.")
    return folder.with_name(f"{folder.name}.html")


def report_page(source: str | Path) -> Page:
    """What the page of a run, of a saved evaluation or of a sweep holds.

    Raises:
        RunError: As for `write_report`.
    """
    folder = Path(source)
    command = f"dlfa report {folder}"
    if (file := sweep_file(folder)) is not None:
        return _sweep_page(file, command)
    if is_evaluation(folder):
        part = _part(folder, "evaluation-1")
        run = _run_of(part)
        configuration = run_facts(run.config) if run else {}
        title = Path(part.report.about.get("run", {}).get("folder", folder)).name
        return Page(title, _summary([part]), command, [part], configuration=configuration)
    if (folder / "plan.json").is_file():
        raise RunError(f"{folder} is a sweep that has not finished; call dlfa sweep again with --out {folder}.")
    run = read_run(folder)
    parts, notes = _evaluations(run)
    if not parts:
        data = run.config.get("data", {}).get("train", {}).get("source", "DATA")
        raise RunError(
            f"{folder} has no saved evaluation{' of its present model' if notes else ''} to report; type: "
            f"dlfa evaluate {folder} --data {data} --save"
        )
    return Page(
        folder.absolute().name, _summary(parts), command, parts, configuration=run_facts(run.config), notes=notes
    )


def _sweep_page(file: Path, command: str) -> Page:
    sweep = read_sweep(file)
    with told_if_damaged(file, "call dlfa sweep again"):
        part = sweep_part(sweep)
        summary = f"task {sweep.task}; encoder {sweep.about['encoder']['name']}"
    return Page(file.absolute().parent.name, summary, command, sweep=part, configuration=part.configuration)


def _evaluations(run: Run) -> tuple[list[EvaluationPart], list[str]]:
    """The saved evaluations beside a run; those of an earlier model under the same name are reported and left out."""
    parts: list[EvaluationPart] = []
    notes, now = [], sha256_of(run.folder / "run.json")
    for folder in evaluations_of(run.folder):
        part = _part(folder, f"evaluation-{len(parts) + 1}")
        if part.report.about.get("run", {}).get("sha256") == now:
            parts.append(part)
        else:
            notes.append(f"{folder} is of an earlier training under this name and is left out; evaluate again.")
    return parts, notes


def _part(folder: Path, anchor: str) -> EvaluationPart:
    report, predictions = read_report(folder), read_evaluation(folder)
    if {row.language for row in report.table.languages} != {x.language for x in predictions.languages}:
        raise RunError(f"{folder} has scores and predictions of different languages; evaluate again.")
    with told_if_damaged(folder / REPORT, "evaluate again"):
        return evaluation_part(predictions, report, anchor)


def _run_of(part: EvaluationPart) -> Run | None:
    """The run that was evaluated, if it is still where it was and still the same."""
    about = part.report.about.get("run", {})
    folder = Path(about.get("folder", ""))
    if not (folder / "run.json").is_file() or sha256_of(folder / "run.json") != about.get("sha256"):
        return None
    return read_run(folder)


def _summary(parts: Sequence[EvaluationPart]) -> str:
    """One line: task, encoder, head, languages of the labels."""
    report = parts[0].report
    run = report.about.get("run", {})
    head = run.get("head", {})
    layers = ", ".join(map(str, head.get("fuse_layer") or ()))
    named = [
        f"task {report.task['name']}",
        f"encoder {run['encoder']}" if run.get("encoder") else "",
        f"head {head['fusion']}{f' of layer {layers}' if layers else ''}" if head.get("fusion") else "",
        f"labels in {', '.join(report.source_languages)}" if report.source_languages else "",
    ]
    return "; ".join(filter(None, named))


def render_page(page: Page) -> str:
    """The HTML of a page.

    Every value is escaped as it is written, and a content security policy lets nothing run but the one script whose
    hash it names.
    """
    script, style = (_file(name) for name in ("script.js", "style.css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = _environment().get_template("page.html")
    return template.render(
        page=page, script=Markup(script), style=Markup(style), script_hash=f"sha256-{digest}", version=__version__
    )


def hue(kind: str) -> int:
    """The colour of a type, in degrees; the same on every page."""
    return _HUES.get(kind, zlib.crc32(kind.encode("utf-8", "replace")) % 360)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dlfa_adapters.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=as_html_text,
    )
    environment.globals |= {"percent": percent, "hue": hue}
    return environment


def _file(name: str) -> str:
    return (resources.files("dlfa_adapters.report") / "templates" / name).read_text("utf-8")


def as_html_text(value: object) -> object:
    """Text with control characters and lone surrogates escaped: HTML cannot hold them. Other values as they are."""
    if type(value) is not str:
        return value
    return "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" else char
        for char in value
    )
