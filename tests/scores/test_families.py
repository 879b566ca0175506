"""Language families, spellings of languages, and the groups that are averaged."""

import pytest

from dlfa_adapters.data.languages import FAMILIES, main_code
from dlfa_adapters.data.places import SAMPLE_TASKS, sample_languages
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.scores.groups import check_each_once, family_of, groups
from dlfa_adapters.tasks import TASKS


def test_every_language_of_xtreme_and_of_the_samples_has_a_family():
    languages = {language for task in TASKS.values() for language in task.languages}
    languages |= {language for sample in SAMPLE_TASKS.values() for language in sample_languages(sample)}
    assert len(languages) >= 40
    assert [language for language in sorted(languages) if family_of(language) is None] == []


def test_no_code_stands_twice():
    codes = [code for *_, languages in FAMILIES for language in languages.split() for code in language.split("/")]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", ("Indo-European", "Germanic")),
        ("hi", ("Indo-European", "Indo-Aryan")),
        ("fa", ("Indo-European", "Iranian")),
        ("sw", ("Atlantic-Congo", "Bantu")),
        ("hu", ("Uralic", "Hungarian")),
        ("tr", ("Turkic", "Oghuz")),
        ("eu", ("Basque", "Basque")),
        ("vi", ("Austroasiatic", "Vietic")),
        ("th", ("Tai-Kadai", "Tai")),
        ("zh", ("Sino-Tibetan", "Sinitic")),
        ("eng_Latn", ("Indo-European", "Germanic")),
        ("swh_Latn", ("Atlantic-Congo", "Bantu")),
        ("zh-min-nan", ("Sino-Tibetan", "Sinitic")),
        ("PT-br", ("Indo-European", "Romance")),
        ("und", None),
        ("", None),
        ("../x", None),
    ],
)
def test_family(language, expected):
    assert family_of(language) == expected


@pytest.mark.parametrize(
    ("spelling", "code"),
    [
        ("en", "en"),
        ("eng_Latn", "en"),
        ("en-US", "en"),
        ("es-419", "es"),
        ("zho_Hans", "zh"),
        ("zh-min-nan", "zh-min-nan"),
        ("arb_Arab", "ar"),
        ("tlh", "tlh"),
    ],
)
def test_spellings_of_one_language_meet(spelling, code):
    assert main_code(spelling) == code


@pytest.mark.parametrize(
    "languages", ["en de", "zh_Hans zh_Hant", "sr-Latn sr-Cyrl", "en-GB en-US", "zh zh-min-nan", "tlh und xx", ""]
)
def test_scripts_and_regions_are_told_apart(languages):
    check_each_once(languages.split(), "--train")


@pytest.mark.parametrize(
    ("languages", "twice"),
    [
        ("en eng", "en and eng"),
        ("de en-US EN", "en-US and EN"),
        ("zh_Hans zh_Hant zho", "zh_Hans and zho"),
        ("sw swh_Latn", "sw and swh_Latn"),
        ("sr_Latn srp-latn", "sr_Latn and srp-latn"),
    ],
)
def test_two_names_of_one_language_are_refused(languages, twice):
    with pytest.raises(ConfigError, match=f"--train names one language twice, as {twice}; name it once, or where"):
        check_each_once(languages.split(), "--train")


def as_dict(languages, sources, task=None):
    return {group.name: group.languages for group in groups(languages, sources, task)}


@pytest.mark.parametrize("task", ["xnli", "pawsx"])
def test_groups_with_english_as_source(task):
    assert as_dict(["en", "de", "hi", "sw", "xx"], ["en"], task) == {
        "targets": ("de", "hi", "sw", "xx"),
        "all": ("en", "de", "hi", "sw", "xx"),
        "enf_paper": ("en", "de"),
        "noenf_paper": ("hi", "sw", "xx"),
        "enf_family": ("en", "de", "hi"),
        "noenf_family": ("sw",),  # xx has no known family and is in neither
    }


@pytest.mark.parametrize("task", ["ner", "pos", "topic", "sentiment", "mine", None])
def test_the_paper_splits_languages_for_two_tasks_only(task):
    assert as_dict(["en", "de", "sw"], ["en"], task).keys() == {"targets", "all", "enf_family", "noenf_family"}


def test_a_group_without_languages_is_left_out():
    assert as_dict(["sw", "tr"], ["en"], "xnli") == {
        "targets": ("sw", "tr"),
        "noenf_paper": ("sw", "tr"),
        "noenf_family": ("sw", "tr"),
    }


def test_a_single_language_is_not_split():
    assert as_dict(["sw"], ["en"], "xnli") == {"targets": ("sw",)}
    assert as_dict(["en"], ["en"], "xnli") == {"all": ("en",)}


def test_a_language_that_is_not_known_is_in_no_family():
    assert as_dict(["und"], ["en"], "xnli") == {"targets": ("und",)}
    assert as_dict(["und", "de"], ["en"], "xnli") == {"targets": ("und", "de")}
    assert as_dict(["und", "de", "sw"], ["en"], "xnli") == {
        "targets": ("und", "de", "sw"),
        "enf_paper": ("de",),
        "noenf_paper": ("sw",),
        "enf_family": ("de",),
        "noenf_family": ("sw",),
    }


def test_the_groups_of_the_paper_are_for_english_only():
    assert as_dict(["tr", "kk", "en"], ["tr"], "xnli") == {
        "targets": ("kk", "en"),
        "all": ("tr", "kk", "en"),
        "enf_family": ("tr", "kk"),
        "noenf_family": ("en",),
    }


def test_the_source_is_found_under_another_spelling():
    assert as_dict(["eng_Latn", "deu_Latn"], ["en"])["targets"] == ("deu_Latn",)


def test_no_source_no_split():
    assert as_dict(["en", "de"], []) == {"all": ("en", "de")}


def test_two_sources():
    found = as_dict(["en", "zh", "de", "my", "sw"], ["en", "zh"], "xnli")
    assert found["targets"] == ("de", "my", "sw")
    assert "enf_paper" not in found
    assert found["enf_family"] == ("en", "zh", "de", "my")
