"""Commands of the documentation, run as a reader's shell would, but `dlfa` inside this process.

Loading PyTorch and adapters takes ten seconds a process, so `dlfa …`, `python -m dlfa_cli …`, `torchrun … -m dlfa_cli
…` (the launcher's own options are checked in tests/learning/test_processes.py) and Python scripts run here. What would
install, test or build this project, or take a data set of gigabytes, is checked by its form.
"""

import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHARED = {
    "demo": "runs/ner-demo",
    "sweep ner": "runs/ner-sweep",
    "sweep ner --seeds 2 --epochs 6 --plots": "runs/ner-sweep",
}
"""What `dlfa` is asked for on several pages, with nothing but samples: it runs once, and other pages get a copy of the
folder that it writes, and what it printed."""

HARMLESS = ("cat", "cp", "du", "echo", "head", "ls", "mkdir", "tail", "tree", "wc")
"""Programs that run as they are, in the page's folder."""

LAUNCHERS = ("torchrun", "accelerate")


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, whose modules can be imported; the environment is put back afterwards."""
    before, where, modules = dict(os.environ), os.getcwd(), set(sys.modules)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
        os.chdir(where)
        os.environ.clear()
        os.environ.update(before)


@dataclass
class Done:
    """What a block of commands printed, and how its last command ended."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


@dataclass
class Shell:
    """A shell in a folder.

    Attributes:
        root: The root of the project.
        extras: Names of its extras.
        shared: A folder for what is in `SHARED`, and what was printed.
        count: How many commands ran, by kind.
    """

    root: Path
    extras: set[str]
    shared: tuple[Path, dict[str, Done]]
    count: Counter[str] = field(default_factory=Counter)

    def run(self, text: str) -> Done:
        """Run the lines of a block; what follows a failed command is not run.

        Raises:
            AssertionError: If there is a command that it does not know.
        """
        done = Done()
        for line in _lines(text):
            for command in _split(line, ("&&", ";")):
                step = self._pipeline(command)
                done.stdout, done.stderr, done.code = done.stdout + step.stdout, done.stderr + step.stderr, step.code
                if step.code:
                    return done
        return done

    def _pipeline(self, tokens: list[str]) -> Done:
        step = Done()
        for part in _split(tokens, ("|",)):
            target = None
            if ">" in part:
                at = part.index(">")
                part, target = part[:at], Path(part[at + 1])
            step = self._command(part, step.stdout)
            if step.code:
                break
            if target is not None:
                target.write_text(step.stdout, "utf-8")
                step.stdout = ""
        return step

    def _command(self, words: list[str], stdin: str) -> Done:
        while re.fullmatch(r"[A-Z_]+=.*", words[0]) or words[0] == "export":
            if words[0] != "export":
                name, _, value = words[0].partition("=")
                os.environ[name] = value
            words = words[1:]
            if not words:
                return Done()
        program, arguments = words[0], words[1:]
        if program in LAUNCHERS:
            assert "-m" in arguments, f"{shlex.join(words)}: expected -m dlfa_cli"
            program, arguments = "python", arguments[arguments.index("-m") :]
        if program == "dlfa" or (program == "python" and arguments[:2] == ["-m", "dlfa_cli"]):
            self.count["dlfa"] += 1
            arguments = arguments if program == "dlfa" else arguments[2:]
            if " ".join(arguments) in SHARED:
                return self.once(" ".join(arguments))
            return in_process("dlfa", arguments, stdin)
        if program == "python" and arguments and arguments[0].endswith(".py"):
            return self._script(arguments)
        if program in HARMLESS:
            self.count["shell"] += 1
            ran = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=60, check=False)
            return Done(ran.stdout, ran.stderr, ran.returncode)
        self.count["checked by form"] += 1
        self._check(program, arguments)
        return Done()

    def check_options(self, text: str) -> None:
        """Look at commands that are not run: `dlfa` must have the subcommands and options that they name.

        Raises:
            AssertionError: If it does not.
        """
        from dlfa_cli.main import app

        reference = runpy.run_path(str(self.root / "docs" / "hooks" / "cli_reference.py"))
        known = {command.name.split()[1]: command for command in reference["commands"](app, "dlfa")}
        groups = {command.name.split()[1] for command in known.values() if len(command.name.split()) > 2}
        for line in _lines(text):
            for words in _split(line, ("&&", ";", "|")):
                if "dlfa_cli" in words:
                    words = ["dlfa", *words[words.index("dlfa_cli") + 1 :]]
                if words[0] != "dlfa" or words[1] in groups:
                    continue
                assert words[1] in known, f"there is no command {' '.join(words[:2])}"
                found = [option for option in reference["parameters"](known[words[1]]) if option.is_option]
                names = {name for option in found for name in option.names}
                missing = [word for word in words if word.startswith("-") and word not in names]
                assert not missing, f"{' '.join(words[:2])} has no {missing}"

    def once(self, command: str) -> Done:
        """Run a command of `SHARED`, the first time in a folder of its own, and put a copy of its folder here."""
        where, done = self.shared
        folder = where / command.replace(" ", "_")
        if command not in done:
            folder.mkdir()
            with inside(folder):
                done[command] = in_process("dlfa", command.split(), "")
        if not done[command].code:
            shutil.copytree(folder / SHARED[command], SHARED[command], dirs_exist_ok=True)
        return done[command]

    def _script(self, arguments: list[str]) -> Done:
        script = Path(arguments[0])
        if script.parts[0] == "benchmarks":  # needs data and a GPU; that it has the options is what can be checked here
            source = (self.root / script).read_text("utf-8")
            missing = [word for word in arguments if word.startswith("--") and f'"{word}"' not in source]
            assert not missing, f"{script} has no {missing}"
            self.count["checked by form"] += 1
            return Done()
        self.count["python"] += 1
        path = script if script.is_file() else self.root / script
        return in_process(str(path), arguments[1:], "")

    def _check(self, program: str, arguments: list[str]) -> None:
        """What installs, tests or builds: the extras, paths and options that it names must exist.

        Raises:
            AssertionError: If one does not, or the program is unknown here.
        """
        line = shlex.join([program, *arguments])
        for extras in re.findall(r"\[([\w,-]+)\]", line):
            assert set(extras.split(",")) <= self.extras, f"{line}: the project has the extras {sorted(self.extras)}"
        if (program == "pip" and arguments[0] in ("install", "wheel")) or arguments[:2] == ["-m", "venv"]:
            return
        if program in ("pytest", "ruff", "mypy", "mkdocs"):
            paths = [word.split("::")[0] for word in arguments if "/" in word and not word.startswith("-")]
            assert all((self.root / path).exists() for path in paths), f"{line}: there is no {paths}"
            return
        assert (self.root / program).is_file(), f"{line}: this test does not know how to run {program}"


def in_process(program: str, arguments: list[str], stdin: str) -> Done:
    """Run `dlfa`, or a Python script, inside this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = [program, *arguments], io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if program == "dlfa":
                from dlfa_cli.main import main

                main()
            else:
                runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv, sys.stdin = before
    return Done(out.getvalue(), err.getvalue(), code if isinstance(code, int) else 1)


def _lines(text: str) -> list[list[str]]:
    """Commands as words, without prompts and comments; a backslash at the end of a line joins it with the next."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = [line.removeprefix("$ ") for line in joined.split("\n") if line.strip() and not line.startswith("#")]
    out = []
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;>")
        lexer.whitespace_split = True
        out.append(list(lexer))
    return out


def _split(tokens: list[str], at: tuple[str, ...]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in at:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
