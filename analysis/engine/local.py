"""A Dask cluster on this machine, which ends with the process that started it.

``python -m clairvoyant.analysis.engine.local 4`` reads a line of JSON, the path of modules, prints the
address of its scheduler, and ends with its workers as soon as standard input does.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import tempfile


def main() -> None:
    """Serve until standard input ends."""
    import dask
    from distributed import LocalCluster

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path[:] = json.loads(sys.stdin.readline())["path"]
    folder = tempfile.mkdtemp(prefix="clairvoyant-")
    dask.config.set({"temporary-directory": folder})
    try:
        cluster = LocalCluster(
            n_workers=int(sys.argv[1]),
            threads_per_worker=1,
            processes=True,
            memory_limit=None,  # cells have processes of their own
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
