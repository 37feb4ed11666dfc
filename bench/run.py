#!/usr/bin/python3
"""Every comparison in one run: what `make bench` calls.

    bench/run.py [--quick] [--wait MINUTES] [FILE.onnx ...]

Waits until the machine is quiet (other work takes less than a tenth of it), ten minutes at most; says how it was. Then, each
beside its rival in turns: a training step (PyTorch; everything the processor has, and held to AVX2), a forward pass (ONNX
Runtime; our networks and the files named), a linear SVM (LIBLINEAR). On a quiet machine with two threads, too, where the
rival has them. Writes bench/results.json, and tables and a chart into docs/performance.md between its marks. --quick leaves out most
settings: minutes in place of an hour.
"""
import argparse
import datetime
import json
import os
import pathlib
import tempfile
import time

import compare_liblinear
import compare_onnxruntime
import compare_torch
from chart import chart
from turns import ROOT

DOCUMENT = ROOT / "docs/performance.md"
BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->"


def busy_share(seconds=2.0):
    """The share of the machine that others use, while we sleep."""
    def read():
        numbers = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]
    all_before, idle_before = read()
    time.sleep(seconds)
    everything, idle = read()
    return 1 - (idle - idle_before) / max(1, everything - all_before)


def wait_until_quiet(minutes, limit=0.1):
    """The share that others used when we stopped waiting."""
    end = time.monotonic() + 60 * minutes
    while (share := busy_share()) >= limit and time.monotonic() < end:
        time.sleep(10)
    return share


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown"


def measure(quick, quiet, files):
    effort = {"rounds": 2, "seconds": 0.5} if quick else {"rounds": 3, "seconds": 2}
    training = {"batches": [100]} if quick else {"batches": [100, 200]}
    svm = {"sets": ["fashion-mnist", "text"], "samples": 10_000, "lambdas": [0.001], "runs": 1} if quick else {}
    several = [os.cpu_count()] if quiet and os.cpu_count() > 1 else []
    results = {"train": compare_torch.compare(**training, **effort)
               + compare_torch.compare(**training, **effort, avx2=True)}
    for threads in several:
        results["train"] += compare_torch.compare(**training, **effort, threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        networks = compare_onnxruntime.our_networks(pathlib.Path(folder)) + files
        results["forward"] = compare_onnxruntime.compare(networks, **effort)
    results["svm"] = [row for threads in [1] + several for row in compare_liblinear.compare(**svm, threads=threads)]
    return results


def bars(results):
    for r in results["train"]:
        held = ", AVX2" if r["instructions"] == "AVX2" else ""
        yield f"training {r['network']}, batch {r['batch']}, {r['threads']} thread(s){held}", r["ratio"]
    for r in results["forward"]:
        yield f"forward {r['network']}, batch {r['batch']}", r["ratio"]
    for r in results["svm"]:
        yield f"SVM {r['set']}, lambda {r['lambda']}, -e {r['tolerance']}, {r['threads']} thread(s)", r["ratio"]


def describe(found):
    busy = found["busy_before"]
    state = "quiet" if found["quiet"] else f"not quiet (other work took {100 * busy:.0f}% of it before the run)"
    extent = ", reduced (`--quick`)" if found["quick"] else ""
    return (f"Measured {found['date']} by `bench/run.py`{extent} on {found['processor']}, {found['cores']} cores; the machine was "
            f"{state}, load {found['load_after']:.1f} at the end. One thread counts seconds of the processor.\n")


def write(found):
    (ROOT / "bench/results.json").write_text(json.dumps(found, indent=1) + "\n")
    results = found["results"]
    (ROOT / "docs/performance.svg").write_text(chart("Times as fast as PyTorch, ONNX Runtime, LIBLINEAR", list(bars(results))))
    text = "\n".join([
        describe(found), "![times as fast as its rival](performance.svg)\n",
        "A training step, beside PyTorch:\n", compare_torch.table(results["train"]),
        "\nA forward pass, beside ONNX Runtime:\n", compare_onnxruntime.table(results["forward"]),
        "\nA linear SVM to LIBLINEAR's objective:\n", compare_liblinear.table(results["svm"]), ""])
    head, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(head + BEGIN + text + END + rest.split(END)[1])
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--wait", type=float, default=10, help="minutes to wait for a quiet machine at most")
    options = parser.parse_args()
    busy = wait_until_quiet(options.wait)
    quiet = busy < 0.1
    results = measure(options.quick, quiet, options.files)
    write({"date": str(datetime.date.today()), "processor": processor(), "cores": os.cpu_count(), "quick": options.quick,
           "busy_before": busy, "quiet": quiet, "load_after": os.getloadavg()[0], "results": results})


if __name__ == "__main__":
    main()
