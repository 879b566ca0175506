"""`from_encoder`: labels and layer by task, encoders by name or as a model, and what it refuses."""

import logging
import shutil

import pytest
import torch
import transformers
from transformers.modeling_utils import no_init_weights

from dlfa_adapters.fusion import MaskedBatchNorm
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.models import DLFAForSequenceClassification, DLFAForTokenClassification
from dlfa_adapters.tasks import NER, PAWSX, XNLI, tagging_task

Tagger, Classifier = DLFAForTokenClassification, DLFAForSequenceClassification


@pytest.mark.parametrize(("cls", "task", "layers"), [(Tagger, NER, 8), (Classifier, XNLI, 11), (Classifier, PAWSX, 6)])
def test_a_known_task_brings_labels_and_layer(cls, task, layers, encoder):
    model = cls.from_encoder(encoder(num_hidden_layers=12), task=task.name)
    assert (model.config.id2label, model.config.fuse_layer) == (task.id2label, [layers])
    assert model.config.task == task.name
    assert not model.training


def test_a_task_of_ones_own(encoder):
    model = Tagger.from_encoder(encoder(), task=tagging_task("food", ["O", "B-DISH"]))
    assert list(model.config.id2label.values()) == ["O", "B-DISH", "I-DISH"]
    assert (model.config.fuse_layer, model.config.task) == ([3], "food")


def test_numbered_labels(encoder):
    model = Tagger.from_encoder(encoder(), 1, task="chunks", num_labels=2)
    assert model.config.id2label == {0: "LABEL_0", 1: "LABEL_1"}
    assert model.config.label2id == {"LABEL_0": 0, "LABEL_1": 1}
    assert (model.config.fuse_layer, model.config.task) == ([1], "chunks")


def test_a_folder(tiny_folder):
    model = Tagger.from_encoder(tiny_folder, task="ner", gate="attention", norm="layer")
    bare = transformers.AutoModel.from_pretrained(tiny_folder, add_pooling_layer=False)
    assert all(torch.equal(value, model.encoder.state_dict()[name]) for name, value in bare.state_dict().items())
    assert model.config.encoder_name == str(tiny_folder)
    assert (model.config.gate, model.classifier.fusion.gate) == ("attention", "attention")


def test_options_for_loading_reach_the_encoder(tiny_folder):
    model = Tagger.from_encoder(tiny_folder, task="ner", dtype=torch.bfloat16, attn_implementation="eager")
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    assert model.encoder.config._attn_implementation == "eager"
    norms = [module for module in model.modules() if isinstance(module, MaskedBatchNorm)]
    assert {norm.running_var.dtype for norm in norms} == {torch.float32}


def test_16_bits_keep_the_running_statistics_to_the_bit(tagger, pieces, sgd, tmp_path):
    model = tagger()
    sgd(model, pieces)
    model.save_pretrained(tmp_path)
    again = Tagger.from_pretrained(tmp_path, dtype=torch.bfloat16)
    buffers = dict(model.classifier.named_buffers())
    assert again.dtype == torch.bfloat16
    assert all(torch.equal(buffers[name], buffer) for name, buffer in again.classifier.named_buffers())
    assert again(**pieces).loss.isfinite()


def test_weights_that_were_loaded_by_hand_are_not_drawn_again(encoder_config):
    with no_init_weights():
        bare = transformers.BertModel(encoder_config("bert"))
    state = {n: v if n.endswith("_ids") else torch.randn_like(v) for n, v in bare.state_dict().items()}
    bare.load_state_dict(state)
    model = Tagger.from_encoder(bare, 2, num_labels=3)
    assert all(torch.equal(state[name], value) for name, value in model.encoder.state_dict().items())


def test_the_identity_start_survives_construction(encoder, pieces):
    """The gate starts at 0.01: with `attention` the fused state is 0.99 of the last one and 0.01 of the lower."""
    model = Tagger.from_encoder(encoder(), 2, num_labels=3, gate="attention", init="identity")
    for branch in model.classifier.fusion.aif[0].branches:
        assert torch.sigmoid(2 * branch.shift).flatten()[0].item() == pytest.approx(0.01, abs=1e-6)
        assert branch.conv1.weight.std() > 0.1  # Kaiming's for 16 inputs is 0.35, the encoder's 0.02
    lower, upper = torch.randn(2, 2, 3, 16)
    model.classifier.fusion.train()
    assert (model.classifier.fusion(lower, upper) - upper).abs().mean() < 0.1 * (lower - upper).abs().mean()


def test_weights_that_a_checkpoint_lacks_are_drawn_as_the_fusion_says(tagger, logits, tmp_path):
    """A baseline's folder, read with a fusion: the encoder is the baseline's, the fusion starts its own way."""
    baseline = tagger(fusion="last", fuse_layer=None)
    baseline.save_pretrained(tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    config.fusion, config.fuse_layer, config.init = "dlfa", [2], "identity"
    model, info = Tagger.from_pretrained(tmp_path, config=config, output_loading_info=True)
    assert all(name.startswith("classifier.fusion.") for name in info["missing_keys"])
    assert torch.equal(model.classifier.out[-1].weight, baseline.classifier.out[-1].weight)
    branch = model.classifier.fusion.aif[0].branches[0]
    assert torch.sigmoid(2 * branch.shift).flatten()[0].item() == pytest.approx(0.01, abs=1e-6)
    assert branch.conv1.weight.std() > 0.1
    assert branch.norm1.running_var.tolist() == [1.0] * 4
    assert logits(model).isfinite().all()


def test_another_number_of_labels_keeps_the_fusion(tagger, pieces, sgd, tmp_path):
    model = tagger()
    sgd(model, pieces)
    model.save_pretrained(tmp_path)
    again = Tagger.from_pretrained(tmp_path, num_labels=5, ignore_mismatched_sizes=True)
    assert again.classifier.out[-1].weight.shape == (5, 16)
    fusion = model.classifier.fusion.state_dict()
    assert fusion["aif.0.branches.0.norm1.num_batches_tracked"] == 5
    assert all(torch.equal(fusion[name], value) for name, value in again.classifier.fusion.state_dict().items())


@pytest.mark.parametrize("kind", ["bert", "distilbert", "deberta-v2"])
def test_of_an_adapter_model_the_encoder_is_copied(kind, tiny_model, logits):
    source = tiny_model(kind)
    source.add_adapter("a", config="seq_bn", set_active=False)
    model = Tagger.from_encoder(source, 2, num_labels=3)
    assert type(model.encoder) is transformers.models.auto.modeling_auto.MODEL_MAPPING[type(source.config)]
    assert not [name for name in model.state_dict() if "adapter" in name or "prompt" in name]
    with torch.no_grad():
        next(model.encoder.parameters()).zero_()
    assert next(source.base_model.parameters()).abs().max() > 0


def test_adapters_leaves_out_part_of_xmod(tiny_model):
    """Its own language modules, so there is no encoder to copy."""
    with pytest.raises(RunError, match=r"XmodAdapterModel lacks weights of XmodModel: .*adapter_modules\.en_XX"):
        Tagger.from_encoder(tiny_model("xmod"), 2, num_labels=3)


def test_of_a_model_for_a_task_the_encoder_is_taken(encoder_config):
    source = transformers.BertForMaskedLM(encoder_config("bert"))
    assert Tagger.from_encoder(source, 2, num_labels=3).encoder is source.bert


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        (Tagger, {"task": "xnli"}, r"'xnli' is a classification task; type DLFAForSequenceClassification.from_encoder"),
        (Classifier, {"task": "ner"}, r"'ner' is a tagging task; type DLFAForTokenClassification.from_encoder"),
        (Tagger, {}, "labels are not known; type task='ner'"),
        (Tagger, {"task": "chunks"}, "labels are not known; type task='ner'"),
        (Tagger, {"num_labels": 2, "id2label": {0: "A"}}, "num_labels is 2, but id2label names 1 labels"),
        (Tagger, {"num_labels": 0}, "num_labels must be a whole number from 1 up, got 0"),
        (Tagger, {"task": "ner", "reductoin": 2}, "no option 'reductoin'; did you mean 'reduction'"),
        (Tagger, {"task": "ner", "fuse_layers": 2}, "no option 'fuse_layers'; did you mean 'fuse_layer'"),
        (Tagger, {"task": "ner", "zzz": 2}, "no option 'zzz'; there are branches, classifier, classifier_activation"),
        (Tagger, {"task": "ner", "fuse_layer": 9}, r"fuse_layer must lie in 0..4"),
        (Tagger, {"task": "ner", "dtype": torch.float16}, "dtype: for loading by name, but a loaded model was given"),
    ],
)
def test_what_cannot_work_is_refused(cls, arguments, message, encoder):
    with pytest.raises(ConfigError, match=message):
        cls.from_encoder(encoder(), **arguments)


def test_an_encoder_that_is_not_there():
    with pytest.raises(ConfigError, match="The encoder '/nowhere/at/all' cannot be loaded"):
        Tagger.from_encoder("/nowhere/at/all", task="ner")
    with pytest.raises(ConfigError, match="a name, a folder or a model of Transformers, got int"):
        Tagger.from_encoder(3, task="ner")


def test_a_folder_without_weights(tiny_folder, tmp_path):
    transformers.AutoConfig.from_pretrained(tiny_folder).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        Tagger.from_encoder(tmp_path, task="ner")


def test_a_dlfa_model_is_no_encoder(tagger, tmp_path):
    tagger().save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="is a DLFA model already; type from_pretrained"):
        Tagger.from_encoder(str(tmp_path), task="ner")


def test_options_are_checked_before_weights_are_read(tiny_folder, monkeypatch):
    monkeypatch.setattr(transformers.BertModel, "from_pretrained", lambda *a, **k: pytest.fail("weights were read"))
    with pytest.raises(ConfigError, match="fuse_layer must lie in"):
        Tagger.from_encoder(tiny_folder, 7, task="ner")


def test_the_control_and_the_single_layer(encoder, caplog):
    with caplog.at_level(logging.INFO, logger="dlfa_adapters"):
        Tagger.from_encoder(encoder(), 4, task="ner")
    assert "the control D_4" in caplog.text
    with pytest.raises(ConfigError, match="has a single layer"):
        Tagger.from_encoder(encoder(num_hidden_layers=1), task="ner")


def test_a_class_of_transformers_that_pools_says_so():
    config = transformers.FunnelConfig(
        vocab_size=100, d_model=16, n_head=2, d_head=8, d_inner=32, block_sizes=[1, 1, 1], num_decoder_layers=1
    )
    for cls in (transformers.FunnelModel, transformers.FunnelBaseModel):
        with pytest.raises(UnsupportedModelError, match="'funnel'"):
            Tagger.from_encoder(cls(config).eval(), 1, num_labels=3)


def test_a_mistake_of_ours_is_not_said_to_be_the_users(tiny_folder, monkeypatch):
    """A name that is not there, in a line of ours, is no folder that cannot be loaded."""
    from dlfa_adapters.encoders import load
    from dlfa_adapters.encoders import plain as module
    from dlfa_adapters.encoders.load import load_encoder

    with monkeypatch.context() as patch:
        patch.delattr(load, "load_file")
        with pytest.raises(NameError, match="load_file"):
            load_encoder(str(tiny_folder))
    with monkeypatch.context() as patch:
        patch.delattr(module, "_without_pooler")
        with pytest.raises(NameError, match="_without_pooler"):
            Tagger.from_encoder(tiny_folder, 2, task="ner")
    with monkeypatch.context() as patch:
        patch.delattr(module, "AutoConfig")
        with pytest.raises(NameError, match="AutoConfig"):
            Tagger.from_encoder(tiny_folder, 2, task="ner")


@pytest.mark.parametrize("content", ["[]", "5", "{", '{"model_type": "bert", "hidden_size": "x"}'])
def test_whatever_a_damaged_file_makes_transformers_raise(content, tiny_folder, tmp_path):
    from dlfa_adapters.encoders.load import load_encoder

    folder = shutil.copytree(tiny_folder, tmp_path / "copy")
    (folder / "config.json").write_text(content)
    with pytest.raises((ConfigError, UnsupportedModelError), match=r"cannot be loaded|does not give one number"):
        Tagger.from_encoder(folder, 2, task="ner")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder(str(folder))
    shutil.copy(tiny_folder / "config.json", folder / "config.json")
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder(str(folder))


def test_the_offline_encoder_has_its_name_here_too(tiny_model, monkeypatch):
    from dlfa_adapters.encoders.plain import NAMED_ENCODERS

    assert "offline" in NAMED_ENCODERS
    monkeypatch.setitem(NAMED_ENCODERS, "offline", tiny_model)
    model = DLFAForTokenClassification.from_encoder("offline", fuse_layer=2, task="ner")
    assert model.config.fuse_layer == [2] or model.config.fuse_layer == (2,) or model.config.fuse_layer == 2
    assert model.config.encoder_config.model_type == "bert"
