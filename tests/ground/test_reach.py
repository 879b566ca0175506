"""Whether the hub answers is asked once, of nobody where it must not be, and never for long."""

import contextlib

import datasets
import huggingface_hub
import pytest
from huggingface_hub import constants

from dlfa_adapters.ground import environment


class Session:
    """Stands for the connection to the hub."""

    def __init__(self, error=None):
        self.error, self.asked = error, []

    def head(self, url, **options):
        self.asked.append((url, options["timeout"]))
        if self.error is not None:
            raise self.error


@pytest.fixture
def hub(monkeypatch):
    """hub(error): a hub that answers, or the error that asking it ends in."""

    def use(error=None, offline=False):
        session = Session(error)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        monkeypatch.setattr(huggingface_hub, "get_session", lambda: session)
        environment.hub_answers.cache_clear()
        return session

    yield use
    environment.hub_answers.cache_clear()


def test_a_hub_that_answers_is_asked_once(hub, tmp_path):
    session = hub()
    assert not environment.only_cached(str(tmp_path))
    assert session.asked == []  # for a folder nothing is
    assert not environment.only_cached("org/model")
    assert not environment.only_cached("org/other")
    assert session.asked == [(constants.ENDPOINT, 10)]


@pytest.mark.parametrize("error", [ConnectionError("no route"), TimeoutError()])
def test_one_that_does_not_leaves_the_cache(hub, error, tmp_path):
    hub(error)
    assert environment.only_cached("org/model")
    assert not environment.only_cached(str(tmp_path))
    assert environment.no_answer() == f"the hub ({constants.ENDPOINT}) does not answer"


def test_offline_nobody_is_asked(hub):
    session = hub(offline=True)
    assert environment.only_cached("org/model")
    assert session.asked == []
    assert environment.no_answer() == "HF_HUB_OFFLINE is set"


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("wanted", [False, True])
def test_datasets_is_offline_for_a_while_only(before, wanted, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", before)
    with contextlib.suppress(ValueError), environment.cached_datasets_only(wanted):
        assert datasets.config.HF_HUB_OFFLINE == (before or wanted)
        raise ValueError("in between")
    assert datasets.config.HF_HUB_OFFLINE == before
