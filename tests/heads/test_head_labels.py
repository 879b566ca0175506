"""Label names in the configuration follow the active head, whichever way it becomes active."""

import pytest
from adapters import AdapterSetup, AutoAdapterModel, Parallel, Stack

NER = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-ORG", 4: "I-ORG", 5: "B-LOC", 6: "I-LOC"}
PAWSX = {0: "0", 1: "1"}
DEFAULT = {0: "LABEL_0", 1: "LABEL_1"}


def labels(model):
    assert model.config.label2id == {name: id_ for id_, name in model.config.id2label.items()}
    assert model.config.num_labels == len(model.config.id2label)
    return model.config.id2label


@pytest.fixture
def model(tiny_model):
    """Heads ner and pawsx (active), adapters of the same names."""
    model = tiny_model()
    for name in ("ner", "pawsx"):
        model.add_adapter(name, config="seq_bn")
        model.add_dlfa_head(name)
    return model


def test_after_adding(model):
    assert labels(model) == PAWSX


def test_after_setting_the_active_head(model):
    model.active_head = "ner"
    assert labels(model) == NER
    model.active_head = ["ner", "pawsx"]
    assert labels(model) == DEFAULT
    model.active_head = ["ner"]
    assert labels(model) == NER
    model.active_head = None
    assert labels(model) == DEFAULT


def test_after_set_active_adapters(model):
    model.set_active_adapters("ner")
    assert (model.active_head, labels(model)) == ("ner", NER)
    model.add_adapter("lang", config="seq_bn")
    model.active_head = "pawsx"
    model.set_active_adapters(Stack("lang", "ner"))
    assert (model.active_head, labels(model)) == ("ner", NER)
    model.set_active_adapters(Parallel("ner", "pawsx"))
    assert labels(model) == DEFAULT
    model.active_adapters = "pawsx"
    assert labels(model) == PAWSX


def test_after_train_adapter(model):
    """The head of the adapter's name is trained, not whichever was active before."""
    model.train_adapter("ner")
    assert (model.active_head, labels(model)) == ("ner", NER)


def test_train_adapter_without_a_head_of_the_name_keeps_the_head(model):
    model.add_adapter("other", config="seq_bn")
    model.train_adapter("other")
    assert (model.active_head, labels(model)) == ("pawsx", PAWSX)


def test_after_delete_head(model):
    model.delete_head("pawsx")
    assert (model.active_head, labels(model)) == (None, DEFAULT)
    model.active_head = "ner"
    model.delete_head("ner")
    assert labels(model) == DEFAULT


def test_after_deleting_one_of_several(model, batch):
    model.active_head = ["ner", "pawsx"]
    model.delete_head("ner")
    assert (model.active_head, labels(model)) == (None, DEFAULT)
    model.active_head = "pawsx"
    model(**batch)


def test_deleting_an_inactive_head_changes_nothing(model):
    model.delete_head("ner")
    assert (model.active_head, labels(model)) == ("pawsx", PAWSX)


def test_after_every_load(model, tiny_model, tmp_path):
    model.active_head = "ner"
    model.save_head(tmp_path / "head", "ner")
    model.save_adapter(tmp_path / "adapter", "ner")
    model.save_pretrained(tmp_path / "model")
    fresh = tiny_model()
    fresh.load_head(tmp_path / "head")
    assert labels(fresh) == NER
    fresh = tiny_model()
    fresh.load_adapter(str(tmp_path / "adapter"), set_active=True)
    assert (fresh.active_head, labels(fresh)) == ("ner", NER)
    fresh = tiny_model()
    fresh.add_dlfa_head("pawsx")
    fresh.load_adapter(str(tmp_path / "adapter"))
    fresh.load_head(tmp_path / "head", load_as="other", set_active=False)
    assert (fresh.active_head, labels(fresh)) == ("pawsx", PAWSX)
    again = AutoAdapterModel.from_pretrained(tmp_path / "model")
    assert labels(again) == again.get_labels_dict()


def test_loading_other_names(model, tiny_model, tmp_path):
    model.save_head(tmp_path, "pawsx")
    fresh = tiny_model()
    fresh.load_head(tmp_path, id2label={0: "no", 1: "yes"})
    assert labels(fresh) == {0: "no", 1: "yes"}


def test_stock_heads_beside_a_dlfa_head_too(tiny_model):
    model = tiny_model()
    model.add_dlfa_head("ner")
    model.add_tagging_head("tags", num_labels=3, id2label={0: "a", 1: "b", 2: "c"})
    assert labels(model) == {0: "a", 1: "b", 2: "c"}
    model.add_masked_lm_head("lm")
    assert labels(model) == DEFAULT


def test_the_head_argument_and_contexts_leave_the_configuration_alone(model, batch):
    assert model(**batch, head="ner").logits.shape == (2, 7, 7)
    with AdapterSetup("ner"):
        assert model(**batch).logits.shape == (2, 7, 7)
        assert labels(model) == PAWSX
    assert labels(model) == PAWSX
    assert model.active_head == "pawsx"
