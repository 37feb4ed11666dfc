#!/usr/bin/python3
"""What LW-SVM takes at ImageNet's scale: VGG-16's dense layers, 25088-4096-4096-CLASSES, on features in a file.

    bench/imagenet_scale.py BUILD FOLDER [--runs 2000x100,5000x100,...] [--epochs 3] [--memory 4G] [--search labels] [--out FILE.json]

FOLDER holds the features (SAMPLES x 100 kB) and is emptied after each run. Seconds are those of the processor, all threads together.
Prints, as Markdown: each run, layer by layer; exponents b of  y = a N^b  fitted over the runs with the same number of classes; and what
they come to for 1.28 million images. --out keeps the runs, and those that it holds already are not made again.
"""
import argparse
import json
import os
import shutil
import subprocess

import numpy as np

IMAGENET = 1_281_167


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--runs", default="2000x100,5000x100,2000x1000,5000x1000")
    parser.add_argument("--epochs", default="3")
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--search", default="labels")
    parser.add_argument("--out", default="")
    return parser.parse_args()


def measure(args, samples, classes):
    program = os.path.join(args.build, "bench", "imagenet_scale")
    scratch = os.path.join(args.folder, f"{samples}x{classes}")
    try:
        run = subprocess.run([program, str(samples), str(classes), args.epochs, args.memory, args.search, scratch],
                             check=True, stdout=subprocess.PIPE, env=dict(os.environ, LWSVM_CLOCK="cpu"))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return json.loads(run.stdout)


def exponent(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)


def report(runs):
    print("| N | classes | layer | form | epochs | F | dual state, bytes a sample | CPU seconds an epoch | GEMM alone | "
          "file from disk | resident at most | beside weights |")
    print("|---:|---:|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for run in runs:
        n = run["samples"]
        for layer in run["layers"]:
            gemm = layer["flops_per_visit"] * n / run["gemm_gflops"] / 1e9
            beside = layer["peak_bytes"] - layer["weight_bytes"]
            print(f"| {n:,} | {run['classes']:,} | {layer['layer']} | {layer['form']} | {layer['epochs']} | "
                  f"{layer['before']:.3f} -> {layer['after']:.3f} | {layer['dual_bytes'] / n:.1f} | "
                  f"{layer['seconds_per_epoch']:.1f} | {gemm:.1f} | {run['reading_seconds']:.1f} | "
                  f"{layer['peak_bytes'] / 2**30:.2f} GiB | {beside / 2**30:.2f} GiB |")
    print()
    print("| classes | layer | seconds an epoch ~ N^b | dual state ~ N^b | 1.28 million images: hours of one core an epoch | "
          "dual state, GB |")
    print("|---:|---|---:|---:|---:|---:|")
    for classes in sorted({run["classes"] for run in runs}):
        same = sorted((run for run in runs if run["classes"] == classes), key=lambda run: run["samples"])
        if len(same) < 2:
            continue
        n = np.array([run["samples"] for run in same], float)
        for k, layer in enumerate(same[0]["layers"]):
            seconds = np.array([run["layers"][k]["seconds_per_epoch"] for run in same])
            dual = np.array([run["layers"][k]["dual_bytes"] for run in same], float)
            time_fit, dual_fit = exponent(n, seconds), exponent(n, dual)
            hours = seconds[-1] * (IMAGENET / n[-1]) ** max(1.0, time_fit[0]) / 3600
            gigabytes = dual[-1] * (IMAGENET / n[-1]) ** max(1.0, dual_fit[0]) / 1e9
            print(f"| {classes:,} | {layer['layer']} | {time_fit[0]:.2f} | {dual_fit[0]:.2f} | {hours:.1f} | {gigabytes:.3f} |")


def main():
    args = parse()
    os.makedirs(args.folder, exist_ok=True)
    known = []
    if args.out and os.path.exists(args.out):
        with open(args.out) as stream:
            known = json.load(stream)
    wanted = [tuple(map(int, pair.split("x"))) for pair in args.runs.split(",")]
    for samples, classes in wanted:
        if any((run["samples"], run["classes"]) == (samples, classes) for run in known):
            continue
        known.append(measure(args, samples, classes))
        if args.out:
            with open(args.out, "w") as stream:
                json.dump(known, stream, indent=1)
    report([run for run in known if (run["samples"], run["classes"]) in wanted])


if __name__ == "__main__":
    main()
