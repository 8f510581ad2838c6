"""Build the source archive and the wheel: ``python .ci/build.py OUT [TREE]``; equal source gives equal bytes.

setuptools alone writes times, owners, permissions and an order into archives that are those of the machine.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))
"""When every file was written, in seconds: by default in 1980, the first year that a wheel can name."""

NOT_SOURCE = (".*", "__pycache__", "*.egg-info", "build", "dist", "reports")


def main(out: Path, tree: Path) -> None:
    """Build what a tree holds, in a copy without what earlier builds have left there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "source"), Path(folder, "built")
        shutil.copytree(tree, source, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCE))
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", built, source],
            env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)},
            check=True,
        )
        for path in sorted(built.iterdir()):
            normal = wheel if path.suffix == ".whl" else source_archive
            (out / path.name).write_bytes(normal(path.read_bytes()))


def mode_of(permissions: int) -> int:
    """Return the permissions that everybody has: of files that are run, and of others."""
    return 0o755 if permissions & 0o100 else 0o644


def source_archive(data: bytes) -> bytes:
    """Return a packed tar archive with its members by name, of nobody."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        gzip.GzipFile("", "wb", fileobj=packed, mtime=EPOCH) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old, key=lambda one: one.name):
            content = old.extractfile(member) if member.isfile() else None
            member.mtime, member.mode, member.pax_headers = EPOCH, mode_of(member.mode), {}
            member.uid, member.gid, member.uname, member.gname = 0, 0, "", ""
            new.addfile(member, content)
    return packed.getvalue()


def wheel(data: bytes) -> bytes:
    """Return a wheel with its files by name, what describes it last."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w") as new:
        for one in sorted(old.infolist(), key=lambda one: (".dist-info/" in one.filename, one.filename)):
            info = zipfile.ZipInfo(one.filename, time.gmtime(EPOCH)[:6])
            info.create_system, info.external_attr = 3, (0o100000 | mode_of(one.external_attr >> 16)) << 16
            new.writestr(info, old.read(one), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parents[1]))
