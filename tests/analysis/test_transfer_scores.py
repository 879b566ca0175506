"""Scores by language from evaluations, runs, sweeps and files."""

import json

import pytest

from dlfa_adapters import sweep
from dlfa_adapters.analysis.transfer_scores import join_scores, read_scores
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.learning import train
from dlfa_adapters.predict.run import predict_run
from dlfa_adapters.scores.evaluate import build_report
from dlfa_adapters.scores.saved import default_folder, save_evaluation

WORDS = [(["Anna", "met", "Bob"], ["B-PER", "O", "B-PER"]), (["in", "Rome"], ["O", "B-LOC"])] * 3


def write(path, items):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join("".join(f"{w}\t{t}\n" for w, t in zip(*item, strict=True)) for item in items), "utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    for split in ("train", "dev", "test"):
        write(root / "en" / f"{split}.tsv", WORDS)
    write(root / "deu_Latn" / "test.tsv", WORDS[:3])
    write(root / "sw" / "test.tsv", [(["Anna", "met"], ["O", "B-PER"])])
    return root


@pytest.fixture(scope="module")
def run(data, tiny_folder, tmp_path_factory):
    return train(
        "ner", train_data=str(data), dev_data=str(data), model=str(tiny_folder), tuning="features", epochs=30,
        fusion="last", learning_rate=3e-2, out=tmp_path_factory.mktemp("runs") / "ner",
    ).folder  # fmt: skip


@pytest.fixture(scope="module")
def saved(run, data):
    predictions = predict_run(run, str(data))
    report = build_report(predictions, resamples=20)
    return save_evaluation(default_folder(run, str(data), "test"), predictions, report), report


def test_of_a_saved_evaluation_and_of_the_run_beside_it(run, data, saved, tmp_path):
    folder, report = saved
    expected = {"deu_Latn": "de", "en": "en", "sw": "sw"}
    main = next(iter(report.titles))
    assert report.titles[main] == "span F1 (lenient)"
    values = {expected[row.language]: row.scores[main].value for row in report.table.languages}
    scores = {language: 100 * value for language, value in values.items() if value is not None}
    assert len(scores) >= 2
    assert read_scores(folder) == {str(folder): pytest.approx(scores)}
    assert read_scores(run) == {str(run): pytest.approx(scores)}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report.to_dict()), "utf-8")
    assert read_scores(path) == {str(path): pytest.approx(scores)}


def test_scores_of_another_task_are_refused(run, saved, tmp_path):
    folder, report = saved
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report.to_dict()), "utf-8")
    for place in (folder, run, path):
        assert read_scores(place, "ner") == read_scores(place)
        with pytest.raises(ConfigError, match=rf"^Expected scores of pos, but {place} has those of ner; name one of"):
            read_scores(place, "pos")
    table = tmp_path / "scores.csv"
    table.write_text("language,f1\nde,71.2\n", "utf-8")
    assert read_scores(table, "pos") == {"f1": {"de": 71.2}}  # which does not tell


def test_a_run_without_an_evaluation_or_with_several(run, data, saved, tiny_folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"no saved evaluation of .*empty; type dlfa evaluate .* --save"):
        read_scores(tmp_path / "empty")
    predictions = predict_run(run, str(data), languages=["en"])
    other = save_evaluation(default_folder(run, "other", "test"), predictions, build_report(predictions, resamples=5))
    try:
        with pytest.raises(ConfigError, match=r"several evaluations of .*; name one: .*other-test"):
            read_scores(run)
    finally:
        for file in sorted(other.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        other.rmdir()


def test_of_a_sweep(data, tiny_folder, tmp_path):
    done = sweep(
        "ner", train_data=str(data), target_data=str(data), model=str(tiny_folder), layers=[1, 2], seeds=1, epochs=3,
        out=tmp_path / "sweep", plots=False,
    )  # fmt: skip
    best = done.result.best().spec.name
    found = read_scores(done.folder, "ner")
    with pytest.raises(ConfigError, match=r"Expected scores of pos, but .* has those of ner"):
        read_scores(done.folder, "pos")
    assert set(found) == {f"{done.folder}: {name}" for name in (best, "last")}
    for name in (best, "last"):
        line = done.table.line(name)
        scores = {x: 100 * each.value for x, each in line.languages.items() if each.value is not None}
        expected = {{"deu_Latn": "de"}.get(language, language): score for language, score in scores.items()}
        assert found[f"{done.folder}: {name}"] == pytest.approx(expected)
    copied = tmp_path / "copied.json"
    copied.write_text((done.folder / "sweep.json").read_text("utf-8"), "utf-8")
    assert sorted(map(sorted, (each.items() for each in read_scores(copied).values()))) == sorted(
        map(sorted, (each.items() for each in found.values()))
    )


@pytest.mark.parametrize(
    ("name", "text", "scores"),
    [
        ("mine.json", '{"de": 71.2, "eng_Latn": 90}', {"mine": {"de": 71.2, "en": 90.0}}),
        ("x.json", '{"last": {"de": 1}, "D_8": {"de": 2, "sw": 3}}', {"last": {"de": 1}, "D_8": {"de": 2, "sw": 3}}),
        ("x.csv", "language,f1\nde,71.2\n\nsw, 60\n", {"f1": {"de": 71.2, "sw": 60.0}}),
        ("x.tsv", "a\tlanguage\tb\n1\tde\t2\n3\tsw\t\n", {"a": {"de": 1.0, "sw": 3.0}, "b": {"de": 2.0}}),
        ("x.csv", '\ufefflanguage,"with, comma"\nde,-1e1\n', {"with, comma": {"de": -10.0}}),
    ],
)
def test_of_files(tmp_path, name, text, scores):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert read_scores(path) == scores


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "{", "expected JSON, but it is none"),
        ("x.json", "[1, 2]", "expected a score for each language"),
        ("x.json", "{}", "expected a score for each language"),
        ("x.json", '{"de": "good"}', "expected a number as the score of de, but got 'good'"),
        ("x.json", '{"de": null}', "expected a number as the score of de"),
        ("x.json", '{"de": NaN}', "expected a finite number as the score of de"),
        ("x.json", '{"de": 1, "deu": 2}', "two for de"),
        ("x.json", '{"de": {"de": 1}, "sw": 2}', "expected a number as the score of de"),
        ("x.json", '{"de": 1, "de": 2}', "each language and each column once, but de is there twice"),
        ("x.csv", "language,f1\nde,1\nde,2\n", "but de is there twice"),
        ("x.csv", "language,f1,f1\nde,1,2\n", "but f1 is there twice"),
        ("x.csv", "", "expected a header row with 'language'"),
        ("x.csv", "de,1\n", "expected a header row with 'language'"),
        ("x.csv", "language\nde\n", "expected a header row with 'language'"),
        ("x.csv", "language,f1\nde,1\nsw\n", "line 3: expected 2 columns, but got 1"),
        ("x.csv", "language,f1\nde,high\n", "expected a number as the score of de, but got 'high'"),
        ("x.txt", "de 1\n", r"expected a run or sweep, a saved evaluation, or a \.json, \.csv or \.tsv file"),
    ],
)
def test_files_that_are_none(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        read_scores(path)


def test_a_damaged_report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text('{"source_languages": ["en"], "scores": {"f1": "F1"}}', "utf-8")
    with pytest.raises(RunError, match="is damaged"):
        read_scores(path)
    with pytest.raises(DataError, match="there is none of this name"):
        read_scores(tmp_path / "none.json")


def test_several_places():
    assert join_scores([{"a": {"de": 1.0}}, {"b": {"de": 2.0}}]) == {"a": {"de": 1.0}, "b": {"de": 2.0}}
    assert join_scores([]) == {}
    with pytest.raises(ConfigError, match="two sets of scores of the name 'a'"):
        join_scores([{"a": {}}, {"a": {}}])
