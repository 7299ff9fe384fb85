"""Processes of MPI on this machine: the same answers, by both ways in which they come to be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="the extra 'mpi' is not installed")

# Where pip has installed an MPI, its programs are beside the interpreter.
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
MPIEXEC = shutil.which("mpiexec", path=PATH)
TESTS = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec: install an MPI")


@pytest.mark.parametrize(
    ("before", "after"),
    [(["-n", "3", sys.executable, "-m", "mpi4py.futures"], []), (["-n", "1", sys.executable], ["2"])],
    ids=["of mpiexec", "spawned"],
)
def test_processes_of_mpi_have_the_same_answer(before, after):
    paths = [str(TESTS), str(TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")]
    # Open MPI asks whether it is meant that there are more processes than processors, and that root runs them.
    settings = {
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        [MPIEXEC, *before, str(Path(__file__).with_name("mpi_script.py")), *after],
        env={**os.environ, **settings, "PATH": PATH, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["num_workers"] == 2
    assert said["points"][0] == said["points"][1]
    # Each of the two was sent the problem, and this is not where it was worked on.
    assert len(said["kept"]) == 2
    assert min(said["kept"]) >= 1
    assert said["here"] == 0
    assert said["notes"] == []
    assert said["limited"] == ["TIME_LIMIT", True]
