"""The package as a whole: examples in docstrings run, types agree with the code, the wheel can be made and installed."""

import doctest
import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import judge, without_judge

import lwsvm

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["_data", "_estimators", "_network", "_runs", "_torch"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name):
    if name == "_estimators":
        judge("sklearn")
    if name == "_torch":
        judge("torch")
    module = importlib.import_module("lwsvm." + name)
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_public_name_is_there_and_documented():
    for name in lwsvm.__all__:
        if name in ("LinearSVMClassifier", "PiecewiseLinearClassifier"):
            judge("sklearn")
        value = getattr(lwsvm, name)
        assert name == "__version__" or value.__doc__, name
    assert set(lwsvm.__all__) <= set(dir(lwsvm))
    with pytest.raises(AttributeError):
        lwsvm.no_such_name


def test_importing_it_loads_nothing_heavy():
    script = "import sys, lwsvm; print([m for m in ('numpy', 'torch', 'sklearn', 'pandas', 'matplotlib', 'tqdm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_data_by_name_do_without_numpy(tmp_path):
    script = """
import sys, lwsvm
data = "synthetic:n=60,test=20,classes=2,size=4x4"
model = lwsvm.train("dense8-relu", data, epochs=1).model
lwsvm.refine(model, data, passes=1).model.save("refined.onnx")
assert lwsvm.Network("refined.onnx").evaluate(data).samples == 20
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"


def test_types_are_consistent():
    judge("mypy")
    folder = Path(lwsvm.__file__).parent
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", os.devnull, folder],
        capture_output=True, text=True, check=False, cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_name_what_the_extension_has():
    import ast

    from lwsvm import _core

    tree = ast.parse((Path(lwsvm.__file__).parent / "_core.pyi").read_text())
    stubbed = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stubbed[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            stubbed[node.name] = None
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert set(stubbed) == there
    for name in ("Network", "Data"):
        methods = {m for m in vars(getattr(_core, name)) if not m.startswith("_")}
        assert stubbed[name] - {"__init__"} == methods
    stub = ast.parse((Path(lwsvm.__file__).parent / "__init__.pyi").read_text())
    exported = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert exported | {"__version__"} == set(lwsvm.__all__)


@pytest.mark.skipif("LWSVM_BUILD" not in os.environ, reason="LWSVM_BUILD names no build folder to take the extension from")
def test_pip_installs_it_without_a_download(tmp_path):
    judge("setuptools")
    judge("pip")
    judge("wheel")
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"}
    environment.pop("PYTHONPATH", None)

    def pip(*arguments):
        done = subprocess.run([sys.executable, "-m", "pip", *map(str, arguments)], capture_output=True, text=True, check=False,
                              env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr

    pip("wheel", "--no-deps", "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("lwsvm-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for file in ("__init__.py", "__init__.pyi", "_core.pyi", "py.typed", "_torch.py"):
        assert f"lwsvm/{file}" in names
    assert any(name.startswith("lwsvm/_core.") and name.endswith(".so") for name in names)
    pip("install", "--no-deps", "--target", tmp_path / "site", wheel)
    done = subprocess.run(
        [sys.executable, "-c", "import lwsvm; print(lwsvm.__file__, lwsvm.__version__, lwsvm.Data('synthetic:n=30').classes)"],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**environment, "PYTHONPATH": str(tmp_path / "site")})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "site"))


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(script, tmp_path):
    source = script.read_text()
    for module in ("sklearn", "torch"):
        if f"import {module}" in source or f"from {module}" in source:
            judge(module)
    environment = {**os.environ, "LWSVM_EXAMPLE_QUICK": "1"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    if done.returncode == 77:
        without_judge(done.stdout.strip() or done.stderr.strip(), required=False)
    assert done.returncode == 0, done.stdout + done.stderr
