"""From what a page holds to its HTML: one file with style and script in it, that loads nothing."""

import base64
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dlfa_adapters._version import __version__
from dlfa_adapters.report.evaluation_part import EvaluationPart
from dlfa_adapters.report.facts import Facts
from dlfa_adapters.report.sweep_part import SweepPart
from dlfa_adapters.report.text import shown
from dlfa_adapters.scores.show import percent

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
        finalize=shown,
    )
    environment.globals |= {"percent": percent, "hue": hue}
    return environment


def _file(name: str) -> str:
    return (resources.files("dlfa_adapters.report") / "templates" / name).read_text("utf-8")
