"""How our classes reach the user, and that stock models and heads stay what they are."""

import copy
import subprocess
import sys

import adapters
import pytest
import torch
from adapters import AutoAdapterModel

import dlfa_adapters
from dlfa_adapters.ground.errors import UnsupportedModelError
from dlfa_adapters.heads.models import MODELS


def test_register_twice_changes_nothing():
    before = dict(AutoAdapterModel._model_mapping._extra_content)
    dlfa_adapters.register()
    assert before == AutoAdapterModel._model_mapping._extra_content
    assert set(MODELS) <= set(before.values())


def test_the_classes_are_upstreams_by_name(family, tiny_model):
    model = tiny_model(family)
    stock = getattr(adapters, type(model).__name__)
    assert isinstance(model, stock)
    assert type(model) is not stock
    assert model.head_types == stock.head_types


def test_heads_are_not_registered_on_other_models(tiny_model):
    one, other = tiny_model(), tiny_model()
    one.register_custom_head("mine", object)
    assert "mine" not in other.custom_heads
    assert "mine" not in type(other).custom_heads


def test_without_a_dlfa_head_the_stock_class_is_reproduced(family, tiny_model, tiny_config, batch):
    if family == "bert-generation":
        pytest.skip("has no stock heads but language models")
    ours = tiny_model(family)
    ours.add_tagging_head("tags", num_labels=3)
    stock = getattr(adapters, type(ours).__name__)(tiny_config(family)).eval()
    stock.add_tagging_head("tags", num_labels=3)
    stock.load_state_dict(ours.state_dict())
    labels = torch.randint(0, 3, (2, 7))
    for return_dict in (True, False):
        mine, theirs = (m(**batch, labels=labels, return_dict=return_dict) for m in (ours, stock))
        assert [torch.equal(a, b) for a, b in zip(mine[:2], theirs[:2], strict=True)] == [True, True]
        assert len(mine) == len(theirs)


def test_enable_an_instance(family, tiny_model, tiny_config, batch):
    stock = getattr(adapters, type(tiny_model(family)).__name__)(tiny_config(family)).eval()
    assert dlfa_adapters.enable(stock) is stock
    assert dlfa_adapters.enable(stock) is stock  # a second time changes nothing
    stock.add_dlfa_head("ner")
    assert list(stock(**batch)) == ["logits"]
    stock.delete_head("ner")
    stock.add_prediction_head_from_config(
        "again", {"head_type": "dlfa", "inner_head_type": "tagging", "num_labels": 2, "fuse_layer": 1}
    )
    assert stock(**batch).logits.shape == (2, 7, 2)


def test_enable_keeps_heads_and_weights(tiny_config, batch):
    stock = adapters.BertAdapterModel(tiny_config()).eval()
    stock.add_tagging_head("tags", num_labels=3, id2label={0: "a", 1: "b", 2: "c"})
    before = stock(**batch).logits
    dlfa_adapters.enable(stock)
    assert torch.equal(stock(**batch).logits, before)
    assert stock.config.id2label == {0: "a", 1: "b", 2: "c"}


def test_a_users_own_subclass_stays_what_it_is(tiny_config, batch):
    from dlfa_adapters.heads.models import BertAdapterModel

    class Mine(BertAdapterModel):
        extra = "mine"

    model = Mine(tiny_config())
    model.add_dlfa_head("ner")
    assert (type(model).__name__, model.extra) == ("Mine", "mine")
    assert list(model(**batch)) == ["logits"]
    model.active_head = None
    assert type(model) is Mine


def test_a_model_can_be_copied(tiny_model, batch):
    model = tiny_model()
    model.add_dlfa_head("ner")
    twin = copy.deepcopy(model)
    assert torch.equal(twin(**batch).logits, model(**batch).logits)
    twin.delete_head("ner")
    assert list(model(**batch)) == ["logits"]


def test_enable_names_what_is_possible(tiny_config):
    import transformers

    with pytest.raises(
        UnsupportedModelError, match=r"AlbertAdapterModel, BertAdapterModel.*got .*BertModel; type model ="
    ):
        dlfa_adapters.enable(transformers.BertModel(tiny_config()))


def test_the_head_works_on_the_stock_class_by_its_own_registry(tiny_config, batch):
    """Without our class the caller asks for the states; the head is a head like any other."""
    stock = adapters.BertAdapterModel(tiny_config()).eval()
    stock.register_custom_head("dlfa", dlfa_adapters.DLFAHead)
    stock.add_custom_head("dlfa", "head", inner_head_type="tagging", fuse_layer=1, num_labels=3)
    assert stock(**batch, output_hidden_states=True).logits.shape == (2, 7, 3)


def test_importing_costs_nothing_beyond_adapters():
    """Neither data nor metric libraries are imported by us, nor what trains, sweeps and scores."""
    code = (
        "import gc, sys, adapters; from adapters import AutoAdapterModel; AutoAdapterModel._model_mapping.keys(); "
        "from adapters import BertAdapterModel; import adapters.trainer; before = set(sys.modules); "
        "import dlfa_adapters; new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new & {'datasets', 'evaluate', 'sklearn', 'scipy', 'seqeval', 'peft', 'pandas', 'matplotlib'})); "
        "print(sorted({'learning', 'scores', 'sweeps'} & {(name + '..').split('.')[1] for name in sys.modules})); "
        "print(gc.isenabled())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip().splitlines()[-3:] == ["[]", "[]", "True"]


def test_what_people_do_stands_at_the_top():
    from dlfa_adapters import DLFAError, evaluate, load_run, sweep, train
    from dlfa_adapters.scores.evaluate import evaluate_run
    from dlfa_adapters.sweeps import run_sweep

    assert (evaluate, sweep, train) == (evaluate_run, run_sweep, dlfa_adapters.learning.train)
    assert issubclass(dlfa_adapters.ground.errors.ConfigError, DLFAError)
    assert load_run.__module__ == "dlfa_adapters.predict.load"
    assert set(dlfa_adapters.__all__) <= set(dir(dlfa_adapters))
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        dlfa_adapters.trian
