"""Two processes for a test, started by `accelerate launch`, which hands over to the launcher of `torchrun`."""

import socket

LAUNCH = "from accelerate.commands.launch import main; main()"
SCRIPT = """import gc
gc.disable()  # importing takes most of the time
{}
gc.freeze()
"""


def in_two_processes(fresh, script, folder, *arguments):
    """Run a script in two processes that know each other; its arguments are the texts given.

    Args:
        fresh: What starts the launcher.
        script: Source of the script, written into the folder.
        folder: Where it may leave files.
        arguments: What stands in `sys.argv` behind its name.
    """
    (folder / "worker.py").write_text(SCRIPT.format(script))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # --multi_gpu on a machine without GPUs too: with --cpu accelerate starts one process, whatever number is asked for
    launch = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--main_process_port", port]
    one_thread = {"OMP_NUM_THREADS": "1"}
    done = fresh.run(LAUNCH, *launch, folder / "worker.py", *arguments, name="accelerate", env=one_thread)
    assert done.returncode == 0, done.stderr[-3000:]
