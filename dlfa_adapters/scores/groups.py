"""Which languages are averaged together."""

from collections.abc import Sequence
from dataclasses import dataclass

from dlfa_adapters.data.layout import UNKNOWN_LANGUAGE
from dlfa_adapters.scores.families import family_of, main_code

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
    found = [
        Group("targets", f"targets (without {named})", tuple(x for x in languages if code[x] not in sources)),
        Group("all", f"all (with {named})", tuple(languages) if sources & set(code.values()) else ()),
    ]
    known = [language for language in languages if language != UNKNOWN_LANGUAGE]
    if len(known) > 1:
        found += _split(known, code, sources, source_languages, task)
    return [group for group in found if group.languages]


def _split(
    languages: Sequence[str], code: dict[str, str], sources: set[str], source_languages: Sequence[str], task: str | None
) -> list[Group]:
    """Those of the source's family and the others, as the paper has them and by the table of families."""
    found = []
    if sources == {"en"} and task in PAPER_TASKS:
        others = tuple(x for x in languages if code[x] not in PAPER_ENF)
        found += [
            Group("enf_paper", "enf of the paper (en, de)", tuple(x for x in languages if code[x] in PAPER_ENF)),
            Group("noenf_paper", "noenf of the paper (others)", others),
        ]
    own = {family[0] for language in source_languages if (family := family_of(language))}
    if own:
        families = {language: family[0] for language in languages if (family := family_of(language))}
        title = " and ".join(sorted(own))
        found += [
            Group("enf_family", title, tuple(x for x, family in families.items() if family in own)),
            Group("noenf_family", "other families", tuple(x for x, family in families.items() if family not in own)),
        ]
    return found
