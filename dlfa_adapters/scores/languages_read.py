"""How a model read each language, for the notes of a report: with which adapter, without its mean, how far shifted."""

from collections.abc import Iterator

from dlfa_adapters.scores.report import Report


def adapter_notes(report: Report) -> Iterator[str]:
    """With which language adapters a stack was read."""
    adapters = report.about.get("run", {}).get("language_adapters")
    if not adapters:
        return
    own = [
        f"{language} with {its['location']}" + (f" (of {its['language']})" if its["language"] else "")
        for language, its in adapters["given"].items()
    ]
    if rest := [row.language for row in report.table.languages if row.language not in adapters["given"]]:
        own.append(f"{', '.join(rest)} with the one of the source, {adapters['source']}")
    yield f"Language adapters: {'; '.join(own)}."


def centre_notes(report: Report) -> Iterator[str]:
    """In which layers every language was centred."""
    if center := report.about.get("run", {}).get("center"):
        yield (
            f"Every language was centred in layers {', '.join(map(str, center['layers']))}, in training and here: "
            f"its mean, of {center['means']}, was taken off what the head reads."
        )


def shift_notes(report: Report) -> Iterator[str]:
    """How far each language was shifted, and whether labels in it were used for that."""
    shift = report.about.get("run", {}).get("shift")
    if not shift:
        return
    alphas = dict.fromkeys(shift["alphas"].values())
    each = ", ".join(f"{language} {alpha:g}" for language, alpha in shift["alphas"].items())
    yield (
        f"The states of layer {shift['layer']} were moved towards {shift['towards']} by alpha times the difference of "
        f"the means in {shift['means']}; alpha: "
        f"{f'{next(iter(alphas)):g} in all languages' if len(alphas) == 1 else each or 'of no language'}."
    )
    picked = shift["picked"]
    if picked in ("text", "parallel"):
        what = {
            "text": "the mean state of its text, as the head reads it, is nearest to that of",
            "parallel": "translations, as the head reads them, are nearest to their sentences in",
        }[picked]
        yield f"alpha is the one at which {what} {shift['towards']}, by the cosine; no labels were looked at."
    elif picked:
        yield (
            f"alpha is the one that scores best on labelled {picked} data of each language (the way of Liu et al. "
            "2020): labels in the target languages were used, so this is no zero-shot transfer."
        )
