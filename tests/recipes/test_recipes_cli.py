"""`dlfa recipes`: found in a checkout and in an installed package, listed, copied."""

import pytest
from typer.testing import CliRunner

from dlfa_cli.main import app
from dlfa_cli.recipes import copy, recipes, recipes_folder, text_of


@pytest.fixture
def dlfa():
    return lambda *arguments: CliRunner().invoke(app, ["recipes", *map(str, arguments)])


def test_there_is_one_for_each_task_and_table():
    tasks = {"ner", "pos", "xnli", "pawsx", "mldoc", "topic", "sentiment", "marc"}
    tables = {"table2_sweep", "table3_families", "table5_ablations", "table6_cosine", "table7_xlmr"}
    tables |= {"langinfo_table4", "beto_figure1", "xmulti_table2", "xmulti_table6"}
    assert set(recipes()) == tasks | {f"paper/{name}" for name in tables} | {"pretrain_small"}


def test_ls_has_a_line_a_recipe(dlfa):
    lines = dlfa("ls").output.splitlines()
    assert [line.split()[0] for line in lines] == list(recipes())
    assert all(line.endswith(".") and len(line) < 140 for line in lines)
    assert any(line.startswith("ner ") and "Named entities" in line for line in lines)


def test_installed_recipes_come_before_those_beside_the_package(tmp_path):
    package = tmp_path / "site-packages" / "dlfa_cli"
    (package.parent / "recipes").mkdir(parents=True)
    (package.parent / "recipes" / "tasks.py").touch()  # somebody else's
    with pytest.raises(FileNotFoundError, match="install the package again"):
        recipes_folder(package)
    (package / "_recipes").mkdir(parents=True)
    (package / "_recipes" / "tasks.py").touch()
    assert recipes_folder(package) == package / "_recipes"


def test_a_checkout_has_them_beside_the_package(tmp_path):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert recipes_folder(tmp_path / "dlfa_cli") == tmp_path / "recipes"


@pytest.mark.parametrize("name", ["ner", "ner.py", "paper/table2_sweep"])
def test_cp_copies_into_a_folder_or_to_a_file(dlfa, tmp_path, name):
    source = recipes()[name.removesuffix(".py")]
    file = f"{name.removesuffix('.py').split('/')[-1]}.py"
    for target, there in ((tmp_path, tmp_path / file), (tmp_path / "mine" / "x.py", tmp_path / "mine" / "x.py")):
        result = dlfa("cp", name, target)
        assert (result.exit_code, result.output.strip()) == (0, str(there))
        assert there.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", ["ner", "pos", "xnli", "pawsx", "mldoc", "topic", "sentiment", "marc"])
def test_a_copy_is_of_its_task(tmp_path, name):
    """The script of all tasks but for one line."""
    lines = copy(name, tmp_path).read_text("utf-8").splitlines()
    shared = recipes()[name].read_text("utf-8").splitlines()
    differs = [mine for mine, line in zip(lines, shared, strict=True) if mine != line]
    assert differs == ([] if name == "ner" else [f'TASK = "{name}"'])


def test_cp_overwrites_nothing_unless_told(dlfa, tmp_path):
    mine = tmp_path / "ner.py"
    mine.write_text("edited")
    with pytest.raises(FileExistsError, match=r"ner\.py exists; give another name, or type --force"):
        copy("ner", tmp_path)
    assert mine.read_text() == "edited"
    assert dlfa("cp", "ner", tmp_path, "--force").exit_code == 0
    assert mine.read_text("utf-8") == text_of("ner")
    (tmp_path / "folder" / "ner.py").mkdir(parents=True)
    with pytest.raises(FileExistsError):
        copy("ner", tmp_path / "folder", force=True)


@pytest.mark.parametrize("name", ["../ner", "paper/../ner", "/etc/passwd", "..", "", "__init__", "paper", "nre"])
def test_names_that_are_no_recipe_are_refused(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=r"there is no recipe .*; there are ner, "):
        copy(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
