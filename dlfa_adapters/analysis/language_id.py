"""Which language a sentence is in, told from one layer alone: a linear classifier for each layer, the encoder frozen.

Wu and Dredze 2019, "Beto, Bentz, Becas", arXiv 1904.09077, their Figure 2: a bag of the states of the tokens, a linear
map and a softmax, learned as their feature-based models (Adam, 1e-3, halved where dev stands still, ended below 1e-5).
"""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from dlfa_adapters.analysis.language_id_options import LanguageIdOptions
from dlfa_adapters.analysis.language_id_report import LanguageIdReport, StateAccuracy
from dlfa_adapters.analysis.states import FUSED, Opened, sentence_states
from dlfa_adapters.data.alignment import AlignmentCounts
from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.data.text_by_language import PARTS, TextByLanguage
from dlfa_adapters.data.windows import Window
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.kinds import ClassificationAccuracy
from dlfa_adapters.learning.frozen import (
    Halving,
    HeadSpec,
    HiddenStates,
    Rate,
    TaggedStates,
    TrainedHead,
    learn_on_states,
    predict_heads,
)
from dlfa_adapters.scores.intervals import paired_differences
from dlfa_adapters.scores.resample import Scored, resample_scores
from dlfa_adapters.tasks import classification_task

DEFAULTS = LanguageIdOptions()


def identify_languages(
    model: Opened,
    text: TextByLanguage,
    options: LanguageIdOptions = DEFAULTS,
    progress: Progress = lambda stage, done, total: None,
) -> LanguageIdReport:
    """Learn to tell the language from every layer of a model and from what its fusion gives, side by side.

    Args:
        model: An encoder, or the model of a run.
        text: The text; see `text_by_language.part_of` for what is learned from, watched and tested on.
        options: How.
        progress: Called after each batch.

    Raises:
        DataError: If there are fewer than two languages, or one has too little text.
        RunError: If the model gives states that are not finite numbers.
    """
    text.check_parts()
    languages = list(text.texts)
    names, data, truncated = _with_states(model, text, options.pooling, progress)
    specs = [HeadSpec.of(name, options.seed, fusion="layer", fuse_layer=(i,)) for i, name in enumerate(names)]
    left = total = options.epochs * -(-len(data["train"].words) // options.batch_size)

    def learnt(steps: int, total: int) -> None:
        nonlocal left
        left -= steps
        progress(f"Learning ({model.name})", steps, total)

    trials = learn_on_states(
        specs,
        data["train"],
        data["dev"],
        classification_task("language-id", languages),
        Halving(options.epochs, batch_size=options.batch_size),
        rates=[[Rate(rate, 0.0) for rate in options.learning_rates]] * len(specs),
        seed=options.seed,
        on_progress=learnt,
    )
    learnt(left, total)  # which were not needed: all rates had come to their end
    heads, gold = [trial.head for trial in trials], [tag for [tag] in data["test"].tags]
    predicted = [[tag for [tag] in tags] for tags in predict_heads(heads, data["test"], languages)]
    return LanguageIdReport(
        name=model.name,
        fusion=model.fusion,
        pooling=options.pooling,
        sizes={language: {part: len(text.part(part)[language]) for part in PARTS} for language in languages},
        truncated=truncated,
        resamples=options.resamples,
        seed=options.seed,
        states=_scored(heads, gold, predicted, options),
    )


def _with_states(
    model: Opened, text: TextByLanguage, pooling: str, progress: Progress
) -> tuple[list[str], dict[str, TaggedStates], int]:
    """The names of the states, the parts of the text with a state of each kind a sentence, and how many were cut."""
    total, truncated = sum(map(len, text.texts.values())), 0
    names: list[str] = []
    data: dict[str, TaggedStates] = {}
    for part in PARTS:
        texts = [(language, each) for language, those in text.part(part).items() for each in those]
        encoded, counts = encode_texts(model.tokenizer, [each for _, each in texts], max_length=model.max_length)
        truncated += counts.n_truncated
        states = sentence_states(
            model.model,
            encoded,
            model.tokenizer.pad_token_id,
            lambda done: progress(f"Hidden states ({model.name})", done, total),
            pooling="mean" if pooling == "sum" else pooling,
        )
        names = list(states)
        kept = torch.stack([states.pop(name) for name in names], dim=1)
        if pooling == "sum":
            kept *= torch.tensor([len(each.input_ids) for each in encoded])[:, None, None]
        data[part] = _tagged([language for language, _ in texts], kept)
    return names, data, truncated


def _tagged(languages: Sequence[str], states: Tensor) -> TaggedStates:
    """Sentences as if each were a single token: its language, and its states, (sentences, states, width)."""
    number, kinds, _ = states.shape
    device = torch.device("cuda") if torch.cuda.is_available() else None
    windows = [Window(sentence, [], (0,), ((0, 1),)) for sentence in range(number)]
    kept = HiddenStates(states, list(range(number + 1)), tuple(range(kinds)), kinds - 1, device)
    return TaggedStates([[""]] * number, [[language] for language in languages], windows, AlignmentCounts(), kept)


def _scored(
    heads: Sequence[TrainedHead],
    gold: Sequence[str],
    predicted: Sequence[Sequence[str]],
    options: LanguageIdOptions,
) -> list[StateAccuracy]:
    """The accuracy of each state by language and as the mean over languages, all on the same resamples."""
    [score, *_] = ClassificationAccuracy().counted_scores()
    places: dict[str, list[int]] = {}
    for place, language in enumerate(gold):
        places.setdefault(language, []).append(place)
    counts = {
        x: [[score.counts([tags[i] for i in at], [x] * len(at)) for tags in predicted]] for x, at in places.items()
    }
    resampled = resample_scores(counts, [score], None, options.resamples, options.seed)
    by_language = {language: scored for language, [scored] in resampled.items()}
    mean = Scored.mean(list(by_language.values()))
    layers = [number for number, head in enumerate(heads) if head.spec.name != FUSED]
    others = [number for number in range(len(heads)) if number != layers[-1]]
    found = paired_differences([mean.pair(layers[-1], number) for number in others])
    against = dict(zip(others, found, strict=True))
    return [
        StateAccuracy(
            state=head.spec.name,
            accuracy=mean.estimate(number),
            languages={language: scored.estimate(number) for language, scored in by_language.items()},
            against=against.get(number),
            mixed_up=Counter((a, b) for a, b in zip(gold, predicted[number], strict=True) if a != b),
            learning_rate=head.rate.learning_rate,
            epoch=head.epoch,
            dev=head.dev_score / 100,
            at_end=head.is_halved_out,
        )
        for number, head in enumerate(heads)
    ]
