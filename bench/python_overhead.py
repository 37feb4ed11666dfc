#!/usr/bin/env python3
"""What Python adds: the same refinement of MNIST (of LAYERS, by default svm,dense1) by the command line and by lwsvm.refine, by name, and on the arrays of an .npz.

    PYTHONPATH=build/release/python bench/python_overhead.py build/release/src/cli/lwsvm [ROUNDS [LAYERS [ARCH]]]

    PYTHONPATH=build/release/python bench/python_overhead.py build/release/src/cli/lwsvm parts

Processor time of whole processes, interleaved, best of ROUNDS (3); and what `import lwsvm` takes. With `parts`: of the single steps in Python,
which tells more where the machine is noisy. Prints JSON.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = str(Path(sys.argv[1]).resolve())
# The processes run in a folder of their own, where a relative path would lead nowhere.
os.environ["PYTHONPATH"] = os.pathsep.join(
    str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path
)
PARTS_ONLY = sys.argv[2:3] == ["parts"]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 and not PARTS_ONLY else 3
LAYERS = sys.argv[3] if len(sys.argv) > 3 else "svm,dense1"
ARCH = sys.argv[4] if len(sys.argv) > 4 else "mnist"
BY_NAME = """
import lwsvm
lwsvm.refine("base.onnx", "mnist", passes=1, moves="layers", layers="LAYERS", threads=1).model.save("python.onnx")
"""
ON_ARRAYS = """
import numpy as np, lwsvm
with np.load("mnist.npz") as file:
    x, y, tx, ty = (file[name] for name in ("x_train", "y_train", "x_test", "y_test"))
lwsvm.refine("base.onnx", x, y, test=(tx, ty), name="mnist", passes=1, moves="layers", layers="LAYERS", threads=1,
             callback=lambda update: None).model.save("arrays.onnx")
"""
# What every program with these arrays does before it comes to lwsvm.
ARRAYS_ONLY = ON_ARRAYS[: ON_ARRAYS.index("lwsvm.refine")].replace("np, lwsvm", "np")
PARTS = """
import json, time
clock = [time.process_time()]
import lwsvm
clock.append(time.process_time())
import numpy as np
lwsvm.refine
clock.append(time.process_time())
with np.load("mnist.npz") as file:
    x, y, tx, ty = (file[name] for name in ("x_train", "y_train", "x_test", "y_test"))
clock.append(time.process_time())
data = lwsvm.Data(x, y, test=(tx, ty), name="mnist", outputs=10)
clock.append(time.process_time())
result = lwsvm.refine("base.onnx", data, passes=0, threads=1)
clock.append(time.process_time())
result.model.save("python.onnx")
clock.append(time.process_time())
names = ["import lwsvm", "first use, with numpy", "np.load", "Data", "refine with no passes", "save"]
print(json.dumps({name: round(b - a, 4) for name, a, b in zip(names, clock, clock[1:])}))
"""


def processor_seconds(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def as_npz(folder):
    """MNIST as arrays, from the files that `lwsvm data get mnist` has left in the cache."""
    import gzip

    import numpy as np

    def numbers(name):
        (path,) = [p for p in Path.home().glob(".cache/lwsvm/mnist/**/*") if p.name.removesuffix(".gz") == name]
        raw = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
        dims = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(raw[3])]
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)

    names = {"x_train": "train-images-idx3-ubyte", "y_train": "train-labels-idx1-ubyte",
             "x_test": "t10k-images-idx3-ubyte", "y_test": "t10k-labels-idx1-ubyte"}
    np.savez(folder / "mnist.npz", **{key: numbers(name) for key, name in names.items()})


def main():
    os.environ["OMP_WAIT_POLICY"] = "passive"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        as_npz(folder)
        subprocess.run([PROGRAM, "train", "--data", "mnist", "--arch", ARCH, "--epochs", "1", "-q", "-o", "base.onnx"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        if PARTS_ONLY:
            runs = [json.loads(subprocess.run([sys.executable, "-c", PARTS], cwd=folder, check=True, capture_output=True).stdout)
                    for _ in range(ROUNDS)]
            print(json.dumps({part: min(run[part] for run in runs) for part in runs[0]}, indent=1))
            return

        def refine(data):
            return [PROGRAM, "refine", "base.onnx", "--data", data, "--passes", "1", "--moves", "layers", "--layers", LAYERS, "--threads",
                    "1", "-q", "-o", "cli.onnx"]

        commands = {
            "command line": refine("mnist"),
            "command line, npz": refine("mnist.npz"),
            "by name": [sys.executable, "-c", BY_NAME.replace("LAYERS", LAYERS)],
            "on arrays": [sys.executable, "-c", ON_ARRAYS.replace("LAYERS", LAYERS)],
            "import numpy, np.load": [sys.executable, "-c", ARRAYS_ONLY],
            "import lwsvm": [sys.executable, "-c", "import lwsvm"],
            "import nothing": [sys.executable, "-c", "pass"],
        }
        best = {}
        for _ in range(ROUNDS):
            for what, command in commands.items():
                seconds = processor_seconds(command, folder)
                best[what] = min(best.get(what, seconds), seconds)
        files = [(folder / f"{name}.onnx").read_bytes() for name in ("cli", "python", "arrays")]
        # What comes to the time of a program that has the arrays, and would start, load and hold them without lwsvm, too.
        added = best["on arrays"] - best["import numpy, np.load"]
        print(json.dumps({
            "processor seconds": {what: round(seconds, 3) for what, seconds in best.items()},
            "overhead by name, %": round(100 * (best["by name"] / best["command line"] - 1), 2),
            "overhead on arrays, %": round(100 * (best["on arrays"] / best["command line, npz"] - 1), 2),
            "without numpy and np.load, %": round(100 * (added / best["command line, npz"] - 1), 2),
            "import lwsvm, seconds": round(best["import lwsvm"] - best["import nothing"], 3),
            "same bits": files[0] == files[1] == files[2],
        }, indent=1))


main()
