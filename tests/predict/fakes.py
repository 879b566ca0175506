"""Models that are not learned, so that every score is known beforehand."""

from dlfa_adapters.data.sources import load_source
from dlfa_adapters.predict import Predictions
from dlfa_adapters.predict.items import items_by_language
from dlfa_adapters.predict.run import predict
from dlfa_adapters.tasks import NER


class FakeTagger:
    """Says what `answer` says for each sentence of words; or, given gold data, the gold."""

    def __init__(self, answer, labels=NER.labels, counts=None):
        self.says, self.labels, self.counts = answer, list(labels), counts

    def answer(self, sentences, on_progress=None):
        if on_progress is not None:
            on_progress(2 * len(sentences) + 1)  # more windows than sentences
        return [self.says(words) for words in sentences], self.counts


class FakeClassifier:
    def __init__(self, answer, labels, counts=None):
        self.says, self.labels, self.counts = answer, list(labels), counts

    def answer(self, texts, on_progress=None):
        return [self.says(*pair) for pair in texts], self.counts


def oracle(data, first=None):
    """Gold tags; of the words behind the first few, O."""
    known = {tuple(row["words"]): list(row["tags"]) for row in data}

    def answer(words):
        tags = known[tuple(words)]
        cut = len(tags) if first is None else first
        return tags[:cut] + ["O"] * len(tags[cut:])

    return answer


def ask(model, data, task=NER, *, sources=("en",), limit=None, name="model", **options):
    """Predictions of a fake on rows of data."""
    loaded = load_source(data, task, **options)
    items, without_words = items_by_language(loaded, limit)
    dropped = {**loaded.dropped, **({"no_words": without_words} if without_words else {})}
    about = {"data": {"source": "rows", "split": "test", "limit": limit, "dropped": dropped, "warnings": []}}
    return Predictions(
        name=name, task=task, source_languages=list(sources), languages=predict(model, items), about=about
    )


def tagged(language, *sentences):
    """Rows of data from strings such as `Anna/B-PER met/O`."""
    rows = []
    for sentence in sentences:
        pairs = [word.rsplit("/", 1) for word in sentence.split()]
        rows.append({"language": language, "words": [w for w, _ in pairs], "tags": [t for _, t in pairs]})
    return rows
