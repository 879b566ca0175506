"""`dlfa analyze words`."""

from pathlib import Path
from typing import Annotated

import typer

from dlfa_cli.analyze.models import EncoderToo, Runs, read_models
from dlfa_cli.options import RESAMPLES, AsJson, BootstrapSeed, Resamples

WORD2VEC = "word2vec"


def words(
    runs: Runs = None,
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            "--dictionary", "-d", metavar="[en-de=]FILE", help="A word, TAB or blank, its translation a line."
        ),
    ] = None,
    model: EncoderToo = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="LANGUAGE=FILE", help="Text in which words have contexts; for every language."),
    ] = None,
    contexts: Annotated[int | None, typer.Option(min=1, help="Take the first N contexts of a word.")] = None,
    vectors: Annotated[
        list[str] | None,
        typer.Option(metavar="LANGUAGE=FILE", help="Word vectors as text: fastText, word2vec, GloVe; every language."),
    ] = None,
    training: Annotated[
        list[str] | None,
        typer.Option("--train-dictionary", metavar="[en-de=]FILE", help="Learn a linear map on this one."),
    ] = None,
    at: Annotated[list[int] | None, typer.Option(min=1, help="k of precision@k: 1, 5 and 10.")] = None,
    neighbours: Annotated[int, typer.Option(min=1, help="Nearest ones that CSLS takes the mean of.")] = 10,
    word2vec: Annotated[
        bool, typer.Option("--word2vec", help="Train word2vec on the text.", rich_help_panel=WORD2VEC)
    ] = False,
    size: Annotated[int, typer.Option(min=2, help="Width of its vectors.", rich_help_panel=WORD2VEC)] = 300,
    window: Annotated[int, typer.Option(min=1, help="Words on each side.", rich_help_panel=WORD2VEC)] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the text.", rich_help_panel=WORD2VEC)] = 10,
    min_count: Annotated[int, typer.Option(min=1, help="Rarer words have no vector.", rich_help_panel=WORD2VEC)] = 1,
    resamples: Resamples = RESAMPLES,
    seed: BootstrapSeed = 0,
    as_json: AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the MRR by layer into this .svg, .png or .pdf.")] = None,
) -> None:
    """At which rank the translation of a word stands among those of a dictionary, by layer.

    Words alone and, with text, in context; beside them static vectors, from files or of word2vec trained on the same
    text. By cosine and by CSLS, of the vectors as they are, with the mean of their language taken off and, with a
    training dictionary, mapped. All kinds of vectors are measured on the pairs that all of them have. Examples:

    `dlfa analyze words --model offline --dictionary en-de.txt`

    `dlfa analyze words --model offline -d en-de.txt --text en=en.txt --text de=de.txt --word2vec --plot words.svg`

    `dlfa analyze words -d en-de.txt --vectors en=en.vec --vectors de=de.vec --train-dictionary en-de.train.txt`
    """
    from dlfa_adapters.data.dictionary import by_language, check_languages, read_dictionary
    from dlfa_adapters.data.places import check_there
    from dlfa_adapters.ground.errors import ConfigError
    from dlfa_cli.options import file_by_language
    from dlfa_cli.screen import loading, progress_bars, show_json, show_tables

    if not dictionary:
        raise ConfigError("Words and their translations are needed; add --dictionary FILE, such as en-de.txt of MUSE.")
    texts, files = file_by_language(text, "--text"), file_by_language(vectors, "--vectors")
    if not runs and model is None and not files and not word2vec:
        raise ConfigError("Name what is to be looked at: run folders, --model offline, --vectors or --word2vec.")
    asked, lessons = [read_dictionary(each) for each in dictionary], [read_dictionary(each) for each in training or ()]
    needed = by_language([*asked, *lessons])
    check_languages(needed, texts, files)
    for file in (*texts.values(), *files.values()):
        check_there(file)
    read = read_models(runs, model, plot)
    with loading() as screen:
        from dlfa_adapters.analysis.retrieval.linear_map import check_static
        from dlfa_adapters.analysis.retrieval.show import plot_retrieval, retrieval_tables
        from dlfa_adapters.analysis.retrieval.systems import word_systems
        from dlfa_adapters.analysis.retrieval.word2vec import Word2VecOptions
        from dlfa_adapters.analysis.retrieval.word_report import AT, coverage_table, word_notes, word_results
        from dlfa_adapters.analysis.retrieval.words import measure_words
        from dlfa_adapters.analysis.states import open_all

    if word2vec or lessons:
        check_static()
    options = Word2VecOptions(size=size, window=window, epochs=epochs, min_count=min_count) if word2vec else None
    with progress_bars(screen) as progress:
        systems = word_systems(
            needed,
            models=open_all(model, read),
            texts=texts,
            contexts=contexts,
            vectors=files,
            word2vec=options,
            progress=progress,
        )
        found = measure_words(
            systems, asked, lessons, at=at or AT, neighbours=neighbours, resamples=resamples, seed=seed
        )
    results = word_results(found, at or AT)
    if plot is not None:
        plot_retrieval(results, plot)
    if as_json:
        record = {**results.to_dict(), "coverage": found.to_dict()}
        show_json(record)
    else:
        show_tables([*retrieval_tables(results), coverage_table(found)], word_notes(results, found))
