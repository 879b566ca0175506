"""An attention mask that does not fit is told in one sentence, by plain models and by heads on adapters alike."""

import pytest
import torch

from dlfa_adapters.models import DLFAConfig, DLFAForTokenClassification


@pytest.fixture(scope="module")
def models(tiny_config, tiny_model):
    from transformers import BertModel

    head = tiny_model()
    head.add_dlfa_head("ner", fuse_layer=2)
    return DLFAForTokenClassification.from_encoder(BertModel(tiny_config()), task="ner", fuse_layer=2), head


@pytest.mark.parametrize("shape", [(2, 6), (3, 7), (7,), (2, 7, 7), (2, 1, 1, 7)])
@pytest.mark.parametrize("which", [0, 1])
def test_a_mask_of_another_shape(which, shape, models, batch):
    message = rf"must have the shape of the tokens, \(2, 7\), got {str(shape).replace('(', '.').replace(')', '.')}"
    with pytest.raises(ValueError, match=message):
        models[which](input_ids=batch["input_ids"], attention_mask=torch.ones(shape))
    embeddings = torch.zeros(2, 7, 16)
    with pytest.raises(ValueError, match=message):
        models[which](inputs_embeds=embeddings, attention_mask=torch.ones(shape))
    assert models[which](inputs_embeds=embeddings, attention_mask=torch.ones(2, 7)).logits.shape == (2, 7, 7)


def test_values_that_are_no_values(tiny_model, tiny_config):
    from dlfa_adapters.ground.errors import ConfigError

    model = tiny_model()
    for layers in (-1, 0, 2.5, True):
        with pytest.raises(ConfigError, match="layers, the linear maps of a head, must be a whole number from 1 up"):
            model.add_dlfa_head("ner", fuse_layer=2, layers=layers)
    with pytest.raises(ConfigError, match="mask_padding must be True or False; got 'yes'"):
        model.add_dlfa_head("ner", fuse_layer=2, mask_padding="yes")
    with pytest.raises(ConfigError, match="mask_padding must be True or False; got 1"):
        DLFAConfig(tiny_config(), 2, task="ner", mask_padding=1)


@pytest.fixture
def loading_log(caplog):
    """What Transformers says while it loads, whatever an earlier test has silenced."""
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity_warning()
    logging.enable_propagation()
    yield caplog
    logging.disable_propagation()
    logging.set_verbosity(verbosity)


def test_a_pooler_that_is_left_out_is_no_warning(tiny_config, tmp_path, loading_log):
    """Other weights that nothing reads are one."""
    from transformers import BertModel

    BertModel(tiny_config()).save_pretrained(tmp_path)
    DLFAForTokenClassification.from_encoder(str(tmp_path), task="ner", fuse_layer=2)
    assert "pooler" not in loading_log.text
    more = BertModel(tiny_config())
    more.extra = torch.nn.Linear(2, 2)
    more.save_pretrained(tmp_path)
    DLFAForTokenClassification.from_encoder(str(tmp_path), task="ner", fuse_layer=2)
    assert "extra.weight" in loading_log.text
