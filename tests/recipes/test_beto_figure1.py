"""Figure 1 of Wu and Dredze on small data: every way on each of the five tasks, a table and a heat map."""

import pytest

from dlfa_adapters.analysis.transfer_scores import read_scores
from dlfa_adapters.runs import read_run
from tests.kinds.parsing.treebank import toy_treebanks

WAYS = ["full", "freeze:0", "freeze:3", "bilstm", "dlfa-features", "dlfa"]


@pytest.fixture
def figure_1(recipe, data, tiny_folder, tmp_path, capsys):
    """figure_1(["ner"], "--seeds", 2, ...): run the recipe on the small data; the tables that it prints, by task."""
    places = {name: data / "xtreme" for name in ("ner", "pos", "xnli")}
    places |= {"mldoc": data / "mldoc", "parse": toy_treebanks(tmp_path / "ud")}

    def run(tasks, *more):
        places_of_tasks = [f"{task}={places[task]}" for task in tasks]
        options = ["--model", tiny_folder, "--epochs", 1, "--batch-size", 8, "--out", tmp_path / "out"]
        recipe("paper/beto_figure1").main(["--data", *places_of_tasks, *map(str, [*options, *more])])
        parts = capsys.readouterr().out.split("## ")[1:]
        lines = {part.split("\n")[0]: part.split("\n")[2:] for part in parts}
        return {task: [[x.strip() for x in row.split("|")[1:-1]] for row in of if row] for task, of in lines.items()}

    return run


@pytest.mark.parametrize("task", ["ner", "pos", "xnli", "mldoc", "parse"])
def test_figure_1_of_beto_has_a_line_a_way_on_each_of_its_five_tasks(figure_1, tmp_path, task):
    [(name, [header, _, *lines])] = figure_1([task], "--ways", *WAYS).items()
    assert (name, header[:4]) == (task, ["", "targets", "− full", "better in"])
    assert [line[0] for line in lines] == WAYS
    for way in WAYS:
        config = read_run(tmp_path / "out" / f"{task}-{way.replace(':', '-')}-0").config
        features, lstm = way in ("bilstm", "dlfa-features"), way == "bilstm"
        assert config["tuning"] == ("features" if features else way if way.startswith("freeze") else "full")
        assert config["head"]["fusion"] == ("scalar_mix" if lstm else "dlfa" if way.startswith("dlfa") else "last")
        assert config["head"]["classifier"] == ("bilstm" if lstm else "linear")
        assert config["windows"].get("first_sentences") == (2 if task == "mldoc" else None)
    scores = {way: read_scores(tmp_path / "out" / f"{task}-{way.replace(':', '-')}-0-scored") for way in WAYS}
    targets = [[x[language] for language in x if language != "en"] for [x] in (s.values() for s in scores.values())]
    means = [sum(each) / len(each) for each in targets]
    assert [line[1] for line in lines] == [f"{mean:.1f}" for mean in means]
    assert [line[2] for line in lines[1:]] == [f"{mean - means[0]:+.1f}" for mean in means[1:]]
    assert (tmp_path / "out" / "figure1.svg").read_text("utf-8").count("<!-- de -->") == 1


def test_figure_1_of_beto_takes_means_over_seeds_and_trains_nothing_twice(figure_1, tmp_path):
    arguments = ["pos", "ner"], "--ways", "full", "freeze:3", "--seeds", 2, "--plot", tmp_path / "x.svg"
    found = figure_1(*arguments)
    assert list(found) == ["pos", "ner"]
    both = [read_scores(tmp_path / "out" / f"pos-freeze-3-{seed}-scored") for seed in (0, 1)]
    scores = [score for [x] in (each.values() for each in both) for language, score in x.items() if language != "en"]
    assert found["pos"][3][:2] == ["freeze:3", f"{sum(scores) / len(scores):.1f}"]
    drawn = (tmp_path / "x.svg").read_text("utf-8")
    assert [drawn.count(f"<!-- {x} -->") for x in ("pos", "ner", "freeze:3")] == [1, 1, 2]
    there = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert figure_1(*arguments) == found
    assert {path: path.stat().st_mtime_ns for path in there} == there
