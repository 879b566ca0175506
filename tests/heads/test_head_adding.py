"""Adding a head: known tasks, defaults, what is refused, and weights that stay as they were drawn."""

import logging

import pytest
import torch

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.tasks import TASKS


@pytest.mark.parametrize(("name", "layer"), [("ner", 3), ("pos", 3), ("xnli", 3), ("pawsx", 2)])
def test_a_known_task_brings_type_labels_and_layer(name, layer, tiny_model):
    """min(L - 1, max(1, round(k L / 12))) of L = 4 layers, k of the paper."""
    model = tiny_model()
    model.add_dlfa_head(name)
    config = model.heads[name].config
    assert config["inner_head_type"] == TASKS[name].kind
    assert model.get_labels(name) == list(TASKS[name].labels)
    assert config["fuse_layer"] == [layer]
    assert model.config.id2label == TASKS[name].id2label


def test_the_papers_layers_on_twelve(tiny_model):
    model = tiny_model(num_hidden_layers=12)
    for name, layer in (("ner", 8), ("pos", 10), ("xnli", 11), ("pawsx", 6)):
        model.add_dlfa_head(name)
        assert model.heads[name].config["fuse_layer"] == [layer]


def test_the_default_for_another_name_is_two_thirds_of_the_depth(tiny_model, caplog):
    with caplog.at_level(logging.INFO, "dlfa_adapters"):
        model = tiny_model(num_hidden_layers=12)
        model.add_dlfa_head("intent", head_type="classification", num_labels=4)
    assert model.heads["intent"].config["fuse_layer"] == [8]
    assert "Fusing layer 8 of 12, the default" in caplog.text


def test_labels_of_a_known_task_can_be_replaced(tiny_model):
    model = tiny_model()
    model.add_dlfa_head("ner", id2label={1: "B-LOC", 0: "O", "2": "I-LOC"})
    assert model.get_labels("ner") == ["O", "B-LOC", "I-LOC"]
    model.add_dlfa_head("pos", num_labels=3)
    assert model.get_labels("pos") == ["LABEL_0", "LABEL_1", "LABEL_2"]
    model.add_dlfa_head("xnli", head_type="tagging", num_labels=3)
    assert model.heads["xnli"].config["inner_head_type"] == "tagging"
    assert model.get_labels("xnli")[0] == "LABEL_0"


def test_the_control_is_logged(tiny_model, caplog):
    with caplog.at_level(logging.INFO, "dlfa_adapters"):
        tiny_model().add_dlfa_head("ner", fuse_layer=4)
    assert "the control D_4" in caplog.text


@pytest.mark.parametrize(
    "name", ["a.b", "", " ", "keys", "type", "items", "train", "../x", "/x", "x/", "a//b", "a\\b", "a\nb", 3]
)
def test_bad_names_are_refused(name, tiny_model):
    model = tiny_model()
    with pytest.raises(ConfigError, match=r"A head .* type e\.g\. '"):
        model.add_dlfa_head(name, 1, "tagging", num_labels=2)
    assert len(model.heads) == 0


@pytest.mark.parametrize("name", ["en/wiki@ukp", "ner_de", "ner2", "a,b", "été", "a b"])
def test_good_names(name, tiny_model, batch):
    model = tiny_model()
    model.add_dlfa_head(name, 1, "tagging", num_labels=2)
    assert model(**batch).logits.shape == (2, 7, 2)


BAD = {
    "fuse_layer=5": ({"fuse_layer": 5}, r"fuse_layer must lie in 0\.\.4 .*, got 5\."),
    "negative": ({"fuse_layer": -1}, r"fuse_layer must lie in 0\.\.4 .*, got -1\."),
    "bool": ({"fuse_layer": True}, r"layer number 0\.\.4, or a tuple of them, got True; type e\.g\. fuse_layer=3\."),
    "float": ({"fuse_layer": 2.0}, r"got 2\.0"),
    "string": ({"fuse_layer": "2"}, r"got '2'"),
    "twice": ({"fuse_layer": (2, 2)}, "names a layer twice"),
    "last takes none": (
        {"fuse_layer": 2, "fusion": "last"},
        r"fusion='last' takes no fuse_layer, got 2; leave it out\.",
    ),
    "layer takes one": ({"fuse_layer": (1, 2), "fusion": "layer"}, "takes one layer, got 2"),
    "fusion": ({"fusion": "mean"}, r"fusion must be one of dlfa, last, .*; got 'mean'"),
    "gate": ({"gate": "sum"}, "gate must be one of product, attention; got 'sum'"),
    "branches": ({"branches": "none"}, "branches must be one of both, global, local; got 'none'"),
    "norm": ({"norm": "group"}, "norm must be one of batch, layer, none; got 'group'"),
    "init": ({"init": "zero"}, "init must be one of kaiming, identity; got 'zero'"),
    "reduction": ({"reduction": 0}, r"reduction must lie above 0 and up to the width 16, got 0; type reduction=4\."),
    "pooling": ({"pooling": "max"}, "pooling must be one of first, last, mean; got 'max'"),
    "head type": ({"head_type": "masked_lm"}, r"head_type must be one of tagging, .*; got 'masked_lm'"),
    "pooler": ({"head_type": "classification", "use_pooler": True}, "use_pooler=True would go around the fusion"),
    "option": ({"dropout": 0.1}, r"A tagging head has no option 'dropout'; did you mean 'dropout_prob'\?"),
    "our option": ({"redction": 2}, r"did you mean 'reduction'\?"),
    "value of an option": ({"dropout_prob": 1.5}, "A tagging head cannot be built with .*dropout_prob.*1.5"),
    "activation": ({"layers": 2, "activation_function": "nope"}, "A tagging head cannot be built with .*nope"),
    "labels and number": ({"num_labels": 2, "id2label": {0: "a"}}, "num_labels is 2, but id2label names 1 labels"),
    "number": ({"num_labels": 0}, r"num_labels must be a whole number from 1 up, got 0\."),
    "ids": ({"num_labels": None, "id2label": {1: "a", 2: "b"}}, "id2label must map 0, 1, 2"),
    "same name twice": ({"num_labels": None, "id2label": {0: "a", 1: "a"}}, "id2label names a more than once"),
    "choices": (
        {"num_labels": None, "num_choices": 2},
        "num_choices is for head_type='multiple_choice', got 'tagging'",
    ),
    "qa": ({"head_type": "question_answering"}, "A question_answering head has 2 outputs"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_values_are_refused_in_one_sentence(case, tiny_model):
    options, message = BAD[case]
    model = tiny_model()
    with pytest.raises(ConfigError, match=message) as caught:
        model.add_dlfa_head("x", **{"head_type": "tagging", "num_labels": 3, **options})
    assert "\n" not in str(caught.value)
    assert len(model.heads) == 0
    assert model.active_head is None


def test_an_unknown_name_says_what_is_missing(tiny_model):
    model = tiny_model()
    known = rf"'intent' is not a task known by name \({', '.join(TASKS)}\), so "
    with pytest.raises(ConfigError, match=known + "head_type must be given; type e.g. model.add_dlfa_head"):
        model.add_dlfa_head("intent", fuse_layer=2)
    with pytest.raises(ConfigError, match=known + "num_labels or id2label must be given"):
        model.add_dlfa_head("intent", fuse_layer=2, head_type="tagging")


def test_a_single_layer_has_none_to_fuse(tiny_model):
    model = tiny_model(num_hidden_layers=1)
    with pytest.raises(ConfigError, match="a single layer, so there is no lower one to fuse"):
        model.add_dlfa_head("ner")
    model.add_dlfa_head("ner", fuse_layer=0)


def test_overwriting_must_be_asked_for(tiny_model):
    model = tiny_model()
    model.add_dlfa_head("ner")
    with pytest.raises(ConfigError, match="has a head 'ner' already; type overwrite_ok=True"):
        model.add_dlfa_head("ner", num_labels=3)
    model.add_dlfa_head("ner", num_labels=3, overwrite_ok=True)
    assert model.heads["ner"].config["num_labels"] == 3


def test_set_active_false(tiny_model):
    model = tiny_model()
    model.add_dlfa_head("ner", set_active=False)
    assert model.active_head is None
    assert model.config.id2label == {0: "LABEL_0", 1: "LABEL_1"}


def test_the_configuration_holds_everything(tiny_model):
    model = tiny_model()
    model.add_dlfa_head(
        "x",
        (2, 1),
        "tagging",
        id2label={0: "O", 1: "B"},
        reduction=2,
        branches="local",
        gate="attention",
        norm="layer",
        init="identity",
        mask_padding=False,
        pooling="mean",
        layers=2,
        dropout_prob=0.3,
    )
    config = dict(model.heads["x"].config)
    assert set(config.pop("versions")) == {"dlfa_adapters", "adapters", "transformers", "torch"}
    assert config == {
        "head_type": "dlfa",
        "inner_head_type": "tagging",
        "format": 1,
        "fusion": "dlfa",
        "fuse_layer": [2, 1],
        "reduction": 2,
        "branches": "local",
        "gate": "attention",
        "norm": "layer",
        "init": "identity",
        "mask_padding": False,
        "classifier": "linear",
        "lstm_hidden": 256,
        "lstm_dropout": 0.1,
        "pooling": "mean",
        "num_labels": 2,
        "label2id": {"O": 0, "B": 1},
        "layers": 2,
        "activation_function": "tanh",
        "dropout_prob": 0.3,
        "encoder": {"model_type": "bert", "num_layers": 4, "hidden_size": 16, "name": ""},
    }


def test_the_initialisation_of_the_encoder_does_not_touch_the_fusion(tiny_model, tiny_config):
    """Kaiming-normal weights of a map from 16 have a spread of sqrt(2 / 16), an encoder's 0.02."""
    model = tiny_model()
    model.add_dlfa_head("ner", reduction=1)
    before = {name: value.clone() for name, value in model.heads["ner"].state_dict().items()}
    model.init_weights()
    assert all(torch.equal(value, before[name]) for name, value in model.heads["ner"].state_dict().items())
    weights = torch.cat(
        [p.detach().flatten() for n, p in model.heads["ner"].fusion.named_parameters() if "conv" in n and p.dim() == 2]
    )
    assert weights.std() == pytest.approx((2 / 16) ** 0.5, rel=0.1)


@pytest.mark.parametrize("init", ["kaiming", "identity"])
def test_heads_that_a_checkpoint_lacks_are_initialised_their_own_way(init, tiny_model, tmp_path):
    """from_pretrained of an encoder whose configuration names a head, but whose file has no weights for it."""
    from adapters import AutoAdapterModel
    from safetensors.torch import load_file, save_file

    model = tiny_model()
    model.add_dlfa_head("ner", reduction=1, init=init)
    expected = {name: p for name, p in model.heads["ner"].fusion.named_parameters() if "norm" in name}
    model.save_pretrained(tmp_path)
    weights = {k: v for k, v in load_file(tmp_path / "model.safetensors").items() if "heads" not in k}
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    again = AutoAdapterModel.from_pretrained(tmp_path)
    fusion = again.heads["ner"].fusion
    drawn = torch.cat([p.detach().flatten() for n, p in fusion.named_parameters() if "conv" in n and p.dim() == 2])
    assert drawn.std() == pytest.approx((2 / 16) ** 0.5, rel=0.1)
    for name, parameter in fusion.named_parameters():
        if name in expected:
            assert torch.equal(parameter, expected[name]), name
    for name, buffer in fusion.named_buffers():
        assert bool((buffer == (1 if name.endswith("var") else 0)).all()), name


def test_the_pretrained_encoder_keeps_its_weights(tiny_model, tmp_path, batch):
    from adapters import AutoAdapterModel

    model = tiny_model()
    model.save_pretrained(tmp_path)
    again = AutoAdapterModel.from_pretrained(tmp_path)
    again.add_dlfa_head("ner", init="identity")
    assert torch.equal(again.bert(**batch).last_hidden_state, model.bert(**batch).last_hidden_state)
    shifts = [branch.shift for branch in again.heads["ner"].fusion.aif[0].branches]
    assert torch.sigmoid(shifts[0] + shifts[1]).mean().item() == pytest.approx(0.01)
