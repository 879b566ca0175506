"""Spellings of languages, and the family that each is of; what the table holds: see `scores.groups`.

What is a code of a language at all is checked elsewhere: `data.layout.check_language`.
"""

import re
from collections.abc import Iterable

# Family, branch, languages: the ISO 639-1 code first where there is one, other codes of the same language behind it.
FAMILIES = (
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
FAMILY: dict[str, tuple[str, str]] = {}
for _family, _branch, _languages in FAMILIES:
    for _codes in _languages.split():
        _first, *_others = _codes.split("/")
        FAMILY[_first] = (_family, _branch)
        _MAIN_CODE.update(dict.fromkeys((_first, *_others), _first))

SCRIPT_OR_REGION = re.compile("[a-z]{4}|[a-z]{2}|[0-9]{3}")


def main_code(language: str) -> str:
    """The code under which spellings of one language meet: `en` for `eng`, `eng_Latn` and `en-US`.

    Script and region are left out; other parts are not, since `zh-min-nan` is another language than `zh`.
    """
    first, rest = parts_of(language)
    return "-".join([_MAIN_CODE.get(first, first), *(part for part in rest if not SCRIPT_OR_REGION.fullmatch(part))])


def parts_of(language: str) -> tuple[str, list[str]]:
    """The first part of a code, and the others."""
    first, *rest = re.split("[-_]", language.strip().lower())
    return first, rest


def as_spelled(missing: Iterable[str], there: Iterable[str]) -> str:
    """What to type for languages that are there under another spelling, for the end of a sentence; or nothing."""
    spelled = {main_code(language): language for language in reversed(list(there))}
    known = [f"{spelled[code]} for {language}" for language in missing if (code := main_code(language)) in spelled]
    return f"; type {', '.join(known)}, as the data spell it" if known else ""
