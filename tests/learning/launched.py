"""Two processes for a test, started by `accelerate launch`, which hands over to the launcher of `torchrun`."""

import os
import socket
import subprocess
import sys


def in_two_processes(script, folder, *arguments):
    """Run a script in two processes that know each other; its arguments are the texts given.

    Args:
        script: Source of the script, written into the folder.
        folder: Where it may leave files.
        arguments: What stands in `sys.argv` behind its name.
    """
    (folder / "worker.py").write_text(script)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # --multi_gpu on a machine without GPUs too: with --cpu accelerate starts one process, whatever number is asked for
    launch = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--main_process_port", port]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *launch, str(folder / "worker.py"), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
