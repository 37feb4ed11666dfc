"""What tests share. Tests that need another program as a judge are skipped where it is missing, with a word; with
LWSVM_REQUIRE_JUDGES=1 in the environment they fail instead, as those in C++ do (tests/judge.h; PyTorch excepted)."""

import importlib
import os
import subprocess

import numpy as np
import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("MPLBACKEND", "Agg")


def judge(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        without_judge(f"{name} is not installed ({error})", required=name.split(".")[0] != "torch")


def without_judge(reason, required=True):
    if required and os.environ.get("LWSVM_REQUIRE_JUDGES", "0") not in ("", "0"):
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


@pytest.fixture(scope="session")
def binary():
    """The command line program."""
    path = os.environ.get("LWSVM_BINARY")
    if not path:
        without_judge("LWSVM_BINARY does not name the program")
    return path


@pytest.fixture
def run(binary, tmp_path):
    """Runs the program in a folder of its own."""

    def run(*arguments, code=0):
        done = subprocess.run([binary, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done

    return run


def bars(count, seed, side=6, classes=3):
    """Images of noise with a bright bar, whose row is the class."""
    rng = np.random.default_rng(seed)
    x = rng.random((count, side, side), dtype=np.float32)
    y = np.arange(count) % classes
    for i, label in enumerate(y):
        x[i, 2 * label] += 0.25
    return x, y


@pytest.fixture(scope="session")
def base():
    """A small network with its samples."""
    import lwsvm

    x, y = bars(240, 1)
    return lwsvm.train("conv4x3-relu-dense8-relu", x, y, epochs=3, batch=20, progress=False).model, x, y
