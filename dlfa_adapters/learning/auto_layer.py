"""`fuse_layer="auto"`: choosing the layer without target labels, before a training begins."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dlfa_adapters.data.pairs import encode_texts
from dlfa_adapters.data.readers import read_pairs, read_text
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.encoders.compute import parallel_cosine, sentence_means
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.ground.errors import ConfigError, DataError
from dlfa_adapters.ground.folders import draft_beside
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.examples import Examples
from dlfa_adapters.learning.dataset import make_examples
from dlfa_adapters.learning.features import all_rates, spec_of
from dlfa_adapters.learning.frozen import Linear, learn_on_states, with_states
from dlfa_adapters.learning.frozen.stacks import all_layers
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.learning.sources import mixed
from dlfa_adapters.tasks import Task
from dlfa_adapters.tasks.head_options import takes_layers
from dlfa_adapters.tuning.encoder import FEATURE_RATES

AUTO = "auto"
MOST_ITEMS = {"train": 4000, "dev": 1000}
"""How much of the data the quick sweep looks at."""

EPOCHS, LEAST_STEPS, MOST_TEXTS = 3, 100, 1000


@dataclass(frozen=True)
class LayerChoice:
    """Which layer was chosen, and why.

    Attributes:
        layer: The layer.
        why: A sentence.
        scores: What was compared, by layer.
    """

    layer: int
    why: str
    scores: dict[int, float]

    def to_dict(self) -> dict[str, Any]:
        """For a JSON file, whose keys are strings."""
        return {**asdict(self), "scores": {str(layer): round(score, 4) for layer, score in self.scores.items()}}

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "LayerChoice":
        """What `to_dict` has written down."""
        return cls(told["layer"], told["why"], {int(layer): score for layer, score in told["scores"].items()})


def choose_layer(
    encoder: Encoder,
    task: Task,
    train: Any,
    dev: Any | None,
    settings: Settings,
    out: Path,
    progress: Progress,
    centring: Centring | None = None,
    read: Mapping[str, Any] = MappingProxyType({}),
    named: Sequence[str] = (),
) -> LayerChoice:
    """Choose the fuse layer, among 1..L-1.

    - With parallel text: the layer in which sentences and their translations are most alike, by the mean cosine that
      the paper reports (Chen et al. 2022, arXiv 2205.08497, Table VI). No labels are looked at.
    - With text in a target language alone: the layer in which its mean state is most alike to that of the training
      sentences, again by the cosine.
    - Otherwise: the layer with the best score on source dev after a short training of one head for each layer on the
      states of the frozen encoder, each at the learning rate that is best for it there.

    Args:
        encoder: The encoder, as it is before training.
        task: The task.
        train: Training data, a dataset with the columns of `load_source`.
        dev: Source dev data, likewise.
        settings: Resolved ones; `fuse_layer` is not looked at.
        out: The run folder that will be; hidden states are cached beside it while the layer is chosen.
        progress: Called after each step.
        centring: What is taken off the states that heads learn on; None: nothing. Cosines are of states as they are.
        read: What else they read, see `Kind.completed`.
        named: The source languages that are named; of several, training data are drawn as in the training.

    Raises:
        ConfigError: If nothing can be chosen: the fusion takes no layer, there is one block, no dev data, or a head of
            such a task is not learned on states.
        DataError: If the parallel text cannot be read.
    """
    last = encoder.model.config.num_hidden_layers
    if not takes_layers(settings.head.fusion) or last < 2:
        raise ConfigError(
            f"--fuse-layer auto chooses a layer below the last one, and fusion {settings.head.fusion!r} of an encoder "
            f"with {last} layers takes none; leave it out."
        )
    if settings.text.parallel is not None or settings.text.target_text is not None:
        return _by_cosine(encoder, train, settings, range(1, last), progress)
    if dev is None:
        raise ConfigError("--fuse-layer auto chooses by dev data or text; name some with --dev or --parallel.")
    if not (kind := kind_of_task(task)).learns_on_states:
        raise ConfigError(
            f"--fuse-layer auto tries no heads for {kind.name} tasks; name text with --parallel or --target-text, or a "
            "layer."
        )
    data = {
        name: make_examples(task, rows.select(first_of_each(rows["language"], MOST_ITEMS[name])), encoder.tokenizer,
                            settings, read)
        for name, rows in (("train", train.shuffle(seed=settings.steps.seed)), ("dev", dev))
    }  # fmt: skip
    mixed(data["train"], named, settings.steps)
    return _by_dev(encoder, data, settings, range(1, last), out, progress, centring)


def first_of_each(languages: Sequence[str], most: int) -> list[int]:
    """The first items of each language, as many of one as of another while there are some, `most` in all."""
    number, seen = [], Counter[str]()
    for language in languages:
        number.append(seen[language])
        seen[language] += 1
    return sorted(sorted(range(len(number)), key=number.__getitem__)[:most])


def _by_dev(
    encoder: Encoder,
    data: dict[str, Examples],
    settings: Settings,
    layers: range,
    out: Path,
    progress: Progress,
    centring: Centring | None,
) -> LayerChoice:
    task, model = data["dev"].task, encoder.model
    specs = [spec_of(settings, f"D_{layer}", (layer,), kind_of_task(task)) for layer in layers]
    needed, device = all_layers(specs, model.config.num_hidden_layers), model.device
    rates = kind_of_task(task).rates_on_states or FEATURE_RATES
    epochs = max(EPOCHS, -(-LEAST_STEPS // -(-data["train"].epoch_rows // settings.steps.batch_size)))
    with draft_beside(out) as folder:
        stage = "Choosing the layer: hidden states"
        states = with_states(
            model, data, needed, encoder.tokenizer.pad_token_id, folder, progress, stage=stage, centring=centring
        )
        trials = learn_on_states(
            specs,
            states["train"],
            states["dev"],
            task,
            Linear(epochs, batch_size=settings.steps.batch_size),
            rates=[all_rates(rates, settings.steps.weight_decay)] * len(specs),
            seed=settings.steps.seed,
            on_progress=lambda done, total: progress("Choosing the layer: a head for each", done, total),
        )
    model.to(device)
    by_layer = {layer: trial.head for layer, trial in zip(layers, trials, strict=True)}
    scores = {layer: head.dev_score for layer, head in by_layer.items()}
    how = f"after {epochs} epochs on {len(data['train'].gold):,} items with the encoder frozen"
    if max(scores.values()) == 0:
        last = layers[-1] + 1
        layer = min(task.default_fuse_layer(last) or max(1, round(8 * last / 12)), layers[-1])
        return LayerChoice(
            layer, f"Layer {layer} is the default: no layer has a source dev score above 0 {how}.", scores
        )
    best = max(by_layer, key=lambda layer: by_layer[layer].quality)
    why = (
        f"Layer {best} has the best source dev score, {scores[best]:.1f}, of {settings.head.fusion} heads for layers "
        f"{layers[0]} to {layers[-1]} {how}, each at the learning rate that is best for it."
    )
    if equal := [str(layer) for layer in layers if layer != best and scores[layer] == scores[best]]:
        why += f" Layers with the same score: {', '.join(equal)}; the lower loss on dev decided, which says little."
    return LayerChoice(best, why, scores)


def _by_cosine(encoder: Encoder, train: Any, settings: Settings, layers: range, progress: Progress) -> LayerChoice:
    parallel = settings.text.parallel is not None
    first, second = _pairs(settings) if parallel else (_training_texts(train), _lines(settings))
    total = len(first) + len(second)
    means = [
        sentence_means(
            encoder.model,
            encode_texts(encoder.tokenizer, texts, max_length=settings.text.max_length)[0],
            encoder.tokenizer.pad_token_id,
            layers,
            lambda done: progress("Choosing the layer: states of the text", done, total),
        )
        for texts in (first, second)
    ]
    if not parallel:
        means = [of_sentences.mean(1, keepdim=True) for of_sentences in means]
    scores = dict(zip(layers, parallel_cosine(*means).tolist(), strict=True))
    best = max(scores, key=scores.__getitem__)
    between = (
        f"mean cosine, {scores[best]:.3f}, between {len(first)} sentences and their translations in "
        f"{settings.text.parallel}"
        if parallel
        else f"cosine, {scores[best]:.3f}, between the mean state of {len(first)} training items and that of "
        f"{len(second)} lines of {settings.text.target_text}"
    )
    why = f"Layer {best} has the highest {between}, of layers {layers[0]} to {layers[-1]}."
    return LayerChoice(best, why, scores)


def _pairs(settings: Settings) -> tuple[list[str], list[str]]:
    """Sentences and their translations."""
    items = [item for item in read_pairs(str(settings.text.parallel)).items if item.text.strip()][:MOST_TEXTS]
    if not items:
        raise DataError(
            f"{settings.text.parallel}: expected lines of a sentence, a TAB and its translation; there are none"
        )
    return [item.text for item in items], [item.text_pair or "" for item in items]


def _lines(settings: Settings) -> list[str]:
    """Lines of text in a target language."""
    items = read_text(str(settings.text.target_text)).items[:MOST_TEXTS]
    if not items:
        raise DataError(f"{settings.text.target_text}: expected lines of text; there are none")
    return [item.text for item in items]


def _training_texts(train: Any) -> list[str]:
    """Sentences of the training data, and the first texts of pairs."""
    rows = train.select(range(min(len(train), MOST_TEXTS)))
    return [" ".join(words) for words in rows["words"]] if "words" in rows.column_names else list(rows["text"])
