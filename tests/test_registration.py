"""Tasks, fusions and readers of a user's own: registered by a function, refused with a reason, used everywhere."""

from dataclasses import replace

import pytest
import torch

from dlfa_adapters.data.readers import Read, Sentence, read_file, register_reader
from dlfa_adapters.data.readers.base import Notes
from dlfa_adapters.data.readers.lines import read_lines
from dlfa_adapters.data.sources import load_data
from dlfa_adapters.fusion import FUSIONS, Fusion, make_fusion, register_fusion, state_indices
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks import Task, classification_task, get_task, register_task, tagging_task


class Maximum(Fusion):
    """The largest value of each channel over the states, times a learned scale."""

    def __init__(self, hidden_size, **options):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(hidden_size))

    def forward(self, *states, attention_mask=None):
        return torch.stack(states).amax(0) * self.scale


def read_slashed(path, *, strict=True):
    """`Anna/PER lives/O`: a sentence a line, a word and its tag with a slash between them."""
    notes = Notes(path, strict)
    items = []
    for number, line in enumerate(read_lines(path, notes), 1):
        pairs = [token.rpartition("/") for token in line.split()]
        words, tags = [word for word, _, _ in pairs], [tag for _, _, tag in pairs]
        items.append(Sentence(words, tags, str(number - 1), [number] * len(words)))
    return Read(items, "slashed", path, notes.problems, notes.dropped)


pytestmark = pytest.mark.usefixtures("registries")

REGISTER = {
    "fusion": lambda name, **options: register_fusion(name, Maximum, **options),
    "task": lambda name, **options: register_task(tagging_task(name, ["X", "Y"]), **options),
    "format": lambda name, **options: register_reader(name, read_slashed, tagging=True, **options),
}
OURS = {"fusion": "dlfa", "task": "ner", "format": "conllu"}


@pytest.mark.parametrize("kind", REGISTER)
@pytest.mark.parametrize("name", ["", "Mine", "my.own", "2mine", "_mine", "my own", "mine/too", "mine\n"])
def test_a_bad_name_is_refused(kind, name):
    with pytest.raises(ValueError, match=rf"^The name of a {kind} must be lower-case letters, .*; got "):
        REGISTER[kind](name)


@pytest.mark.parametrize("kind", REGISTER)
def test_a_second_one_of_a_name_is_refused_unless_asked_for(kind):
    REGISTER[kind]("mine")
    message = "without overwrite_ok=True, one that was registered; got 'mine'"
    if kind != "fusion":
        message = f"^There is a {kind} 'mine' already; type overwrite_ok=True to replace it"
    with pytest.raises(ValueError, match=message):
        REGISTER[kind]("mine")
    REGISTER[kind]("mine", overwrite_ok=True)


@pytest.mark.parametrize("kind", REGISTER)
@pytest.mark.parametrize("overwrite_ok", [False, True])
def test_the_librarys_own_are_never_replaced(kind, overwrite_ok):
    message = "and not dlfa, last, layer, scalar_mix, concat, nor, .* got 'dlfa'"
    if kind != "fusion":
        message = f"^The {kind} '{OURS[kind]}' is the library's own; register yours under another name"
    with pytest.raises(ValueError, match=message):
        REGISTER[kind](OURS[kind], overwrite_ok=overwrite_ok)


def test_errors_are_of_the_kind_that_the_command_line_tells_in_one_sentence():
    for kind in ("task", "format"):
        with pytest.raises(ConfigError):
            REGISTER[kind]("")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ("only",)}, "expected at least two labels"),
        ({"labels": ("a", "a")}, "'a' occurs twice"),
        ({"kind": "chunking"}, "kind must be one of tagging, classification, parsing, got 'chunking'"),
        ({"metric": "span_f1"}, "expected the metric accuracy for tagging with these labels, got 'span_f1'"),
        ({"metric": "bleu"}, "got 'bleu'"),
        ({"pair": True}, "pairs of texts are classified, not tagged"),
        ({"fuse_layer_of_12": 13}, r"fuse_layer_of_12 must lie in 0..12, got 13"),
    ],
)
def test_a_task_that_does_not_fit_together_is_refused(changes, message):
    task = Task(name="mine", kind="tagging", labels=("X", "Y"), metric="accuracy")
    with pytest.raises(ConfigError, match=message):
        register_task(replace(task, **changes))
    assert get_task("mine") is None


def test_a_registered_task_brings_head_type_labels_and_layer(tiny_model):
    register_task(replace(classification_task("mood", ["glad", "sad"]), fuse_layer_of_12=3))
    model = tiny_model(num_hidden_layers=4)
    model.add_dlfa_head("mood")
    config = model.heads["mood"].config
    assert (config["inner_head_type"], config["fuse_layer"]) == ("classification", [1])
    assert model.get_labels("mood") == ["glad", "sad"]


@pytest.mark.parametrize(
    ("states", "indices"),
    [("lower_and_last", (2, 1, 4)), ("lower", (2, 1)), ("last", (4,)), ("all", (0, 1, 2, 3, 4))],
)
def test_a_registered_fusion_gets_the_states_that_it_asks_for(states, indices):
    register_fusion("maximum", Maximum, states)
    assert state_indices("maximum", (2, 1), 4) == indices
    given = [torch.randn(2, 3, 8) for _ in indices]
    torch.testing.assert_close(make_fusion("maximum", 8, num_layers=4)(*given), torch.stack(given).amax(0))


def test_a_head_with_a_registered_fusion_is_saved_and_loaded(tiny_model, batch, tmp_path):
    register_fusion("maximum", Maximum)
    model = tiny_model()
    model.add_dlfa_head("ner", fuse_layer=2, fusion="maximum")
    model.save_head(str(tmp_path), "ner")
    expected = model(**batch).logits
    again = tiny_model()
    again.load_head(str(tmp_path))
    assert torch.equal(again(**batch).logits, expected)
    states = model(**batch, output_hidden_states=True).hidden_states
    fused = torch.maximum(states[2], states[4])
    torch.testing.assert_close(expected, torch.nn.Sequential(*model.heads["ner"].inner)(fused))
    del FUSIONS["maximum"]
    with pytest.raises(ConfigError, match=r"fusion must be one of dlfa, last, .*; got 'maximum'"):
        tiny_model().load_head(str(tmp_path))


def test_a_fusion_that_takes_no_layer_refuses_one(tiny_model):
    register_fusion("maximum", Maximum, "all")
    tiny_model().add_dlfa_head("ner", fusion="maximum")
    with pytest.raises(ConfigError, match="fusion='maximum' takes no fuse_layer, got 2; leave it out"):
        tiny_model().add_dlfa_head("ner", fusion="maximum", fuse_layer=2)


def test_what_a_maker_of_fusions_must_be():
    with pytest.raises(ValueError, match="states must be one of lower_and_last, lower, last, all; got 'upper'"):
        register_fusion("mine", Maximum, "upper")
    register_fusion("mine", lambda hidden_size, **_: torch.nn.Identity())
    with pytest.raises(ValueError, match=r"'mine' must be a dlfa_adapters.fusion.Fusion, its maker gave Identity\(\)"):
        make_fusion("mine", 8, num_layers=4)


def has_tags(path, lines):
    return "/B-" in lines[0]


def test_a_registered_reader_is_used_by_name_and_found_by_itself(tmp_path):
    from dlfa_adapters.data.check import check_data

    path = tmp_path / "dev-en.txt"
    path.write_text("Anna/B-PER lives/O in/O Rome/B-LOC\nRome/B-LOC\n", "utf-8")
    assert read_file(path).format == "text"
    register_reader("slashed", read_slashed, tagging=True)
    assert read_file(path).format == "text"
    assert list(load_data(path, task="ner", format="slashed")["tags"])[1] == ["B-LOC"]
    register_reader("slashed", read_slashed, tagging=True, detect=has_tags, overwrite_ok=True)
    assert read_file(path).items[0].words == ["Anna", "lives", "in", "Rome"]
    found = check_data(path)
    assert (found.kind, found.format, found.words) == ("tagging", "slashed", 5)
    (tmp_path / "other.txt").write_text("Nothing of the kind.\n", "utf-8")
    assert read_file(tmp_path / "other.txt").format == "text"


@pytest.mark.parametrize("read", [3, lambda path: None])
def test_a_reader_must_take_strict(read):
    with pytest.raises(
        ConfigError, match=r"must be a function read\(path, \*, strict=True\) that returns a Read, got "
    ):
        register_reader("mine", read, tagging=True)
