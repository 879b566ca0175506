"""`adapt_encoder`: unlabelled text in, an encoder that knows its domain out. `dlfa adapt` is the same when typed."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dlfa_adapters.data.places import Reading
from dlfa_adapters.encoders import fingerprint, load_encoder
from dlfa_adapters.encoders.adapted import RECORD, read_adapted
from dlfa_adapters.ground.environment import Progress, is_main, wait_for_everyone
from dlfa_adapters.ground.errors import RunError
from dlfa_adapters.heads.decoder import pretrained_decoder, save_decoder
from dlfa_adapters.heads.language import RECORD as ADAPTER_RECORD
from dlfa_adapters.heads.language import read_record
from dlfa_adapters.learning.adapt.data import mask_domain
from dlfa_adapters.learning.adapt.options import AdaptOptions, check_adaptation
from dlfa_adapters.learning.adapt.plan import Adapted, AdaptPlan
from dlfa_adapters.learning.adapt.text import read_unlabelled
from dlfa_adapters.learning.cut import fit_length, length_asked
from dlfa_adapters.learning.dataset import Sources, source_as_text
from dlfa_adapters.learning.finish import masked_training
from dlfa_adapters.learning.language import as_options, masked_settings
from dlfa_adapters.learning.language.loop import DECODER, EncoderTrainer, LanguageTrainer, learn_masked, put_decoder
from dlfa_adapters.learning.language.text import LEAST
from dlfa_adapters.learning.plan_words import announce
from dlfa_adapters.runs.lifecycle import Training, request_left
from dlfa_adapters.tuning import parameter_report
from dlfa_adapters.tuning.adaptation import NEW_DECODER_RATE, Adaptation
from dlfa_adapters.tuning.bottleneck import LanguageTuning
from dlfa_adapters.tuning.saving import save_encoder

logger = logging.getLogger(__name__)

_ADAPTER_NAME = "domain"


def adapt_encoder(
    source: Sources,
    *,
    task: str | None = None,
    model: str = "offline",
    out: str | Path | None = None,
    resume: bool = False,
    then: Mapping[str, Any] | None = None,
    on_start: Callable[[AdaptPlan], None] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Adapted:
    """Go on training an encoder by masked language modelling on the unlabelled text of a domain, in all its languages.

    Labels are not looked at: data with others, or with none, give the same weights. The decoder is the checkpoint's own
    where it has one; otherwise it is a new one over the encoder's input embeddings, which learns too. Killed and called
    again with `resume=True`, it ends with the weights that it would have had.

    Args:
        source: A file, a folder, `hub:NAME`, `samples:NAME`; or by language a file for each.
        task: Name of the task that the data are of; it finds them in a folder with several.
        model: `offline`, a folder, or a name on the hub.
        out: The folder; `adapted/TASK` by default, or `adapted/domain`. An earlier one there is replaced.
        resume: Go on with the adaptation of `out` that was cut short.
        then: Kept with the request, for whoever resumes: what the encoder is wanted for.
        on_start: Called before the first step.
        progress: Called after each step.
        **options: Fields of `AdaptOptions`, e.g. `whole_words=True`, and of `Settings` those that a language adapter's
            training has, e.g. `max_length=128`; and `format`, `word_column`, `tag_column`, how files are read.

    Returns:
        The folder, with perplexity on held-out text of each language before and after. It is the name of an encoder:
        `train("ner", model="adapted/ner")`; with `learns="adapter"` that of an adapter: `tuning="stack:adapted/ner"`.

    Raises:
        ConfigError: If an option has a value that cannot work.
        DataError: If the text cannot be read, or is too little.
        RunError: If the training diverges, or there is nothing to resume.
    """
    out = Path(out or f"adapted/{task or 'domain'}")
    adapt, given = check_adaptation(source, out=out, model=model, task=task, **options)
    reading = Reading.taken_from(options)
    tuning = LanguageTuning(_ADAPTER_NAME) if adapt.is_adapter else Adaptation(adapt.learns)
    settings = masked_settings(tuning, adapt.steps, given)
    report = progress or (lambda stage, done, total: None)
    training = Training(out, adapt.record)
    request = {
        "source": source_as_text(source), "task": task, "model": model, **reading.as_dict(), **asdict(adapt),
        **as_options(settings),
        "head_learning_rate": given.get("head_learning_rate"),
        **({} if then is None else {"then": dict(then)}),
    }  # fmt: skip
    if training.resume_finds_it_done(resume):
        return _read(out, adapt)

    report("Loading encoder and text", 0, 1)
    encoder = load_encoder(model)
    described = encoder.describe()
    asked, (settings, notes) = settings, fit_length(settings, encoder.model)
    request |= length_asked(asked, settings)
    languages = [code.strip() for code in adapt.languages.split(",")] if adapt.languages else None
    text = read_unlabelled(source, task, adapt.split, languages, reading, split_pairs=adapt.split_pairs)
    masked = mask_domain(
        text, encoder.tokenizer, source, whole_words=adapt.whole_words, max_length=settings.text.max_length,
        count=adapt.steps * settings.steps.batch_size, seed=settings.steps.seed,
    )  # fmt: skip
    tuning.decoder = pretrained_decoder(model, encoder.model.config)
    if given.get("head_learning_rate") is None and tuning.decoder is None:
        settings = settings.changed(head_learning_rate=NEW_DECODER_RATE)
    put_decoder(tuning, encoder, masked, settings.steps.seed)
    parts = parameter_report(encoder.model)
    plan = AdaptPlan(adapt, tuning, settings, encoder, masked.about, parts, out, task, text.taken, notes)
    if small := [language for language in masked.about["languages"] if language not in masked.held_out]:
        few = f"less than {LEAST} different texts, so nothing of them is held out and no perplexity measured"
        plan.notes.append(f"{', '.join(small)}: {few}.")
    report("Loading encoder and text", 1, 1)

    with training.planned_alone(request, described["fingerprint"], masked.about):
        announce(plan, on_start, logger, notes=logging.INFO)
        by_adapters = isinstance(tuning, LanguageTuning) or tuning.is_lora
        make = LanguageTrainer if by_adapters else EncoderTrainer
        measured, seconds = learn_masked(make, encoder, settings, masked, masked.held_out, training, report)
        if is_main():
            _write(training, plan, described, measured, seconds, then)
    wait_for_everyone()
    return _read(out, adapt)


def resume_adaptation(
    out: str | Path, on_start: Callable[[AdaptPlan], None] | None = None, progress: Progress | None = None
) -> Adapted:
    """Go on with an adaptation that was cut short, with the arguments it was started with; see `adapt_encoder`.

    If it had ended, what it made is what comes back.

    Raises:
        RunError: If there is nothing to resume, or text or encoder have changed.
    """
    out = Path(out)
    for record in (RECORD, ADAPTER_RECORD):
        if (out / record).is_file() and request_left(out, record) is None:
            return _read(out, AdaptOptions(learns="full" if record == RECORD else "adapter"))
    request = request_left(out, RECORD)
    if request is None or "source" not in request:
        raise RunError(f"There is no adaptation of {out} to resume; start it without --resume.")
    return adapt_encoder(**request, out=out, resume=True, on_start=on_start, progress=progress)


def _write(
    training: Training,
    plan: AdaptPlan,
    encoder: dict[str, Any],
    measured: dict[str, dict[str, float]],
    seconds: float,
    then: Mapping[str, Any] | None,
) -> None:
    """The encoder as Transformers saves one, or the adapter as adapters does, decoder and record; all or none."""
    record: dict[str, Any] = {
        "encoder": encoder,
        "text": plan.text,
        "perplexity": measured,
        "training": {
            "task": plan.task,
            **asdict(plan.options),
            **as_options(plan.settings),
            **masked_training(training, plan.report, seconds),
        },
        **({} if then is None else {"then": dict(then)}),
    }
    model, tuning = plan.encoder.model, plan.tuning
    if isinstance(tuning, LanguageTuning):
        record = {"language": tuning.language, "adapter": tuning.record(), **record}
    else:
        record["adaptation"] = tuning.record()

    def save(draft: Path) -> None:
        save_decoder(model.heads[DECODER], draft)
        if isinstance(tuning, LanguageTuning):
            model.save_adapter(str(draft), tuning.language, with_head=False, use_safetensors=True)
            return
        tuning.finish(model, DECODER)
        record["fingerprint"] = fingerprint(model)
        save_encoder(model, plan.encoder.tokenizer, draft)

    training.end(record, save)


def _read(out: Path, adapt: AdaptOptions) -> Adapted:
    return Adapted(out, (read_record(out) or {}) if adapt.is_adapter else read_adapted(out))
