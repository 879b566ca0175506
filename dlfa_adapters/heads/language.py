"""Language adapters: loading one that fits the encoder, and swapping the one at the bottom of a stack."""

import json
from pathlib import Path
from typing import Any

from adapters.composition import Stack
from adapters.loading import AdapterLoader

from dlfa_adapters.encoders.parts import fingerprint
from dlfa_adapters.ground.errors import ConfigError, is_a_librarys, mend, wrong_in
from dlfa_adapters.ground.files import sha256_of
from dlfa_adapters.heads.schema import language_schema

RECORD = "language.json"
"""What a folder of `train_language` says of its adapter; folders of other origin do not have it."""

UNCHECKED = "unchecked:"
"""Before a folder: take an adapter that was trained on other weights of the same architecture."""


class LanguageMixin:
    """The methods of a model that know a stack of a language adapter and what stands over it (MAD-X).

    Attributes:
        encoder_fingerprint: The encoder's, where it is known; else it is computed. A loaded run sets it, for its
            weights may be cast to 16 bits later, which would give another one.
    """

    encoder_fingerprint: str | None = None

    @property
    def language_adapter(self: Any) -> str | None:
        """Name of the adapter at the bottom of the active stack; None without a stack of two or more."""
        setup = self.active_adapters
        first = setup.children[0] if isinstance(setup, Stack) and len(setup.children) > 1 else None
        return first if isinstance(first, str) else None

    def load_language_adapter(self: Any, location: str | Path) -> str:
        """Load a language adapter beside those that are there; it does not learn and is not activated.

        Args:
            location: A folder, or a name on the hub; with `unchecked:` before it, one that was trained on other weights
                of the same architecture is taken too.

        Returns:
            The name that it has in this model: its own, with a number behind it where that is taken.

        Raises:
            ConfigError: If it belongs to another encoder, or cannot be loaded.
        """
        checked, folder = not str(location).startswith(UNCHECKED), str(location).removeprefix(UNCHECKED)
        own_name = _check_fits(folder, self, checked)
        before, info = set(self.adapters_config.adapters), dict[str, Any]()
        try:
            free = _free_name(own_name, before) if own_name else None
            name = str(self.load_adapter(folder, load_as=free, with_head=False, loading_info=info))
            _check_whole(folder, self.config, [*info.get("missing_keys", ()), *info.get("unexpected_keys", ())])
        except Exception as error:  # for a damaged file the libraries raise whatever they stumble over
            for loaded in set(self.adapters_config.adapters) - before:
                self.delete_adapter(loaded)
            if isinstance(error, ConfigError) or not is_a_librarys(error):
                raise
            first = (str(error).strip() or "no reason given").splitlines()[0]
            if not isinstance(error, (OSError, RuntimeError, ValueError)):
                first = f"{type(error).__name__}: {first}"
            raise ConfigError(
                f"The language adapter {folder!r} cannot be loaded ({first}); give a folder that was saved with "
                "save_adapter, or a name on a hub that can be reached."
            ) from error
        is_its = AdapterLoader(self).filter_func(name)
        for parameter_name, parameter in self.named_parameters():
            if is_its(parameter_name):
                parameter.requires_grad_(False)
        self.adapter_to(name, device=self.device, dtype=self.dtype)
        self.train(self.training)
        return name

    def use_language(self: Any, language: str | Path) -> str:
        """Put another language's adapter at the bottom of the active stack; all else stays, the head included.

        Args:
            language: Name of an adapter that the model has, or what `load_language_adapter` takes.

        Returns:
            Name of the adapter that is now at the bottom.

        Raises:
            ConfigError: If no stack of a language adapter and another one is active, or the adapter does not fit.
        """
        if self.language_adapter is None:
            raise ConfigError(
                f"A language can be changed in a stack of a language adapter and a task adapter, but active is "
                f"{self.active_adapters}; type e.g. model.set_active_adapters(Stack('en', 'ner'))."
            )
        above, heads = self.active_adapters.children[1:], self._active_heads
        known = str(language) in self.adapters_config.adapters
        name = str(language) if known else self.load_language_adapter(language)
        if name in above:
            raise ConfigError(f"{name!r} stands over the language adapter already; name the adapter of a language.")
        self.set_active_adapters(Stack(name, *above), self.adapters_config.skip_layers)
        self.active_head = heads
        return name


def read_record(folder: str | Path) -> dict[str, Any] | None:
    """What `train_language` wrote beside an adapter, or None where it was not the one that made it.

    Raises:
        ConfigError: If the file is damaged.
    """
    path = Path(folder) / RECORD
    if not path.is_file():
        return None
    record = _read(path)
    if wrong := wrong_in(record, language_schema):
        raise ConfigError(mend(path, wrong, "copy the adapter again or train it again"))
    return record


def _check_fits(folder: str, model: Any, same_weights: bool) -> str | None:
    """Refuse an adapter of another encoder, by what its folder says.

    Returns:
        The adapter's own name; None where there is no folder, only a name on a hub.

    Raises:
        ConfigError: Naming both encoders.
    """
    path = Path(folder) / "adapter_config.json"
    if not path.is_file():
        return None
    saved, record, config = _read(path), read_record(folder), model.config
    try:
        name, _ = str(saved["name"]), saved["config"]
        theirs = [saved["model_type"], f"width {saved['hidden_size']}"]
        ours = [config.model_type, f"width {config.hidden_size}"]
        if record is not None:
            theirs.append(f"depth {record['encoder']['num_hidden_layers']}")
            ours.append(f"depth {config.num_hidden_layers}")
            trained_on, its_weights = record["encoder"]["name"], record["encoder"]["fingerprint"]
    except (KeyError, TypeError) as error:
        raise _damaged(path, error) from error
    if theirs != ours:
        raise ConfigError(
            f"The language adapter {folder!r} is for a {theirs[0]} encoder of {' and '.join(theirs[1:])}, this model "
            f"is {ours[0]} of {' and '.join(ours[1:])}; train a language adapter on this encoder."
        )
    if record is not None:
        _check_files(Path(folder), record["files"])
    here = model.encoder_fingerprint or fingerprint(model)
    if record is not None and same_weights and its_weights not in (here, fingerprint(model, pooler=False)):
        raise ConfigError(
            f"The language adapter {folder!r} was trained on {trained_on!r} with fingerprint {its_weights}, this "
            f"encoder has {here}: the same architecture, other weights; train a language adapter on this encoder, or "
            f"type {UNCHECKED}{folder} to take it all the same."
        )
    return name


def _check_files(folder: Path, files: dict[str, str]) -> None:
    """Refuse an adapter with a file that is not the one that was written.

    Raises:
        ConfigError: Naming it.
    """
    loaded = [path.name for path in folder.iterdir() if path.suffix in (".safetensors", ".bin", ".json")]
    for name in sorted({*files, *loaded} - {RECORD}):
        if name not in files:
            raise ConfigError(f"{folder / RECORD} has no checksum of {name}; copy the adapter again or train it again.")
        if not (folder / name).is_file() or sha256_of(folder / name) != files[name]:
            raise ConfigError(
                f"{folder / name} is missing or not the file that was written (cut short or changed); copy the adapter "
                "again or train it again."
            )


def _check_whole(folder: str, config: Any, wrong: list[str]) -> None:
    """Refuse an adapter whose weights are not those of the modules that were made for it.

    Raises:
        ConfigError: If there are more or fewer.
    """
    if wrong:
        raise ConfigError(
            f"The language adapter {folder!r} is for an encoder of another depth or form than this {config.model_type} "
            f"with {config.num_hidden_layers} blocks ({len(wrong)} weights do not match, {wrong[0]} first); train a "
            "language adapter on this encoder."
        )


def _free_name(name: str, taken: set[str]) -> str:
    """The name, or with the first number behind it that is free."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{path} is no whole description of an adapter ({error}); save or copy the adapter again.")
