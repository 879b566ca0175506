"""Which languages are averaged together, and which family a language is of.

The families are those of Glottolog (glottolog.org) on its top level, the branches common subgroups below it. The table
holds every language of XTREME, of the samples, and of the usual multilingual data sets; it was written from general
knowledge and not copied from a database. A creole stands, as in Glottolog, with the language that its words are from,
and a language without relatives is a family of its own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.ground.errors import ConfigError

PAPER_ENF = ("en", "de")
"""The languages that the DLFA paper (arXiv 2205.08497) counts as the family of English."""
PAPER_TASKS = ("xnli", "pawsx")
"""The tasks for which it splits languages so (Table III)."""


@dataclass(frozen=True)
class Group:
    """Languages whose scores are averaged.

    Attributes:
        name: `targets`, `all`, `enf_paper`, `noenf_paper`, `enf_family` or `noenf_family`.
        title: What it is called in a table.
        languages: The languages.
    """

    name: str
    title: str
    languages: tuple[str, ...]


def groups(languages: Sequence[str], source_languages: Sequence[str], task: str | None = None) -> list[Group]:
    """The groups of a report; one that would have no language is left out.

    - `targets` are all but the source languages, `all` is with them.
    - `enf_paper` and `noenf_paper` are English and German and the rest, where the source is English and the task XNLI
      or PAWS-X: the two groups of the DLFA paper, which has them for these two alone.
    - `enf_family` and `noenf_family` are the languages of the source's family, the source among them as in the paper,
      and those of other families; a language that is not in the table is in neither.

    A language that is not known (`und`) belongs to no family, and a single language is not split.

    Args:
        languages: The languages evaluated.
        source_languages: The languages trained on; none if they are not known, and then there is only `all`.
        task: Name of the task.
    """
    sources = {main_code(language) for language in source_languages}
    code = {language: main_code(language) for language in languages}
    if not sources:
        return [Group("all", "all languages", tuple(languages))]
    named = ", ".join(source_languages)
    candidates = [
        Group("targets", f"targets (without {named})", tuple(x for x in languages if code[x] not in sources)),
        Group("all", f"all (with {named})", tuple(languages) if sources & set(code.values()) else ()),
    ]
    known = [language for language in languages if language != UNKNOWN_LANGUAGE]
    if len(known) > 1:
        candidates += _split(known, code, sources, source_languages, task)
    return [group for group in candidates if group.languages]


def _split(
    languages: Sequence[str], code: dict[str, str], sources: set[str], source_languages: Sequence[str], task: str | None
) -> list[Group]:
    """Those of the source's family and the others, as the paper has them and by the table of families."""
    split = []
    if sources == {"en"} and task in PAPER_TASKS:
        others = tuple(x for x in languages if code[x] not in PAPER_ENF)
        split += [
            Group("enf_paper", "enf of the paper (en, de)", tuple(x for x in languages if code[x] in PAPER_ENF)),
            Group("noenf_paper", "noenf of the paper (others)", others),
        ]
    own = {family[0] for language in source_languages if (family := family_of(language))}
    if own:
        families = {language: family[0] for language in languages if (family := family_of(language))}
        title = " and ".join(sorted(own))
        split += [
            Group("enf_family", title, tuple(x for x, family in families.items() if family in own)),
            Group("noenf_family", "other families", tuple(x for x, family in families.items() if family not in own)),
        ]
    return split


# Family, branch, languages: the ISO 639-1 code first where there is one, other codes of the same language behind it.
_TABLE = (
    ("Indo-European", "Germanic", "af/afr da/dan de/deu en/eng is/isl lb/ltz nl/nld nb/nob/no/nor nn/nno pcm sv/swe"),
    ("Indo-European", "Romance", "ca/cat es/spa fr/fra gl/glg it/ita oc/oci pt/por ro/ron"),
    ("Indo-European", "Slavic", "be/bel bg/bul bs/bos cs/ces hr/hrv mk/mkd pl/pol ru/rus sk/slk sl/slv sr/srp uk/ukr"),
    ("Indo-European", "Baltic", "lt/lit lv/lav/lvs"),
    ("Indo-European", "Celtic", "br/bre cy/cym ga/gle gd/gla"),
    ("Indo-European", "Greek", "el/ell"),
    ("Indo-European", "Albanian", "sq/sqi/als"),
    ("Indo-European", "Armenian", "hy/hye"),
    ("Indo-European", "Indo-Aryan", "as/asm bn/ben gu/guj hi/hin mr/mar ne/nep/npi or/ori/ory"),
    ("Indo-European", "Indo-Aryan", "pa/pan sd/snd si/sin ur/urd"),
    ("Indo-European", "Iranian", "fa/fas/pes ku/kur/kmr ps/pus/pbt tg/tgk"),
    ("Afro-Asiatic", "Semitic", "am/amh ar/ara/arb he/heb mt/mlt ti/tir"),
    ("Afro-Asiatic", "Chadic", "ha/hau"),
    ("Afro-Asiatic", "Cushitic", "om/orm/gaz so/som"),
    ("Atlantic-Congo", "Bantu", "lg/lug ln/lin ny/nya rn/run rw/kin sn/sna st/sot sw/swa/swh"),
    ("Atlantic-Congo", "Bantu", "tn/tsn ts/tso xh/xho zu/zul"),
    ("Atlantic-Congo", "Grassfields", "bbj"),
    ("Atlantic-Congo", "Gur", "mos"),
    ("Atlantic-Congo", "Kwa", "ee/ewe fon tw/twi"),
    ("Atlantic-Congo", "North-Central Atlantic", "wo/wol"),
    ("Atlantic-Congo", "Igboid", "ig/ibo"),
    ("Atlantic-Congo", "Yoruboid", "yo/yor"),
    ("Austroasiatic", "Khmeric", "km/khm"),
    ("Austroasiatic", "Vietic", "vi/vie"),
    ("Austronesian", "Malayo-Polynesian", "ceb id/ind jv/jav mg/mlg/plt mi/mri ms/msa/zsm su/sun tl/tgl/fil"),
    ("Basque", "Basque", "eu/eus"),
    ("Dravidian", "South Dravidian", "kn/kan ml/mal ta/tam"),
    ("Dravidian", "South-Central Dravidian", "te/tel"),
    ("Japonic", "Japanesic", "ja/jpn"),
    ("Kartvelian", "Georgian-Zan", "ka/kat"),
    ("Koreanic", "Koreanic", "ko/kor"),
    ("Mande", "Western Mande", "bm/bam"),
    ("Mongolic-Khitan", "Mongolic", "mn/mon/khk"),
    ("Nilotic", "Western Nilotic", "luo"),
    ("Quechuan", "Quechuan", "qu/que/quy/quz"),
    ("Sino-Tibetan", "Burmo-Qiangic", "my/mya"),
    ("Sino-Tibetan", "Sinitic", "yue zh/zho/cmn"),
    ("Tai-Kadai", "Tai", "lo/lao th/tha"),
    ("Turkic", "Karluk", "ug/uig uz/uzb/uzn"),
    ("Turkic", "Kipchak", "kk/kaz ky/kir tt/tat"),
    ("Turkic", "Oghuz", "az/aze/azj tk/tuk tr/tur"),
    ("Uralic", "Finnic", "et/est/ekk fi/fin"),
    ("Uralic", "Hungarian", "hu/hun"),
)
_MAIN_CODE: dict[str, str] = {}
_FAMILY: dict[str, tuple[str, str]] = {}
for _family, _branch, _languages in _TABLE:
    for _codes in _languages.split():
        _first, *_others = _codes.split("/")
        _FAMILY[_first] = (_family, _branch)
        _MAIN_CODE.update(dict.fromkeys((_first, *_others), _first))

_SCRIPT_OR_REGION = re.compile("[a-z]{4}|[a-z]{2}|[0-9]{3}")


def main_code(language: str) -> str:
    """The code under which spellings of one language meet: `en` for `eng`, `eng_Latn` and `en-US`.

    Script and region are left out; other parts are not, since `zh-min-nan` is another language than `zh`.
    """
    first, rest = _parts(language)
    return "-".join([_MAIN_CODE.get(first, first), *(part for part in rest if not _SCRIPT_OR_REGION.fullmatch(part))])


def _parts(language: str) -> tuple[str, list[str]]:
    first, *rest = re.split("[-_]", language.strip().lower())
    return first, rest


def check_each_once(languages: Iterable[str], where: str) -> None:
    """Refuse two spellings of one language, such as `en` and `eng`; two scripts or regions of one are no such.

    Args:
        languages: Codes.
        where: Who names them, such as `--train`.

    Raises:
        ConfigError: Naming both.
    """
    before: dict[str, dict[frozenset[str], str]] = {}
    for language in languages:
        own = frozenset(part for part in _parts(language)[1] if _SCRIPT_OR_REGION.fullmatch(part))
        spellings = before.setdefault(main_code(language), {})
        if other := next(
            (spelling for parts, spelling in spellings.items() if not (own and parts) or own == parts), None
        ):
            raise ConfigError(
                f"{where} names one language twice, as {other} and {language}; name it once, or where they are two "
                "scripts or regions of it, write that of both, such as zh_Hans and zh_Hant."
            )
        spellings[own] = language


def family_of(language: str) -> tuple[str, str] | None:
    """Family and branch, e.g. `("Indo-European", "Germanic")`; None for a language that is not in the table."""
    return _FAMILY.get(main_code(language).split("-")[0])
