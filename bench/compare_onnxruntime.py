#!/usr/bin/python3
"""A forward pass beside ONNX Runtime's (onnxruntime-node 1.16.3), one thread, seconds of the processor, in turns.

    bench/compare_onnxruntime.py [--rounds 3] [--seconds 2] [--batches 1,32] [FILE.onnx ...]

Without files: our `mnist` and `cifar` networks with random weights. Prints a table in Markdown. Networks of others are for
the caller to name; their images must have a size of their own (a free batch is fine).
"""
import argparse
import pathlib
import subprocess
import tempfile

import onnx

from turns import BUILD, ROOT, in_turns, markdown, mib

RUNTIME = ROOT / "build/oracles/node_modules/onnxruntime-node"
SCRIPT = ROOT / "bench/net/forward_onnxruntime.js"


def image_shape(file):
    model = onnx.load(str(file), load_external_data=False)
    constants = {tensor.name for tensor in model.graph.initializer}
    data = next(value for value in model.graph.input if value.name not in constants)
    return "x".join(str(d.dim_value) for d in data.type.tensor_type.shape.dim[1:])


def compare(files, batches=(1, 32), rounds=3, seconds=2):
    """One dictionary for each network and batch."""
    if not (RUNTIME / "package.json").exists():
        raise SystemExit("ONNX Runtime is not in build/oracles: scripts/install-deps.sh bench")
    results = []
    for file in files:
        for batch in batches:
            best = in_turns(rounds, {
                "lwsvm": [BUILD / "bench/forward_bench", file, batch, seconds],
                "onnxruntime": ["node", SCRIPT, RUNTIME, file, batch, seconds, image_shape(file)]})
            ours, theirs = best["lwsvm"], best["onnxruntime"]
            results.append({
                "network": pathlib.Path(file).stem, "batch": batch,
                "lwsvm": ours["samples_per_second"], "onnxruntime": theirs["samples_per_second"],
                "ratio": ours["samples_per_second"] / theirs["samples_per_second"],
                "gflops": ours["samples_per_second"] * ours["flops_per_sample"] * 1e-9,
                "lwsvm_bytes": ours["peak_bytes"], "onnxruntime_bytes": theirs["peak_bytes"],
                "node_bytes": theirs["base_bytes"]})
    return results


def our_networks(folder):
    files = []
    for arch in ("mnist", "cifar"):
        files.append(folder / f"{arch}.onnx")
        subprocess.run([BUILD / "bench/forward_bench", "write", arch, files[-1]], check=True)
    return files


def table(results):
    return markdown(
        ["network", "batch", "lwsvm samples/s", "GFLOP/s", "ONNX Runtime samples/s", "ratio", "lwsvm memory",
         "ONNX Runtime's (node itself)"],
        [[f"`{r['network']}`", r["batch"], f"{r['lwsvm']:.0f}", f"{r['gflops']:.0f}", f"{r['onnxruntime']:.0f}",
          f"{r['ratio']:.2f}x", mib(r["lwsvm_bytes"]), f"{mib(r['onnxruntime_bytes'])} ({mib(r['node_bytes'])})"]
         for r in results])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--batches", type=lambda text: [int(word) for word in text.split(",")], default=[1, 32])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or our_networks(pathlib.Path(folder))
        print(table(compare(files, options.batches, options.rounds, options.seconds)))


if __name__ == "__main__":
    main()
