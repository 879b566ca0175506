"""`dlfa doctor`: what is installed, what this machine has, and what is missing for what."""

import json
import platform
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import typer

from dlfa_cli.options import AsJson

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_PACKAGE = "dlfa-adapters"
_SECONDS = 180
PROBE = ["-m", "dlfa_cli.probe"]
_SHOWN = ("torch", "transformers", "adapters", "peft", "datasets", "accelerate", "huggingface-hub", "numpy")

EXTRAS = {
    "demo": "the offline encoder, which needs no hub (`dlfa demo`)",
    "onnx": "`dlfa export`",
    "plots": "the plots of `dlfa sweep`",
    "sentences": "`--first-sentences`",
    "static": "word2vec and linear maps of `dlfa analyze words`",
    "translate": "BLEU-1 of `dlfa analyze translate`",
    "tune": "`dlfa tune`",
}
"""What each extra is for; those for developers are left out."""

DEVELOPERS = ("dev", "docs", "test")


def doctor(as_json: AsJson = False) -> None:
    """Tell what is installed, which devices there are, whether the hub answers, and what is missing for what.

    Exit code 0, or 2 where something is broken without which nothing works. Examples:

    `dlfa doctor`

    `dlfa doctor --json > doctor.json`
    """
    from dlfa_cli.screen import errors_console

    with errors_console().status("Looking around (loading PyTorch and adapters)"):
        report = examine()
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1))
    else:
        _show(report)
    if report["problems"]:
        raise typer.Exit(2)


def examine() -> dict[str, Any]:
    """What `dlfa doctor --json` prints.

    `problems` has a sentence for everything without which nothing works, `missing` one for every part that only some
    commands need.
    """
    report: dict[str, Any] = {
        "python": {"version": platform.python_version(), "executable": sys.executable, "platform": platform.platform()},
        "packages": _packages(),
        **_probe(),
        "extras": _extras(),
    }
    return {**report, "problems": _problems(report), "missing": _missing(report)}


def _probe() -> dict[str, Any]:
    """Devices, library, hub and caches, examined by another process: a broken driver may hang or crash it."""
    unknown = ("torch", "library", "offline", "hub", "caches")
    try:
        done = subprocess.run([sys.executable, *PROBE], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {name: {"error": f"nothing after {_SECONDS} s"} for name in unknown}
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        last = [f"exit code {done.returncode}", *done.stderr.splitlines()][-1]
        return {name: {"error": last} for name in unknown}


def _requirements() -> "list[Requirement]":
    from packaging.requirements import Requirement

    try:
        return [Requirement(line) for line in metadata.requires(_PACKAGE) or []]
    except metadata.PackageNotFoundError:  # run from its source, not installed
        return []


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> list[dict[str, Any]]:
    """Every package that the library needs: what is installed, what is required, whether that fits."""
    rows = []
    for needed in _requirements():
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        package = {"name": needed.name, "installed": _installed(needed.name), "required": str(needed.specifier)}
        rows.append({**package, "fits": _fits(needed)})
    return rows


def _extra_names() -> list[str]:
    try:
        return metadata.metadata(_PACKAGE).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return []


def _extras() -> list[dict[str, Any]]:
    """Every extra: what it is for, and which of its packages are not installed."""
    requirements = [needed for needed in _requirements() if needed.marker is not None]
    rows = []
    for extra in sorted(set(_extra_names()) - set(DEVELOPERS)):
        # A package for another system has a marker that does not hold here, with or without the extra.
        own = [x for x in requirements if x.marker and "extra" in str(x.marker) and x.marker.evaluate({"extra": extra})]
        missing = list(dict.fromkeys(needed.name for needed in own if not _fits(needed)))
        install = f"pip install '{_PACKAGE}[{extra}]'"
        rows.append({"name": extra, "for": EXTRAS.get(extra, ""), "missing": missing, "install": install})
    return rows


def _fits(needed: "Requirement") -> bool:
    version = _installed(needed.name)
    return version is not None and needed.specifier.contains(version, prereleases=True)


def _problems(report: dict[str, Any]) -> list[str]:
    """What nothing works without."""
    sentences = []
    for row in report["packages"]:
        if not row["fits"]:
            there = f"{row['installed']} is installed" if row["installed"] else "it is not installed"
            needed = f"{row['name']}{row['required']}"
            sentences.append(f"{needed} is needed, but {there}; type: pip install '{needed}'")
    for name, what in (("torch", "PyTorch"), ("library", "dlfa_adapters")):
        if "error" in report[name]:
            sentences.append(f"{what} cannot be imported: {report[name]['error']}")
    return sentences


def _missing(report: dict[str, Any]) -> list[str]:
    """What only some commands need."""
    sentences = [
        f"{row['for'] or row['name']} needs {', '.join(row['missing'])}; type: {row['install']}"
        for row in report["extras"]
        if row["missing"]
    ]
    torch, hub = report["torch"], report["hub"]
    if torch.get("driver") and not torch.get("devices"):
        sentences.append(
            "This machine has an NVIDIA driver, but PyTorch finds no GPU: it may be the build for CPUs "
            f"({torch.get('version')}); install the one for your CUDA version, see pytorch.org."
        )
    if hub.get("reachable") is False:
        sentences.append(
            "The hub does not answer: names of models and hub:NAME work only where they are in the cache already; "
            "--model offline needs none."
        )
    return sentences


def _show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from dlfa_cli.screen import plain

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(report):
        table.add_row(plain(name), plain(value))
    console = Console(highlight=False)
    console.print(table)
    for title, style in (("problems", "bold red"), ("missing", "yellow")):
        for sentence in report[title]:
            console.print(f"\n[{style}]{title.rstrip('s')}[/] {plain(sentence)}", soft_wrap=True)
    if not report["problems"]:
        console.print("\nAll that dlfa needs is there.")


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    python, torch, hub, offline = (report[name] for name in ("python", "torch", "hub", "offline"))
    versions = {row["name"]: row["installed"] or "not installed" for row in report["packages"]}
    rows = [
        ("dlfa_adapters", report["library"].get("version") or report["library"]["error"]),
        ("Python", f"{python['version']}, {python['executable']}"),
        ("system", python["platform"]),
        *((name, versions[name]) for name in _SHOWN if name in versions),
        ("devices", _devices(torch)),
        ("hub", hub.get("error") or f"{hub['endpoint']}: {hub['reason'] or 'answers'}"),
        ("offline encoder", offline.get("error") or offline["state"]),
    ]
    caches = report["caches"] if isinstance(report["caches"], list) else []
    rows += [(f"cache: {cache['name']}", f"{_size(cache)} in {cache['folder']}") for cache in caches]
    return rows + [
        (f"extra {row['name']}", f"missing: {', '.join(row['missing'])}" if row["missing"] else "installed")
        for row in report["extras"]
    ]


def _devices(torch: dict[str, Any]) -> str:
    if "error" in torch:
        return str(torch["error"])
    gpus = [_gpu(gpu) for gpu in torch["devices"]]
    cpu = f"CPU with {torch['threads']} threads" + (", Apple GPU" if torch["mps"] else "")
    return "; ".join([*gpus, cpu] if gpus else [f"no GPU; {cpu}"])


def _gpu(gpu: dict[str, Any]) -> str:
    total, free = (gpu[name] / 2**30 for name in ("memory", "free"))
    return f"{gpu['name']}, {total:.0f} GiB ({free:.0f} free), bf16 {'yes' if gpu['bf16'] else 'no'}"


def _size(cache: dict[str, Any]) -> str:
    return f"{'' if cache['whole'] else 'more than '}{cache['bytes'] / 2**20:,.0f} MiB"
