"""JSON files that were edited by hand or damaged: one sentence, whatever was put where."""

import copy
import json
import shutil

import pytest

from dlfa_adapters.ground.errors import DLFAError, RunError
from dlfa_adapters.learning import resume_training
from dlfa_adapters.predict.load import check_description, kind_of, load_run, source_languages, takes_pairs, task_of
from dlfa_adapters.report.evaluation import run_facts
from dlfa_adapters.runs import read_run
from dlfa_adapters.runs.lifecycle import read_plan, training_work, work_folder

INSTEAD = (None, 5, -1, 2.5, "", "x", [], ["x"], {}, {"x": 1}, True)


def edits(content, deep=4, path=()):
    """Every place in a JSON object, as the keys that lead there."""
    if path:
        yield path
    if deep and isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from edits(content[key], deep - 1, (*path, key))


def edited(content, path, value, *, gone=False):
    whole = copy.deepcopy(content)
    place = whole
    for key in path[:-1]:
        place = place[key]
    if gone:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return whole


@pytest.fixture(scope="module")
def run(start, tmp_path_factory):
    return start("ner", tmp_path_factory.mktemp("runs") / "run", "lora")[0]


@pytest.fixture
def changed(run, tmp_path):
    """changed(config): the run with another `run.json`."""
    folder = tmp_path / "run"
    shutil.copytree(run.folder, folder)

    def write(config):
        (folder / "run.json").write_text(json.dumps(config), "utf-8")
        return folder

    return write


def use(folder):
    run = read_run(folder)
    check_description(run)
    for look in (kind_of, source_languages, takes_pairs, task_of):
        look(run)
    run_facts(run.config)
    return run


def test_whatever_is_edited_is_one_sentence_or_does_no_harm(run, changed):
    use(changed(run.config))
    refused = taken = tried = 0
    for path in edits(run.config):
        if path[0] == "files" and len(path) > 1:
            continue  # other checksums: the next test
        loads = path[0] in ("encoder", "head", "model", "windows", "labels") and len(path) < 3
        for value in (*INSTEAD, "gone"):
            folder, tried = changed(edited(run.config, path, value, gone=value == "gone")), tried + 1
            try:
                whole = use(folder)
                if loads and value in (None, "", "gone"):
                    load_run(whole)
                taken += 1
            except DLFAError as error:
                refused += "\n" not in str(error)
            except Exception as error:
                raise AssertionError(f"{path} = {value!r}: {error!r}") from error
    assert refused + taken == tried
    assert refused > 300


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("encoder", "name"), None, "encoder.name: input should be a valid string, it is None"),
        (("head", "name"), "", "head.name: string should have at least 1 character, it is ''"),
        (("training",), None, "training: input should be a valid dictionary, it is None"),
        (("versions",), 5, "versions: input should be a valid dictionary, it is 5"),
        (("labels",), ["O", "O"], "labels: a label comes twice"),
        (("windows", "contxt"), 5, "windows.contxt: extra inputs are not permitted"),
    ],
)
def test_the_sentence(path, value, message, run, changed):
    folder = changed(edited(run.config, path, value))
    with pytest.raises(RunError) as caught:
        read_run(folder)
    assert f"run.json was changed or is damaged ({message}" in str(caught.value)
    assert str(caught.value).endswith("; copy it again or train the run again.")


def test_permuted_labels_are_refused(run, changed):
    labels = run.config["labels"]
    for other in ([labels[1], labels[0], *labels[2:]], [*labels[:-1], "B-CITY"], labels[:-1]):
        with pytest.raises(RunError, match=r"its labels are not those of head/head_config.json, O, B-PER, I-PER, "):
            load_run(changed({**run.config, "labels": other}))


def test_without_the_entry_of_a_checksum_nothing_is_loaded(run, changed):
    assert len(run.config["files"]) > 4
    for name in run.config["files"]:
        folder = changed(edited(run.config, ("files", name), None, gone=True))
        if name == "config.json":  # which says that the folder is a run, and is not loaded
            use(folder)
            continue
        with pytest.raises(RunError, match=f"has no checksum of {name}, which is in the run folder"):
            read_run(folder)
    with pytest.raises(RunError, match=r"files.config.json: string should match pattern"):
        read_run(changed(edited(run.config, ("files", "config.json"), "0")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "id: field required"),
        ("[]", "input should be a valid dictionary"),
        ("{", "Expecting property name"),
        ('{"id": "1", "request": {}, "encoder": "e", "data": {}}', "request.model: field required"),
    ],
)
def test_a_damaged_training_json(text, message, start, tmp_path):
    out = tmp_path / "run"
    training_work(out).begin()
    (work_folder(out) / "training.json").write_text(text, "utf-8")
    for look in (read_plan, resume_training):
        with pytest.raises(RunError, match=message) as caught:
            look(out)
        assert "training.json was changed or is damaged" in str(caught.value)
        assert str(caught.value).endswith("; start the training again without --resume.")
    start("ner", out)  # as the sentence says
    assert not work_folder(out).exists()
