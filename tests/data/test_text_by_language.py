"""Text by language: which files are of which language, each text once, and the part that a hash puts it in."""

import hashlib

import pytest

from dlfa_adapters.data.layout import language_of
from dlfa_adapters.data.text_by_language import PARTS, part_of, read_text_by_language
from dlfa_adapters.ground.errors import ConfigError, DataError


def lines(language, numbers):
    return "".join(f"text {i} in {language}\n" for i in numbers)


@pytest.fixture
def folder(tmp_path):
    """folder({"de.txt": "…"}): a folder with these files."""

    def write(files):
        root = tmp_path / "texts"
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")
        return root

    return write


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("de.txt", "de"),
        ("deu.txt", "deu"),
        ("eng_Latn.txt", "eng_Latn"),
        ("zh-Hant.txt", "zh-Hant"),
        ("de.txt.gz", "de"),
        ("sw/test.tsv", "sw"),
        ("eng_Latn/dev.tsv", "eng_Latn"),
        ("swa/anything.txt", "swa"),
        ("test-de.tsv", "de"),
        ("dishes-de.tsv", "de"),
        ("UD_English-EWT/en_ewt-ud-test.conllu", "en"),
        ("english/anything.txt", "en"),
        ("notes.txt", "und"),
        ("xx.txt", "und"),  # no code of two letters
        ("qq/test.tsv", "und"),
    ],
)
def test_the_language_of_a_file(tmp_path, name, language):
    assert language_of(tmp_path / "some folder" / name) == language


def test_all_files_of_a_language_together(folder):
    root = folder(
        {
            "de.txt": "eins\nzwei\n\n  zwei \n",
            "de/train.tsv": "index_id\tcategory\ttext\n1\tsports\tdrei\n2\tsports\tvier vier\n",
            "sw/test.tsv": "Amina\tB-PER\nalisafiri\tO\n\nKigali\tB-LOC\n",
            "test-fr.tsv": "sentence1\tsentence2\tlabel\nun deux\ttrois\t1\n",
            "notes.txt": "not of a language\n",
            ".hidden/en.txt": "hidden\n",
            "en.md": "no text\n",
        }
    )
    read = read_text_by_language(root)
    assert {x: sorted(texts) for x, texts in read.texts.items()} == {
        "de": ["drei", "eins", "vier vier", "zwei"],
        "fr": ["trois", "un deux"],
        "sw": ["Amina alisafiri", "Kigali"],
    }
    assert list(read.texts) == ["de", "fr", "sw"]
    assert read.dropped == {"file_without_language": 1, "repeated_text": 1, "empty_line": 1}
    only = read_text_by_language(root, ["sw", "de"])
    assert list(only.texts) == ["de", "sw"]
    as_text = read_text_by_language(root, ["sw"], format="text")
    assert sorted(as_text.texts["sw"]) == ["Amina\tB-PER", "Kigali\tB-LOC", "alisafiri\tO"]


def test_a_text_in_several_languages_is_in_none(folder):
    root = folder({"de.txt": "Berlin\nich\n", "en.txt": "Berlin\nI\n1984\n", "fr.txt": "moi\n1984\n"})
    read = read_text_by_language(root)
    assert read.texts == {"de": ["ich"], "en": ["I"], "fr": ["moi"]}
    assert read.dropped == {"several_languages": 4}
    assert sorted(read_text_by_language(root, ["de", "fr"]).texts["de"]) == ["Berlin", "ich"]


def test_the_part_is_a_function_of_the_text_alone(folder):
    root = folder({"de.txt": lines("de", range(2000)), "en.txt": lines("en", range(300))})
    read = read_text_by_language(root)
    parts = {name: read.part(name) for name in PARTS}
    for language in ("de", "en"):
        joined = [text for name in PARTS for text in parts[name][language]]
        assert sorted(joined) == sorted(read.texts[language])  # each in one of them
    sizes = {name: len(parts[name]["de"]) for name in PARTS}
    assert sizes["train"] == pytest.approx(1600, abs=60)
    assert sizes["dev"] == pytest.approx(200, abs=45)
    assert sizes["test"] == pytest.approx(200, abs=45)
    # By hand: the first eight bytes of the digest, as a number, its last decimal digit.
    for text in read.texts["de"][:200]:
        last = int(hashlib.sha256(text.encode()).hexdigest()[:16], 16) % 10
        assert part_of(text) == ("test" if last == 0 else "dev" if last == 1 else "train")
    fewer = read_text_by_language(folder({"de.txt": lines("de", reversed(range(1000, 2000)))}), ["de"])
    assert set(fewer.part("test")["de"]) <= set(parts["test"]["de"])


def test_a_limit_takes_by_hash_and_from_all_parts(folder):
    root = folder({"de.txt": lines("de", range(1000)), "en.txt": lines("en", range(50))})
    read = read_text_by_language(root, limit=100)
    assert (read.limit, len(read.texts["de"]), len(read.texts["en"])) == (100, 100, 50)
    numbers = [int(text.split()[1]) for text in read.texts["de"]]
    assert max(numbers) > 900  # not the first ones
    assert min(numbers) < 100
    more = read_text_by_language(root, limit=200)
    assert more.texts["de"][:100] == read.texts["de"]
    # The choice has nothing to do with the parts: in each of them a tenth is taken, about.
    whole = read_text_by_language(root)
    for name, least in (("train", 60), ("dev", 3), ("test", 3)):
        assert least <= len(read.part(name)["de"]) < len(whole.part(name)["de"]) / 4
    again = read_text_by_language(folder({"de.txt": lines("de", reversed(range(1000)))}), limit=100)
    assert again.texts["de"] == read.texts["de"]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"notes.txt": "a\n"}, {}, "expected files of text by language, such as de.txt or de/test.tsv, found none"),
        ({"de.txt": "a\n"}, {"languages": ["sw"]}, "expected text in sw, but there is text in de"),
        ({"de.txt": "a\n", "en.txt": "\n"}, {}, "no text of its own in en; leave it out"),
        ({"de.txt": "a\n", "en.txt": "a\n"}, {}, "no text of its own in de, en"),
    ],
)
def test_what_cannot_be_read(folder, files, options, message):
    with pytest.raises(DataError, match=message):
        read_text_by_language(folder(files), **options)


def test_what_is_no_folder(tmp_path, folder):
    with pytest.raises(DataError, match="there is none of this name"):
        read_text_by_language(tmp_path / "none")
    with pytest.raises(DataError, match=r"expected a folder of text by language.*got a file"):
        read_text_by_language(folder({"de.txt": "a\n"}) / "de.txt")
    with pytest.raises((ConfigError, DataError), match="format"):
        read_text_by_language(folder({"de.txt": "a\n"}), format="none")


def texts_of(part, language, number):
    found = (text for i in range(10_000) if part_of(text := f"{language} {i}") == part)
    return [next(found) for _ in range(number)]


def test_parts_that_have_too_little(folder):
    def read(**parts):
        files = {
            f"{language}.txt": "\n".join(text for part in each for text in texts_of(part, language, 2))
            for language, each in parts.items()
        }
        return read_text_by_language(folder(files), list(parts))

    read(de=PARTS, en=["train", "test"]).check_parts()
    for parts, message in (
        ({"de": PARTS}, "two or more languages, got de alone"),
        ({"de": PARTS, "en": ["train", "dev"], "fr": ["train"]}, "for test in every language.*in en, fr; add some"),
        ({"de": PARTS, "en": ["test"]}, "for train in every language.*in en; add some"),
        ({"de": ["train", "test"], "en": ["train", "test"]}, "for dev, but the hash puts none there"),
    ):
        with pytest.raises(DataError, match=message):
            read(**parts).check_parts()
