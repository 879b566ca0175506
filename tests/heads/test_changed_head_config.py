"""A `head_config.json` that was edited by hand: one sentence, and the model is as it was."""

import copy
import json

import pytest

from dlfa_adapters.ground.errors import DLFAError, RunError

INSTEAD = (None, 5, -1, 2.5, "", "x", [], ["x"], {}, {"x": 1}, True)


def edits(content, path=()):
    if path:
        yield path
    if isinstance(content, dict):
        for key in content:
            yield from edits(content[key], (*path, key))


def edited(content, path, value):
    whole = place = copy.deepcopy(content)
    for key in path[:-1]:
        place = place[key]
    if value == "gone":
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return whole


@pytest.fixture
def saved(tiny_model, tmp_path, request):
    """The file of a head of a task, or of the options of a test."""
    options = getattr(request, "param", {})
    model = tiny_model("bert")
    model.add_dlfa_head("ner", fuse_layer=2, **options)
    model.save_head(str(tmp_path), "ner")
    return tmp_path / "head_config.json"


@pytest.mark.parametrize("saved", [{}, {"head_type": "biaffine", "num_labels": 2}], indirect=True)
def test_whatever_is_edited_is_one_sentence_or_does_no_harm(saved, tiny_model):
    whole, model = json.loads(saved.read_text("utf-8")), tiny_model("bert")
    refused = 0
    for path in edits(whole):
        for value in (*INSTEAD, "gone"):
            saved.write_text(json.dumps(edited(whole, path, value)), "utf-8")
            try:
                model.load_head(str(saved.parent))
            except DLFAError as error:
                refused += 1
                one_line = "\n" not in str(error)
            except Exception as error:
                raise AssertionError(f"{path} = {value!r}: {error!r}") from error
            else:
                one_line = True
                assert model.heads
            assert one_line, (path, value)
            for name in list(model.heads):
                model.delete_head(name)
    assert refused > 200


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("config", "fuse_layer"), "2", "config.fuse_layer"),
        (("config", "label2id"), {"O": 0, "B-PER": 1}, "label2id must name each of the labels 0, 1, ... once"),
        (("config", "label2id"), {f"L{i}": i + 1 for i in range(7)}, "label2id must name each of the labels 0, 1"),
        (("config", "label2id"), {f"L{i}": i // 2 for i in range(7)}, "label2id must name each of the labels 0, 1"),
        (("config", "inner_head_type"), "tager", "inner_head_type must be one of tagging, classification"),
        (("config", "encoder"), None, "config.encoder: input should be a valid"),
        (("name",), "", "name: string should have at least 1 character, it is ''"),
        (("model_class",), "gone", "model_class: field required"),
    ],
)
def test_the_sentence(path, value, message, saved, tiny_model):
    whole = json.loads(saved.read_text("utf-8"))
    saved.write_text(json.dumps(edited(whole, path, value)), "utf-8")
    with pytest.raises(RunError, match=r"head_config\.json was changed or is damaged") as caught:
        tiny_model("bert").load_head(str(saved.parent))
    assert message in str(caught.value)
    assert str(caught.value).endswith("; save the head again.")
