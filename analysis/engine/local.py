"""A Dask cluster on this machine, which ends with the process that started it.

:func:`main` prints the address of its scheduler, and ends with its workers as soon as standard input does.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import tempfile


def main(workers: int) -> None:
    """Serve until standard input ends."""
    import dask
    from distributed import LocalCluster

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    folder = tempfile.mkdtemp(prefix="clairvoyant-")
    dask.config.set({"temporary-directory": folder})
    try:
        cluster = LocalCluster(
            n_workers=workers,
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
