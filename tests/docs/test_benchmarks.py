"""The scripts of benchmarks/ can be started: what they import from each other and from the package is there."""

from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

IMPORT_ALL = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    try:
        importlib.import_module(path.stem)
    except Exception as error:
        print(f"{path.name}: {type(error).__name__}: {error}")
"""


def test_every_benchmark_can_be_imported(fresh):
    ran = fresh.run(IMPORT_ALL, BENCHMARKS)
    assert (ran.stdout, ran.returncode) == ("", 0), ran.stderr
