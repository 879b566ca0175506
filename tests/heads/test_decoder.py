"""Decoders: those of checkpoints, and those that are kept beside a language adapter."""

import pytest
import torch
import transformers
from tiny_masked import save_masked_encoder

from dlfa_adapters.analysis.translation.measure import write_pieces
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.encoders import load_encoder
from dlfa_adapters.ground.errors import ConfigError, RunError
from dlfa_adapters.heads.decoder import load_masked_lm, pretrained_decoder, read_decoder
from dlfa_adapters.heads.masked_lm import MaskedLMHead
from dlfa_adapters.heads.schema import DECODER
from dlfa_adapters.learning import train_language
from dlfa_adapters.tuning.bottleneck import LanguageTuning

MASKED_LM = {
    "albert": transformers.AlbertForMaskedLM,
    "bert": transformers.BertForMaskedLM,
    "deberta": transformers.DebertaForMaskedLM,
    "deberta-v2": transformers.DebertaV2ForMaskedLM,
    "distilbert": transformers.DistilBertForMaskedLM,
    "electra": transformers.ElectraForMaskedLM,
    "roberta": transformers.RobertaForMaskedLM,
    "xlm-roberta": transformers.XLMRobertaForMaskedLM,
}  # not X-MOD: the states of adapters' class are not those of Transformers'


@pytest.mark.parametrize("name", MASKED_LM)
def test_decoders_of_checkpoints(name, tiny_config, batch, tmp_path):
    """The decoder that is read gives the logits that the checkpoint's own class gives."""
    torch.manual_seed(5)
    theirs = MASKED_LM[name](tiny_config(name)).eval()
    with torch.no_grad():
        for parameter_name, parameter in theirs.named_parameters():
            if not parameter_name.startswith(theirs.base_model_prefix):
                parameter.add_(torch.randn_like(parameter) * 0.1)
    theirs.save_pretrained(tmp_path)
    model = load(tmp_path)
    decoder = pretrained_decoder(str(tmp_path), model.config)
    assert decoder is not None
    head = MaskedLMHead(model, "lm", decoder.activation_function, decoder.layer_norm_eps)
    head.load_state_dict(decoder.weights)
    model.add_prediction_head(head)
    torch.testing.assert_close(model(**batch).logits, theirs(**batch).logits, rtol=1e-5, atol=1e-5)
    assert LanguageTuning("xx", decoder=decoder).record()["decoder"] == "the checkpoint's"


def test_checkpoints_without_a_usable_decoder(tiny_config, tiny_model, tmp_path):
    config = tiny_config()
    transformers.BertModel(config).save_pretrained(tmp_path / "bare")
    assert (
        pretrained_decoder(str(tmp_path / "bare"), transformers.AutoConfig.from_pretrained(tmp_path / "bare")) is None
    )
    transformers.BertModel(config).save_pretrained(tmp_path / "claims")
    claims = transformers.AutoConfig.from_pretrained(tmp_path / "claims")
    claims.architectures = ["BertForMaskedLM"]  # which the weights do not hold
    claims.save_pretrained(tmp_path / "claims")
    assert pretrained_decoder(str(tmp_path / "claims"), claims) is None
    untied = transformers.BertForMaskedLM(tiny_config(tie_word_embeddings=False))
    untied.save_pretrained(tmp_path / "untied")
    assert pretrained_decoder(str(tmp_path / "untied"), untied.config) is None
    discriminator = transformers.ElectraForPreTraining(tiny_config("electra"))
    discriminator.save_pretrained(tmp_path / "electra")
    assert pretrained_decoder(str(tmp_path / "electra"), discriminator.config) is None


def load(folder):
    from dlfa_adapters.encoders.load import load_encoder_model

    return load_encoder_model(str(folder))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(encoder, adapter, model): a tiny encoder without a decoder, what was trained on it, and the model that did."""
    folder, kept = tmp_path_factory.mktemp("trained"), {}
    save_masked_encoder(folder / "encoder")
    (folder / "text.txt").write_text("\n".join(f"anna met bob in {'rome' * (i % 5)} {i * 'a'}" for i in range(40)))
    train_language(
        "mul", folder / "text.txt", model=str(folder / "encoder"), out=folder / "mul", steps=3, batch_size=4,
        max_length=32, learning_rate=1e-2, head_learning_rate=1e-1, on_start=lambda plan: kept.update(plan=plan),
    )  # fmt: skip
    return folder / "encoder", folder / "mul", kept["plan"].encoder.model.eval()


@torch.no_grad()
def test_a_trained_decoder_comes_back_with_its_adapter(trained):
    encoder, adapter, model = trained
    again, ids = load_masked_lm(str(encoder), adapter), torch.arange(5, 25)[None]
    assert again.model(input_ids=ids).logits.equal(model(input_ids=ids).logits)
    assert not again.model.training
    assert again.origin == f"{encoder} (folder), with {adapter}"
    again.model.set_active_adapters(None)
    assert not torch.allclose(again.model(input_ids=ids).logits, model(input_ids=ids).logits, atol=1e-3)
    fresh = LanguageTuning("mul").prepare(load_encoder(str(encoder)).model, "lm").heads["lm"]
    assert not torch.allclose(read_decoder(adapter).weights["dense.weight"], fresh.dense.weight, atol=1e-3)


def test_adapters_itself_loads_what_stands_beside_a_decoder(trained):
    from adapters import AutoAdapterModel

    encoder, adapter, _ = trained
    model = AutoAdapterModel.from_pretrained(encoder)
    assert model.load_adapter(str(adapter)) == "mul"


@torch.no_grad()
@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "distilbert"])
def test_a_masked_language_model_is_loaded_as_it_is(name, tiny_config, trained, batch, tmp_path):
    from transformers import AutoTokenizer

    torch.manual_seed(1)
    theirs = MASKED_LM[name](tiny_config(name)).eval()
    theirs.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(trained[0]).save_pretrained(tmp_path)
    loaded = load_masked_lm(str(tmp_path))
    torch.testing.assert_close(loaded.model(**batch).logits, theirs(**batch).logits)
    assert loaded.tokenizer.mask_token == "[MASK]"
    assert not loaded.model.training


def test_segments_go_to_no_model_that_takes_none(tiny_config, trained, tmp_path):
    from transformers import AutoTokenizer

    MASKED_LM["distilbert"](tiny_config("distilbert")).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(trained[0]).save_pretrained(tmp_path)
    loaded = load_masked_lm(str(tmp_path))
    rows, _ = encode_texts(loaded.tokenizer, ["ab cd"], max_length=16)
    assert [row.token_type_ids for row in rows] == [None]
    assert [len(row) for row in write_pieces(loaded, rows)] == [len(rows[0].input_ids)]


def test_what_has_no_decoder_is_refused(trained, tiny_folder, tmp_path):
    encoder, _, _ = trained
    with pytest.raises(ConfigError, match=rf"{encoder}' has no decoder, which writes pieces; .* train-language"):
        load_masked_lm(str(encoder))
    with pytest.raises(ConfigError, match="'offline' has no decoder"):
        load_masked_lm("offline")
    with pytest.raises(ConfigError, match=rf"There is no decoder in {tmp_path} \(decoder.safetensors\)"):
        load_masked_lm(str(encoder), tmp_path)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_masked_lm(str(tmp_path / "nothing"))


def test_a_damaged_decoder_is_refused(trained, tmp_path):
    encoder, adapter, _ = trained
    whole = (adapter / DECODER).read_bytes()
    (tmp_path / DECODER).write_bytes(whole[:-3] + b"abc")
    with pytest.raises(RunError, match="not the file that was written"):
        load_masked_lm(str(encoder), tmp_path)
