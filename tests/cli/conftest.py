"""A run of the demo on a tiny random encoder."""

import pytest


@pytest.fixture(scope="session")
def tiny_run(tiny_folder, tmp_path_factory):
    """The result of a demo of one epoch: enough to be saved and used, not to be good."""
    from dlfa_adapters.demo import run_demo

    return run_demo(str(tiny_folder), out=tmp_path_factory.mktemp("runs") / "tiny", epochs=1)
