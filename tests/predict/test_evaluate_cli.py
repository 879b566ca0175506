"""`dlfa evaluate` and `dlfa compare` on run folders of a tiny encoder, and every mistake as one sentence."""

import json
import shutil
import sys

import pytest
from typer.testing import CliRunner

from dlfa_adapters.data.places import SAMPLES
from dlfa_adapters.data.readers import read_file
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.demo import TASTE
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.kinds.classification.classifier import Classifier
from dlfa_adapters.kinds.tagging.tagger import Tagger
from dlfa_adapters.predict.load import load_run
from dlfa_adapters.runs import write_run
from dlfa_adapters.tasks import TASKS
from dlfa_cli.main import app, main

TSV = "Anna\tB-PER\nmet\tO\nBob\tB-PER\n\nRome\tB-LOC\nfell\tO\n"


@pytest.fixture
def run(tiny_run):
    return tiny_run.run.folder


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "test-de.tsv"
    path.write_text(TSV, "utf-8")
    return path


@pytest.fixture(scope="session")
def make_run(tiny_folder, tmp_path_factory):
    """make_run("xnli"): a run folder with an untrained head for a task of texts, always the same weights."""
    import torch

    def make(task, max_length=32):
        torch.manual_seed(0)
        encoder = load_encoder(str(tiny_folder))
        encoder.model.add_dlfa_head(task, fuse_layer=2)
        config = {
            "task": task,
            "labels": list(TASKS[task].labels),
            "encoder": encoder.describe(),
            "head": {"name": task},
            "windows": {"max_length": max_length},
            "data": {"train": {"source": "none", "language": "en"}},
        }
        folder = tmp_path_factory.mktemp("runs") / task
        encoder.model.eval()
        write_run(folder, config, lambda draft: encoder.model.save_head(str(draft / "head"), task))
        return folder, Classifier(encoder.model, encoder.tokenizer, config["labels"], max_length=max_length)

    return make


@pytest.fixture(scope="session")
def xnli_run(make_run):
    return make_run("xnli")


@pytest.fixture
def dlfa(monkeypatch, capsys):
    """dlfa("evaluate", ...): what the command line prints on stdout; the exit code must be 0."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dlfa", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capsys.readouterr()
        assert exit.value.code == 0, err
        return out

    return call


@pytest.fixture
def refuse(monkeypatch, capsys):
    """refuse("evaluate", ...): the one sentence on stderr; the exit code must be 2 and stdout empty."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dlfa", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capsys.readouterr()
        assert (exit.value.code, out) == (2, "")
        told = [line for line in err.splitlines() if line.startswith("dlfa: ")]
        assert len(told) == 1
        assert err.rstrip().endswith(told[0])  # nothing behind it: it is one line
        return told[0]

    return call


def test_a_loaded_run_gives_the_tags_of_the_process_that_trained(tiny_run):
    tagger = load_run(tiny_run.run.folder)
    assert isinstance(tagger, Tagger)
    words = [words for _, words, _ in tiny_run.taste]
    assert [language for language, *_ in tiny_run.taste] == list(TASTE)
    assert tagger.predict(words) == [tags for *_, tags in tiny_run.taste]


def test_the_scores_are_those_of_the_process_that_trained(tiny_run, run, dlfa):
    found = json.loads(dlfa("evaluate", run, "--data", "samples:ner", "--resamples", "20", "--json"))
    scores = {row["language"]: row["scores"]["span_f1_lenient"]["value"] for row in found["languages"]}
    recorded = tiny_run.run.config["metrics"]["test"]
    assert scores.keys() == recorded.keys()
    assert {language: None if x is None else round(100 * x, 2) for language, x in scores.items()} == recorded
    assert all(row["words_total"] == row["words_scored"] > 0 for row in found["languages"])
    assert found["source_languages"] == ["en"]
    assert found["run"]["folder"] == str(run)
    assert found["data"]["source"] == "samples:ner"
    assert {mean["name"] for mean in found["means"]} == {
        "targets",
        "all",
        "enf_family",
        "noenf_family",
    }


def test_table_markdown_and_saved_evaluation(run, data, dlfa, tmp_path):
    printed = dlfa(
        "evaluate", run, "--data", data, "--markdown", tmp_path / "r.md", "--out", tmp_path / "saved", "--limit", "1"
    )
    assert "span F1 (lenient)" in printed
    assert "3 of 3 words were scored." in printed
    assert "Only the first 1 items of each language were taken (limit)." in printed
    text = (tmp_path / "r.md").read_text("utf-8")
    assert text == (tmp_path / "saved" / "evaluation.md").read_text("utf-8")
    assert text.startswith("# ner on ")
    assert "| de | 1 | 3 | 2 |" in text
    [sentence] = read_file(tmp_path / "saved" / "predictions" / "de.tsv", tag_column=2).items
    assert sentence.words == ["Anna", "met", "Bob"]
    assert sentence.tags == load_run(run).predict([sentence.words])[0]


def test_save_puts_it_beside_the_run(run, data, dlfa):
    dlfa("evaluate", run, "--data", data, "--save", "--resamples", "9")
    folder = run.parent / f"{run.name}-evaluated" / "test-de-tsv-test"
    assert json.loads((folder / "evaluation.json").read_text("utf-8"))["interval"]["resamples"] == 9
    shutil.rmtree(folder.parent)


def test_languages_and_format(run, data, dlfa, refuse):
    mine = data.rename(data.with_name("mine.tsv"))
    found = json.loads(dlfa("evaluate", run, "-d", mine, "-l", "sw", "-f", "columns", "--json"))
    assert [row["language"] for row in found["languages"]] == ["sw"]
    found = json.loads(dlfa("evaluate", run, "-d", "samples:ner", "-l", " sw, de ", "--limit", "2", "--json"))
    assert [(row["language"], row["items"]) for row in found["languages"]] == [("sw", 2), ("de", 2)]
    named = mine.rename(mine.with_name("test-de.tsv"))
    assert "expected a file in sw, but its name says de" in refuse("evaluate", run, "-d", named, "-l", "sw")


def test_labels_that_the_run_does_not_have_are_named_once(run, data, dlfa, caplog):
    """With the number of those that were scored, not of those in the file."""
    data.write_text(f"{TSV}\n{TSV}".replace("LOC", "MISC"), "utf-8")
    printed = dlfa("evaluate", run, "--data", data, "--limit", "2")
    assert " ".join(printed.split()).count("B-MISC") == 1
    assert "counted as missed: B-MISC (1)" in " ".join(printed.split())
    assert "B-MISC" not in caplog.text


def test_labels_that_the_run_does_not_have(run, data, dlfa):
    data.write_text(TSV.replace("LOC", "MISC"), "utf-8")
    found = json.loads(dlfa("evaluate", run, "--data", data, "--json"))
    assert found["languages"][0]["unknown_gold_labels"] == {"B-MISC": 1}
    assert found["languages"][0]["support"] == 3


def test_a_run_on_pairs(xnli_run, dlfa, tmp_path):
    folder, trained = xnli_run
    assert isinstance(load_run(folder), Classifier)
    [samples] = [name for name in SAMPLES if "nli" in name]
    dlfa("evaluate", folder, "--data", f"samples:{samples}", "-l", "de", "-o", tmp_path / "s")
    saved = [json.loads(line) for line in (tmp_path / "s" / "predictions" / "de.jsonl").open(encoding="utf-8")]
    pairs = [row["text"] for row in saved], [row["text_pair"] for row in saved]
    assert [row["label"] for row in saved] == trained.predict(*pairs)
    whole = json.loads((tmp_path / "s" / "evaluation.json").read_text("utf-8"))
    [row] = whole["languages"]
    right = sum(x["label"] == x["gold"] for x in saved)
    assert row["scores"]["accuracy"]["value"] == right / len(saved)
    assert row["counts"]["n_truncated"] == trained.counts.n_truncated > 0  # 32 pieces are few
    assert row["words_total"] is None


def test_texts_in_any_order_get_the_same_labels(xnli_run):
    _, trained = xnli_run
    texts = ["a", "a bird sings", "the cat sat on the mat and slept " * 5, "no"]
    pairs = ["b", "birds sing", "a dog", "yes " * 40]
    labels = trained.predict(texts, pairs)
    assert trained.counts.items_total == 4
    assert trained.predict(texts[::-1], pairs[::-1], max_tokens=1) == labels[::-1]
    assert trained.predict([], []) == []


def test_placeholder_pairs(make_run, dlfa, tmp_path):
    folder, _ = make_run("pawsx")
    path = tmp_path / "test-de.tsv"
    path.write_text("id\tsentence1\tsentence2\tlabel\n1\ta b\tNS\t0\n2\ta b\tb a\t1\n3\ta\tb\t1\n", "utf-8")
    found = json.loads(dlfa("evaluate", folder, "--data", path, "--json"))
    assert found["languages"][0]["items"] == 3
    assert found["without_placeholders"]["languages"][0]["items"] == 2
    assert "Without placeholder pairs" in dlfa("evaluate", folder, "--data", path)


def test_compare_runs_and_saved_evaluations(run, data, dlfa, tmp_path):
    other = tmp_path / "other-run"
    shutil.copytree(run, other)
    found = json.loads(dlfa("compare", run, other, "--data", data, "--json"))
    assert (found["a"], found["b"]) == (str(run), str(other))
    assert found["languages"][0]["scores"]["span_f1_lenient"]["difference"] == 0
    for folder in (run, other):
        dlfa("evaluate", folder, "--data", data, "--out", tmp_path / f"saved-{folder.name}")
    saved = [tmp_path / f"saved-{folder.name}" for folder in (run, other)]
    from_saved = json.loads(dlfa("compare", *saved, "--json"))
    assert from_saved["languages"] == found["languages"]
    printed = dlfa("compare", *saved, "--markdown", tmp_path / "c.md")
    assert "A: span F1 (lenient)" in printed
    assert "p: two-sided, from the same resamples" in " ".join(printed.split())
    assert (tmp_path / "c.md").read_text("utf-8").startswith("# Comparison")


def test_compare_more_than_two(run, data, dlfa, tmp_path):
    found = json.loads(dlfa("compare", run, run, run, "--data", data, "--json"))
    assert [list(each)[:2] for each in found["comparisons"]] == [["format", "scores"]] * 2
    [score] = {each["means"][0]["scores"]["span_f1_lenient"]["adjusted_p"] for each in found["comparisons"]}
    assert score == 1
    printed = dlfa("compare", run, run, run, "--data", data, "--markdown", tmp_path / "c.md")
    assert printed.count("span F1 (lenient), by language") == 2
    assert "adjusted p (max-T) is for" in " ".join(printed.split())
    assert (tmp_path / "c.md").read_text("utf-8").count("# Comparison\n") == 2


def test_compare_refuses_other_data(run, data, dlfa, refuse, tmp_path):
    dlfa("evaluate", run, "--data", data, "--out", tmp_path / "one")
    data.write_text(TSV.replace("Bob", "Eve"), "utf-8")
    dlfa("evaluate", run, "--data", data, "--out", tmp_path / "two")
    told = refuse("compare", tmp_path / "one", tmp_path / "two")
    assert str(tmp_path / "one") in told
    assert str(tmp_path / "two") in told
    assert "de (" in told


def test_compare_says_what_to_type(run, data, dlfa, refuse, tmp_path):
    assert "add --data" in refuse("compare", run, run)
    dlfa("evaluate", run, "--data", data, "--out", tmp_path / "one")
    assert "leave --data out" in refuse("compare", tmp_path / "one", run, "--data", data)
    assert f"{run} is not one; type: dlfa evaluate {run}" in refuse("compare", tmp_path / "one", run)
    assert "There is no run folder" in refuse("compare", run, tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Caf\xe9\tO\n", "expected UTF-8, but got byte 0xE9"),
        (b"", "expected sentences or examples, but there are none"),
        (b"Anna\nmet\n\nBob\n", "column"),
        (b"Anna\tB-PER\nmet\n", "expected 2 columns"),
        (b"a\tNOUN\n\nb\tVERB\n", "expected IOB tags"),
        (b"a\tNOUN\n\nb\tVERB\n", ", got 'NOUN', 'VERB'. Are they data for another task than ner?"),
        (b"premise\thypothesis\tlabel\na\tb\tneutral\n", "a tagging task, but this is classification data"),
    ],
)
def test_data_that_cannot_be_used(content, message, run, data, refuse):
    data.write_bytes(content)
    assert message in refuse(
        "evaluate", run, "--data", data, "--format", "xnli" if b"premise" in content else "columns"
    )


def test_a_missing_column(xnli_run, refuse, tmp_path):
    path = tmp_path / "test-de.tsv"
    path.write_text("premise\tlabel\na\tneutral\n", "utf-8")
    assert "expected a column with one of the names text_pair, hypothesis" in refuse(
        "evaluate", xnli_run[0], "--data", path, "--format", "xnli"
    )


def test_paths_that_cannot_be_used(run, data, refuse, tmp_path):
    assert "there is none of this name" in refuse("evaluate", run, "--data", tmp_path / "nothing.tsv")
    (tmp_path / "folder").mkdir()
    assert "expected files of the split 'test'" in refuse("evaluate", run, "--data", tmp_path / "folder")
    assert "There is no run folder" in refuse("evaluate", tmp_path / "nothing", "--data", data)
    assert "is not a run folder" in refuse("evaluate", tmp_path / "folder", "--data", data)
    assert "expected a file, but this is a folder" in refuse("data", "check", tmp_path / "folder")
    for folder in (tmp_path, tmp_path.anchor):
        assert "is not a saved evaluation" in refuse("evaluate", run, "--data", data, "--out", folder)


@pytest.mark.parametrize("option", ["--markdown", "--out"])
def test_places_that_cannot_be_written_are_refused_before_the_work(option, run, data, refuse, tmp_path):
    """`refuse` wants stdout empty: nothing was scored yet."""
    assert "is not a folder" in refuse("evaluate", run, "--data", data, option, data / "x" / "y")
    if option == "--markdown":
        assert "is a folder" in refuse("evaluate", run, "--data", data, option, tmp_path)
        assert "is a folder" in refuse("compare", run, run, "--data", data, option, tmp_path)
        assert "there is no folder" in refuse("evaluate", run, "--data", data, option, tmp_path / "no" / "x.md")


def test_compare_looks_at_both_runs_before_the_work(run, data, refuse, tmp_path, monkeypatch):
    monkeypatch.setattr("dlfa_adapters.predict.run.load_run", lambda run, **options: pytest.fail("a model was loaded"))
    assert "There is no run folder" in refuse("compare", run, tmp_path / "nothing", "--data", data)


def test_data_and_languages_that_say_nothing(run, data, refuse):
    assert "expected a file, a folder" in refuse("evaluate", run, "--data", "")
    assert "one language" in refuse("evaluate", run, "--data", data, "--languages", "de,fr")


def test_control_characters_are_not_obeyed(run, data, dlfa, refuse):
    data.write_text(TSV + "\nx\tB-\x1b[2J\n", "utf-8")
    assert "\x1b[2J" not in dlfa("evaluate", run, "--data", data)
    assert "\\n" in refuse("evaluate", "a\nb", "--data", data)


def test_more_resamples_than_memory_holds(run, data):
    asked = CliRunner().invoke(app, ["evaluate", str(run), "--data", str(data), "--resamples", "100000000000"])
    assert asked.exit_code == 2
    assert "--resamples" in asked.output


@pytest.mark.parametrize("harm", ["missing", "cut"])
def test_a_run_folder_that_is_not_whole(harm, run, data, refuse, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    weights = next((copy / "head").glob("*.safetensors"))
    weights.unlink() if harm == "missing" else weights.write_bytes(weights.read_bytes()[:100])
    told = refuse("evaluate", copy, "--data", data)
    assert str(copy) in told
    assert weights.name in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "xnli"], "xnli is a classification task scored by accuracy, but the run"),
        (["--task", "pos"], "pos is a tagging task scored by accuracy, but the run"),
        (["--task", "chunking"], "expected a task among ner, pos"),
        (["--split", "tset"], "expected the split train, dev or test"),
        (["--format", "xml"], "expected a format among"),
    ],
)
def test_options_that_cannot_work(options, message, run, data, refuse):
    assert message in refuse("evaluate", run, "--data", data, *options)


def test_the_run_s_own_task_can_be_named(run, data, dlfa):
    named = json.loads(dlfa("evaluate", run, "--data", data, "--task", "ner", "--json"))
    assert named["languages"] == json.loads(dlfa("evaluate", run, "--data", data, "--json"))["languages"]


def test_as_a_process_of_its_own(run, data, fresh):
    """stdout holds JSON alone, whatever the libraries print."""
    done = fresh.dlfa("evaluate", run, "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["languages"][0]["words_scored"] == 5
    assert "Traceback" not in done.stderr
    assert load_data(data, task="ner").num_rows == 2
