"""Which languages are averaged together, and which family a language is of.

The families are those of Glottolog (glottolog.org) on its top level, the branches common subgroups below it. The table
holds every language of XTREME, of the samples, and of the usual multilingual data sets; it was written from general
knowledge and not copied from a database. A creole stands, as in Glottolog, with the language that its words are from,
and a language without relatives is a family of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dlfa_adapters.data.languages import FAMILY, SCRIPT_OR_REGION, main_code, parts_of
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
        own = frozenset(part for part in parts_of(language)[1] if SCRIPT_OR_REGION.fullmatch(part))
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
    return FAMILY.get(main_code(language).split("-")[0])
