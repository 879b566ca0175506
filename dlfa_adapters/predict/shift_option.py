"""`FILE@LAYER:ALPHA`: how the languages of an evaluation are shifted, looked at before PyTorch is loaded."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlfa_adapters.data.places import check_there
from dlfa_adapters.encoders.means_record import read_record
from dlfa_adapters.fusion.build import state_indices
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.predict.centred import check_not_centred
from dlfa_adapters.predict.load import head_config, source_languages
from dlfa_adapters.runs import Run

SPLITS = ("dev", "train")
TEXT, PARALLEL = "text", "parallel"
_FORM = re.compile(r"(?P<means>.+)@(?P<layer>\d+):(?P<alpha>[^@:]+)")


@dataclass(frozen=True)
class ShiftOption:
    """A request for shifts.

    Attributes:
        means: A file of language means.
        layer: Behind which block.
        alpha: How far all languages are shifted; None: each has the one that is best by `picked`.
        picked: `dev` or `train`: by the scores on that split of the data, as Liu et al. 2020 do with dev, which needs
            labels in each target language. `text`: by the cosine of means, of the text that is predicted. `parallel`:
            by the cosine of sentences and their translations.
    """

    means: str
    layer: int
    alpha: float | None
    picked: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ShiftOption":
        """Read `means.safetensors@6:1.0`, or a word in the place of the number.

        Raises:
            ConfigError: If it is of another form.
        """
        match = _FORM.fullmatch(text)
        words = (*SPLITS, TEXT, PARALLEL)
        if match is not None and match["alpha"] in words:
            return cls(match["means"], int(match["layer"]), None, match["alpha"])
        try:
            return cls(match["means"], int(match["layer"]), float(match["alpha"]))  # type: ignore[index]
        except (TypeError, ValueError):
            raise ConfigError(
                f"--shift expects FILE@LAYER:ALPHA, ALPHA a number or one of {', '.join(words)}, got {text!r}; type "
                "e.g. means.safetensors@6:1.0"
            ) from None

    def check(self, run: Run, source: Any, split: str, parallel: Mapping[str, str | Path], compile: bool) -> None:
        """Refuse what cannot work, whatever languages the data have; see `check_shift`."""
        check_not_centred(run, "a shift would move its languages a second time")
        record = read_record(self.means)
        record.check_layer(self.layer)
        record.check_languages([self.towards(run)], self.means)
        encoder, made_of = run.config["encoder"], record.encoder.get("fingerprint")
        if run.config.get("model", {}).get("saved", "head") == "head" and made_of not in (None, encoder["fingerprint"]):
            raise ConfigError(
                f"{self.means} has means of {record.encoder['name']} with fingerprint {made_of}, "
                f"the run {run.folder} is of {encoder['name']} with {encoder['fingerprint']}; make means of that one."
            )
        if compile:
            raise ConfigError("A compiled model does not look at shifts; leave --compile or --shift out.")
        depth, head = record.encoder["num_hidden_layers"], head_config(run)
        read = state_indices(head["fusion"], tuple(head["fuse_layer"] or ()), depth)
        if max(read) < self.layer:
            raise ConfigError(
                f"The head of {run.folder} reads layer {max(read)} alone, which a shift at layer {self.layer} does not "
                f"reach; type a layer from 1 to {max(read)}."
            )
        if (self.picked == PARALLEL) != bool(parallel):
            raise ConfigError(
                "--shift FILE@LAYER:parallel and --shift-parallel de=en-de.tsv for each language belong together."
            )
        for file in parallel.values():
            check_there(file)
        if self.picked == split:
            raise ConfigError(
                f"alpha would be picked on the {split} data that are scored; score another split, or type "
                f"{self.means}@{self.layer}:{TEXT}"
            )
        if self.picked in SPLITS and (not isinstance(source, str | Path) or Path(source).is_file()):
            raise ConfigError(
                f"--shift ...:{self.picked} picks alpha on the {self.picked} split of the data, and these have no "
                f"splits; give a folder or hub:NAME, or type {self.means}@{self.layer}:{TEXT}"
            )

    def towards(self, run: Run) -> str:
        """The language that states are moved towards: the one that the run was trained on.

        Raises:
            ConfigError: If there are several, or it is not known.
        """
        sources = source_languages(run)
        if len(sources) != 1:
            named = f"on {' and '.join(sources)}" if sources else "and does not tell on which language"
            raise ConfigError(f"A shift goes to the language of the training, and {run.folder} was trained {named}.")
        return sources[0]

    def check_languages(self, run: Run, languages: Sequence[str], parallel: Iterable[str] = ()) -> None:
        """Refuse languages that cannot be shifted; `parallel` are those that there is parallel text for.

        Raises:
            ConfigError: If one has no mean, or no parallel text where alpha is picked by that.
        """
        read_record(self.means).check_languages(languages, self.means)
        targets = [language for language in languages if language != self.towards(run)]
        if self.picked == PARALLEL and (without := [each for each in targets if each not in set(parallel)]):
            raise ConfigError(
                f"There is no parallel text for {', '.join(without)}; add --shift-parallel {without[0]}=FILE, or name "
                "other languages with --languages."
            )


def check_shift(
    run: Run,
    shift: str | None,
    source: Any,
    split: str,
    parallel: Mapping[str, str | Path] | None = None,
    *,
    compile: bool = False,
) -> ShiftOption | None:
    """Read a request for shifts and refuse what cannot work, whatever languages the data have.

    Args:
        run: The run.
        shift: The request, `FILE@LAYER:ALPHA`.
        source: The data.
        split: Their split, which is scored.
        parallel: By language a file of sentences in the source language, TAB, translations.
        compile: Whether the model shall be compiled.

    Returns:
        The request; None where there is none.

    Raises:
        ConfigError: If something cannot work, or there is parallel text and no request.
        DataError: If there is no file of means, or of parallel text.
        RunError: If the file of means is of a later version.
    """
    if shift is None:
        if parallel:
            raise ConfigError("--shift-parallel belongs to --shift FILE@LAYER:parallel; type that too.")
        return None
    option = ShiftOption.parse(shift)
    option.check(run, source, split, parallel or {}, compile)
    return option
