"""Which files of a folder belong to a task, a split and a language: the folder layouts that people have.

- XTREME's download: `panx/`, `udpos/`, `xnli/`, `pawsx/`, each with `train-en.tsv`, `dev-de.tsv`, `test-sw.tsv`.
- A folder a language: `de/train.tsv`, `eng_Latn/test.tsv`, `swa/dev.txt`, `english/val_text.txt`, `fr/test_2k.tsv`;
  WikiANN's archives have files without a suffix: `de/train`.
- Universal Dependencies: `UD_English-EWT/en_ewt-ud-dev.conllu`, and up to 2.0 `UD_English/en-ud-dev.conllu`.
- MLDoc: `english/english.train.1000`, `german/german.dev`.
- MARC: `train/dataset_en_train.json`.
- XNLI as published: `xnli.dev.tsv`, `multinli.train.en.tsv`.
- A file by itself, which may have any name with a language at its end: `dishes-de.tsv`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlfa_adapters.data.languages import as_spelled
from dlfa_adapters.ground.errors import ConfigError, DataError

# Names of the task's folder in XTREME's download (scripts/download_data.sh of google-research/xtreme).
XTREME_FOLDERS = {"ner": "panx", "pos": "udpos", "xnli": "xnli", "pawsx": "pawsx"}
UNKNOWN_LANGUAGE = "und"  # ISO 639-2 for undetermined
LANGUAGE_NAMES = dict(
    zip(
        "af ar eu bg nl en et fi fr de el he hi hu id it ja kk ko zh mr fa pt ru es tl ta te th tr ur vi yo".split(),
        "Afrikaans Arabic Basque Bulgarian Dutch English Estonian Finnish French German Greek Hebrew Hindi Hungarian "
        "Indonesian Italian Japanese Kazakh Korean Chinese Marathi Persian Portuguese Russian Spanish Tagalog Tamil "
        "Telugu Thai Turkish Urdu Vietnamese Yoruba".split(),
        strict=True,
    )
)
_BY_ENGLISH_NAME = {name.lower(): code for code, name in LANGUAGE_NAMES.items()}
_NOT_LANGUAGES = frozenset((*XTREME_FOLDERS.values(), "ner", "pos", "nli", "ud", "raw", "out", "tmp", "new", "old"))
_SPLITS = {
    **dict.fromkeys(("train", "translated_train"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "dev_2k"), "dev"),
    **dict.fromkeys(("test", "test_2k"), "test"),
}
_TWO_LETTERS = frozenset(  # ISO 639-1
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz "
    "ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik "
    "io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml "
    "mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd "
    "se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi "
    "vo wa wo xh yi yo za zh zu".split()
)
_OLD = frozenset("in iw ji jw mo sh".split())  # withdrawn from ISO 639-1, and still in use
_SUFFIXES = frozenset(("", ".tsv", ".txt", ".conllu", ".conll", ".bio", ".iob2", ".jsonl", ".json", ".csv", ".parquet"))
_WIKIPEDIA = "|".join(  # Wikipedia's codes of several parts, which WikiANN's files have
    code.replace("-", "[-_]")
    for code in "bat-smg be-tarask be-x-old cbk-zam fiu-vro map-bms nds-nl roa-rup roa-tara zh-classical zh-min-nan "
    "zh-yue".split()
)
_CODE = re.compile(f"simple|{_WIKIPEDIA}|[A-Za-z]{{2,3}}(?:[-_][A-Za-z0-9]{{1,8}})*")
_LANGUAGE = (  # simple, zh-classical, pt-BR, zh-Hant-TW, es-419; de, swa, eng_Latn
    f"simple|{_WIKIPEDIA}|[a-z]{{2,3}}(?:[-_][A-Z][a-z]{{3}})?[-_](?:[A-Z]{{2}}|[0-9]{{3}})|"
    "[a-z]{2,3}(?:[-_][A-Za-z]{2,8})?"
)
_SPLIT = "|".join(sorted(_SPLITS, key=len, reverse=True))
_NAMES = (  # names without suffix; the first that fits the whole of one wins
    re.compile(rf"(?P<language>[a-z]{{2,3}})(?:_[a-z0-9]+)?-ud-(?P<split>{_SPLIT})"),  # en_ewt-ud-dev
    re.compile(rf"(?P<split>{_SPLIT})[-_.](?P<language>{_LANGUAGE})"),  # train-en
    re.compile(rf"(?P<language>{_LANGUAGE})[-_.](?P<split>{_SPLIT})"),  # en_train
    re.compile(rf"multinli\.(?P<split>{_SPLIT})\.(?P<language>{_LANGUAGE})"),  # multinli.train.en
    re.compile(rf"dataset_(?P<language>{_LANGUAGE})_(?P<split>{_SPLIT})"),  # dataset_en_train
    re.compile(rf"(?:xnli\.)?(?P<split>{_SPLIT})(?:_text)?"),  # xnli.dev, val_text: the folder tells the language
)
_MLDOC = re.compile(rf"(?P<language>{'|'.join(_BY_ENGLISH_NAME)})\.(?P<split>train|dev|test)(?:\.\d+)?")  # german.dev
_AT_THE_END = re.compile(rf".+?[-_.](?P<language>{_WIKIPEDIA}|[a-z]{{2}}|[a-z]{{3}}_[A-Z][a-z]{{3}})")  # dishes-de


@dataclass(frozen=True, slots=True, order=True)
class DataFile:
    """A file with the language and split that its name and folder tell."""

    language: str
    split: str
    path: Path


def language_and_split(path: Path) -> tuple[str, str | None]:
    """Language and split of a file: by MLDoc's names, else `_NAMES`, else a language at the end, without a split.

    Args:
        path: E.g. `panx/train-en.tsv`, `sib200/eng_Latn/dev.tsv`, `en_ewt-ud-test.conllu`, `dishes-de.tsv`.

    Returns:
        Language code as the name or the folder spells it, `und` where neither does; `train`, `dev`, `test` or None.
    """
    plain = _unpacked(path)
    if match := _MLDOC.fullmatch(plain.name):
        return _BY_ENGLISH_NAME[match["language"]], match["split"]
    stem = plain.name.removesuffix(plain.suffix)
    for pattern in _NAMES:
        if match := pattern.fullmatch(stem):
            groups = match.groupdict()
            return groups.get("language") or _folder_language(path.parent.name), _SPLITS[groups["split"]]
    match = _AT_THE_END.fullmatch(stem)
    language = match["language"] if match else UNKNOWN_LANGUAGE
    return language if len(language) > 2 or language in _TWO_LETTERS else UNKNOWN_LANGUAGE, None


def language_of(path: Path) -> str:
    """The language of a file of text, which the name may be: as it is in `de.txt` and `eng_Latn.txt`.

    Returns:
        Language code as the name or the folder spells it, `und` where neither does.
    """
    language, _ = language_and_split(path)
    if language == UNKNOWN_LANGUAGE:
        plain = _unpacked(path)
        stem = plain.name.removesuffix(plain.suffix)
        language = next((x for x in map(_folder_language, (stem, path.parent.name)) if x != UNKNOWN_LANGUAGE), language)
    return language if len(language) > 2 or language in _TWO_LETTERS else UNKNOWN_LANGUAGE


def text_files(folder: Path) -> list[Path]:
    """All files of a folder, and below it, that have the suffix of a data file and are not hidden; sorted."""
    return [path for path in _shown_files(folder) if _unpacked(path).suffix in _SUFFIXES]


def find_files(folder: Path, task: str | None, split: str, languages: Iterable[str] | None = None) -> list[DataFile]:
    """The files of a split.

    Args:
        folder: XTREME's download folder, the folder of one task in it, or any of the layouts above.
        task: A task name, to choose among XTREME's folders.
        split: `train`, `dev` or `test`.
        languages: Languages wanted, in this order; default: all there are, sorted.

    Returns:
        The files, by language and then by name.

    Raises:
        DataError: There is no file of this split, or none for one of the languages.
    """
    root = _root(folder, task)
    files = sorted(
        DataFile(language, split_there, path)
        for path in _shown_files(root)
        if _is_data(path)
        for language, split_there in (language_and_split(path),)
        if split_there is not None
    )
    chosen = [file for file in files if file.split == split]
    if not chosen:
        there = ", ".join(sorted({file.split for file in files}))
        available = f"there are only {there}" if there else "there is no file like test-de.tsv or de/test.tsv"
        raise DataError(f"{root}: expected files of the split {split!r}, but {available}")
    by_language: dict[str, list[DataFile]] = {}
    for file in chosen:
        by_language.setdefault(file.language, []).append(file)
    of_mldoc = (
        [x.path.name for x in each if _MLDOC.fullmatch(_unpacked(x.path).name)] for each in by_language.values()
    )
    if several := next((names for names in of_mldoc if len(names) > 1), None):
        raise DataError(
            f"{root}: expected one {split} file for each language, but there are {', '.join(several)}, of which the "
            "larger hold the smaller; name one of them"
        )
    if languages is None:
        return chosen
    wanted = list(languages)
    if missing := [language for language in wanted if language not in by_language]:
        there = ", ".join(by_language) + as_spelled(missing, by_language)
        raise DataError(f"{root}: expected a {split} file for {', '.join(missing)}, but there are files for {there}")
    return [file for language in wanted for file in by_language[language]]


def check_language(code: str) -> None:
    """Refuse what is no code of a language; whether three letters are one is not known here.

    Raises:
        ConfigError: If it is none, such as `german` or `xx`.
    """
    if not _CODE.fullmatch(code):
        raise ConfigError(f"expected the code of a language, such as de, zh-Hant or fra_Latn, got {code!r}.")
    if len(first := re.split("[-_]", code)[0].lower()) == 2 and first not in _TWO_LETTERS | _OLD:
        raise ConfigError(
            f"expected the code of a language, such as de, but {code!r} is none of ISO 639; where none is right, leave "
            f"it out or type {UNKNOWN_LANGUAGE}."
        )


def check_language_of_name(path: Path, languages: Sequence[str]) -> None:
    """Refuse another language than name or folder tell beside the split, for a file whose items tell none themselves.

    Only codes of two letters are compared: others may be the same language (`swh_Latn`, `sw`).

    Raises:
        DataError: If so.
    """
    told, split = language_and_split(path)
    if split is None or len(told) > 2 or told in languages or any(len(language) > 2 for language in languages):
        return
    raise DataError(
        f"{path}: expected a file in {', '.join(languages)}, but its name says {told}; leave the language out, or "
        "rename the file"
    )


def other_files(folder: Path, task: str | None) -> list[str]:
    """Files that `find_files`, called with the same, takes for no split, since it knows neither name nor suffix.

    Returns:
        Their paths below the folder, sorted; without hidden files, what tells of the data (README, LICENSE, `.md`, the
        labels of SIB-200, the counts of a treebank), and label files whose texts are taken.
    """
    root = _root(folder, task)
    return sorted(
        str(path.relative_to(root))
        for path in _shown_files(root)
        if (not _is_data(path) or language_and_split(path)[1] is None)
        and path.suffix.lower() != ".md"
        and path.stem.upper() not in ("README", "LICENSE", "LICENCE", "CITATION", "CHANGELOG", "LABELS", "STATS")
        and not ("_labels" in path.name and path.with_name(path.name.replace("_labels", "_text")).exists())
    )


def _shown_files(folder: Path) -> list[Path]:
    """All files of a folder, and below it, that are not hidden; sorted."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _is_data(path: Path) -> bool:
    """Whether a file has the name of one that is read."""
    return _unpacked(path).suffix in _SUFFIXES or _MLDOC.fullmatch(_unpacked(path).name) is not None


def _unpacked(path: Path) -> Path:
    """A path without the `.gz` of a file that gzip packed."""
    return path.with_name(path.name.removesuffix(".gz")) if path.name.endswith(".gz") and path.stem else path


def _root(folder: Path, task: str | None) -> Path:
    """The folder of a task in XTREME's download, where there is one."""
    inner = folder / XTREME_FOLDERS.get(task or "", "")
    return inner if inner.is_dir() else folder


def _folder_language(name: str) -> str:
    """Language of a folder: its name where that is a code (`de`, `eng_Latn`), the code where it is English."""
    if name.lower() in _BY_ENGLISH_NAME:
        return _BY_ENGLISH_NAME[name.lower()]
    is_code = re.fullmatch(_LANGUAGE, name) is not None and name not in _NOT_LANGUAGES
    return name if is_code else UNKNOWN_LANGUAGE
