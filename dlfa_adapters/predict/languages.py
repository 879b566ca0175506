"""Which language a model reads: told to it, with the adapter of that language put in place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.predict.load import check_has_language, source_adapter
from dlfa_adapters.runs import Run

if TYPE_CHECKING:
    from dlfa_adapters.kinds.encoded import Predictor


class LanguageSwitch:
    """Tells a model the language of what it reads, and puts that one's adapter in place; the source's, without one.

    Args:
        model: A tagger or classifier.
        adapters: Language to folder. All are loaded at once, so that one that does not fit is refused at the start.

    Raises:
        ConfigError: If one does not fit.
    """

    def __init__(self, model: "Predictor", adapters: Mapping[str, str | Path]) -> None:
        self.model, self.source = model, model.model.language_adapter if adapters else None
        self.names = {language: model.model.load_language_adapter(folder) for language, folder in adapters.items()}

    def __call__(self, language: str) -> None:
        """Put the adapter of a language in place, if any language has one."""
        self.model.language = language
        if self.source is not None:
            self.model.use_language(self.names.get(language, self.source))


def describe_adapters(run: Run, adapters: Mapping[str, str | Path], languages: Sequence[str]) -> dict[str, Any]:
    """Check that adapters are for languages of the data and for a run that can use them, and say which are used.

    Returns:
        For a report, under `language_adapters`: the name of the `source`'s, and for each language that is `given` its
        own the `location` and what the adapter calls its `language` (a related one may do). Nothing for other runs.

    Raises:
        ConfigError: If an adapter is for no language of the data, or the run was not trained over one.
    """
    from dlfa_adapters.heads.language import UNCHECKED, read_record

    if adapters:
        check_has_language(run)
    if absent := [language for language in adapters if language not in languages]:
        raise ConfigError(
            f"There is a language adapter for {', '.join(absent)}, but the data are in {', '.join(languages)}; name "
            "languages as the data spell them."
        )
    given = {}
    for language, location in adapters.items():
        record = read_record(str(location).removeprefix(UNCHECKED))
        given[language] = {"location": str(location), "language": record["language"] if record else None}
    source = source_adapter(run)
    return {"language_adapters": {"source": source, "given": given}} if source else {}
