"""The tables of the paper, two epochs on a tiny encoder: every head has its line, and finished work is not repeated."""

import re
import shutil
from itertools import dropwhile, takewhile
from types import SimpleNamespace

import pytest

from dlfa_adapters.predict.shift import ALPHAS
from dlfa_adapters.runs import read_run

DEEP = SimpleNamespace(config=SimpleNamespace(num_hidden_layers=12))


@pytest.fixture
def table(recipe, data, tiny_folder, tmp_path, capsys):
    """table("table2_sweep", ...): run a recipe on the small data; the rows of the first table that it prints."""

    def run(name, *more, tuning="features", epochs=2):
        arguments = ["--data", data / "xtreme", "--model", tiny_folder, "--tuning", tuning, "--epochs", epochs]
        recipe(f"paper/{name}").main([*map(str, [*arguments, "--out", tmp_path / "out"]), *map(str, more)])
        lines = dropwhile(lambda line: not line.startswith("|"), capsys.readouterr().out.splitlines())
        header, _, *rows = takewhile(lambda line: line.startswith("|"), lines)
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in (header, *rows)]

    return run


DIFFERENCE = r"[+-]\d+\.\d \[[+-]\d+\.\d, [+-]\d+\.\d\]"


def test_table_2_has_a_line_a_layer_and_a_column_a_task(table):
    header, *lines = table("table2_sweep", "--tasks", "ner", "xnli", "--seeds", 2)
    assert header == ["", "ner, span F1 (lenient)", "xnli, accuracy"]
    assert [line[0] for line in lines] == ["last", "D_1", "D_2", "D_3"]
    assert all(re.fullmatch(r"\d+\.\d ± \d+\.\d", cell) for cell in lines[0][1:])
    assert all(re.fullmatch(rf"\d+\.\d ± \d+\.\d \({DIFFERENCE}\)", cell) for line in lines[1:] for cell in line[1:])


def test_table_2_with_fine_tuning(table):
    _, *lines = table("table2_sweep", "--tasks", "pos", "--layers", 2, "--seeds", 1, tuning="full")
    assert [line[0] for line in lines] == ["last", "D_2", "D_3"]
    assert all(re.fullmatch(rf"\d+\.\d( \({DIFFERENCE}\))?", line[1]) for line in lines)


def test_table_3_reads_the_sweep_of_table_2(table, tmp_path):
    of_table_2 = table("table2_sweep", "--tasks", "pawsx", "--seeds", 1)
    trained = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("trainings/**/*") if path.is_file()}
    assert trained
    header, *lines = table("table3_families", "--tasks", "pawsx", "--seeds", 1)
    assert header == ["task", "languages", "head", "last", "head", "difference", "95 %", "p"]
    assert [line[1] for line in lines] == ["enf of the paper (en, de)", "noenf of the paper (others)"]
    assert {line[2] for line in lines} == {"D_2"}  # layers 10 and 6 of 12, scaled to 3: the same one
    assert {path: path.stat().st_mtime_ns for path in trained} == trained
    assert len(of_table_2) == 5
    lines = table("table3_families", "--tasks", "pawsx", "--seeds", 1, "--families")[1:]
    assert [line[1] for line in lines] == ["Indo-European", "other families"]


def test_tables_3_and_5_have_two_layers_a_task(recipe):
    assert recipe("paper/table3_families").LAYERS["xnli"] == (11, 8)
    assert recipe("paper/table3_families").LAYERS["pawsx"] == (10, 6)
    assert recipe("paper/table5_ablations").LAYERS == {
        "xnli": (11, 10), "pawsx": (10, 6), "ner": (10, 8), "pos": (11, 10)
    }  # fmt: skip


def test_table_5_trains_both_layers(recipe, monkeypatch, tiny_folder):
    asked = []
    module = recipe("paper/table5_ablations")
    monkeypatch.setattr(module, "load_encoder", lambda name: SimpleNamespace(model=DEEP))
    monkeypatch.setattr(module, "run_sweep", lambda task, **options: asked.append((task, options)) or SimpleNamespace(
        result=None, table=None))  # fmt: skip
    monkeypatch.setattr(module, "sweep_markdown", lambda result, table: "")
    module.main(["--tasks", "ner", "pawsx"])
    assert [options["head_learning_rate"] for _, options in asked] == [2e-5, 2e-5]  # the paper's, and no other is tried
    assert [(task, options["layers"], options["extra"]) for task, options in asked] == [
        ("ner", [8, 10], ["branches:8", "branches:10"]),
        ("pawsx", [6, 10], ["branches:6", "branches:10"]),
    ]


def test_table_5_has_the_branches_and_the_control(table):
    _, *lines = table("table5_ablations", "--tasks", "pawsx", "--seeds", 1, "--also", "mix")
    assert [line[0] for line in lines] == ["last", "D_2", "D_3", "D_2 global", "D_2 local", "mix"]


def test_table_7_fuses_the_layers_of_the_paper_or_others(table):
    assert [line[0] for line in table("table7_xlmr", "--tasks", "pawsx", "--seeds", 1)[1:]] == ["last", "D_2", "D_3"]
    lines = table("table7_xlmr", "--tasks", "pawsx", "--seeds", 1, "--layers", 1)
    assert [line[0] for line in lines[1:]] == ["last", "D_1", "D_3"]


def test_table_6_has_last_layers_and_fused_states(table, tmp_path):
    text = tmp_path / "en-de.tsv"
    text.write_text("Anna met Bob\tAnna traf Bob\nin Rome\tin Rom\nthe Bank\tdie Bank\n", "utf-8")
    header, *lines = table("table6_cosine", "--parallel", text, "--tasks", "pawsx", "--max-steps", 2, tuning="lora")
    assert header == ["text", "model", "state", "cosine", "95 %", "others", "nearest, %"]
    assert all(line[0] == "en-de" for line in lines)
    assert [line[1:3] for line in lines] == [
        ["encoder", "3"], ["pawsx last", "3"], ["pawsx D_2", "3"], ["pawsx D_2", "fused"],
    ]  # fmt: skip
    assert all(
        re.fullmatch(r"0\.\d{3}", line[3]) and re.fullmatch(r"\[0\.\d{3}, [01]\.\d{3}\]", line[4]) for line in lines
    )
    again = table("table6_cosine", "--parallel", text, "--tasks", "pawsx", "--max-steps", 2, tuning="lora")
    assert again[1:] == lines  # from the runs that are there


def test_table_4_of_langinfo_shifts_with_labels_and_without(recipe, data, tiny_folder, tmp_path, capsys):
    shutil.copytree(data / "xtreme" / "xnli", tmp_path / "xnli")
    for language in ("de", "sw"):
        shutil.copy(tmp_path / "xnli" / f"test-{language}.tsv", tmp_path / "xnli" / f"dev-{language}.tsv")
    options = ["--data", tmp_path / "xnli", "--model", tiny_folder, "--languages", "en", "sw", "de", "--layer", 1]
    call = [*map(str, [*options, "--epochs", 1, "--center", "--out", tmp_path / "out"])]
    recipe("paper/langinfo_table4").main(call)
    header, _, *lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert header == "| system | en | sw | de | mean w/o en |"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [row[0] for row in rows] == [
        "all layers", "layers above 1", "layers above 1, centred",
        "layers above 1, shift, alpha dev", "its alphas", "layers above 1, shift, alpha text", "its alphas",
    ]  # fmt: skip
    for name, *scores in (row for row in rows if row[0] != "its alphas"):
        en, *targets, mean = map(float, scores)
        assert mean == pytest.approx(sum(targets) / 2, abs=0.01), name
        assert en == float(rows[1][1]) or "shift" not in name  # English stays as it is
    for _, of_english, *picked, of_mean in (row for row in rows if row[0] == "its alphas"):
        assert (of_english, of_mean) == ("", "")
        assert {float(alpha) for alpha in picked} <= {*ALPHAS}
    trained = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/*/run.json")}
    assert len(trained) == 3
    recipe("paper/langinfo_table4").main(["--alpha", "0", *call])
    again = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| layers above 1")]
    assert again[0].split("|")[2:] == again[-1].split("|")[2:]  # a shift by nothing
    assert {path: path.stat().st_mtime_ns for path in trained} == trained


def test_xmulti_table_2_has_two_models_a_task(recipe, data, tiny_folder, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "four"
    for task in ("udpos", "pawsx"):
        (folder / task).mkdir(parents=True)
        for split in ("train", "dev", "test"):
            text = (data / "xtreme" / task / f"{split}-en.tsv").read_text("utf-8")
            for language in ("en", "de"):
                (folder / task / f"{split}-{language}.tsv").write_text(text, "utf-8")
    module, trained = recipe("paper/xmulti_table2"), []
    train = module.train
    monkeypatch.setattr(module, "train", lambda *args, **options: trained.append(options) or train(*args, **options))
    arguments = ["--data", folder, "--model", tiny_folder, "--tasks", "pos", "pawsx", "--languages", "en", "de"]
    arguments += ["--tuning", "features", "--epochs", 2, "--seeds", 2, "--temperature", 3, "--out", tmp_path / "out"]
    module.main([*map(str, arguments)])
    header, _, *lines = capsys.readouterr().out.splitlines()
    assert header == "| model, macro-F1 | en | de |"
    cell = r"\d+\.\d ± \d+\.\d"
    for line, name in zip(lines, ("pos, cross", "pos, multi", "pawsx, cross", "pawsx, multi"), strict=True):
        assert re.fullmatch(rf"\| {name} \| {cell} \| {cell} \|", line), line
    asked = [(options["language"], options["source_temperature"], options["learning_rate"]) for options in trained]
    assert asked[:4] == [("en", None, None)] * 2 + [("en,de", 3.0, None)] * 2
    steps = {path.name: read_run(path).config["training"]["steps"] for path in (tmp_path / "out").glob("*-0")}
    assert steps["pos-cross-features-0"] == steps["pos-multi-features-0"]
    module.main([*map(str, arguments)])
    assert len(trained) == 8  # from the runs that are there
    assert capsys.readouterr().out.splitlines()[2:] == lines
