#!/usr/bin/python3
"""lwsvm svm beside LIBLINEAR's Crammer-Singer machine: seconds to the same objective, reading the file included.

    bench/compare_liblinear.py [--sets mnist,fashion-mnist,features,text] [--samples 60000] [--runs 2] [--threads 1] LAMBDA...

The same problem to the letter (-s 4 -B 1, C = 1 / (lambda N)). LIBLINEAR stops at -e 0.1 and at -e 0.01; its P is computed here
from the weights that it wrote. Ours counts with the largest --gap (of a few) at which its P is no larger. In turns, the best of
--runs; one thread counts seconds of the processor. Prints a table in Markdown.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np

import svm_sets
from turns import BUILD, markdown

GAPS = (0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00003, 0.00001)


def seconds_of(command, folder, processor):
    """Seconds that a program took, of the processor or of the wall, and what it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([str(word) for word in command], cwd=folder, check=True, capture_output=True, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (used if processor else wall), done.stdout


def objective_of(folder, lam):
    """P of the model that LIBLINEAR wrote."""
    lines = (folder / "model").read_text().splitlines()
    labels = next(line for line in lines if line.startswith("label")).split()[1:]
    w = np.array([line.split() for line in lines[lines.index("w") + 1:]], dtype=float)
    place = {label: k for k, label in enumerate(labels)}
    loss = count = 0
    for line in open(folder / "data"):
        label, *cells = line.split()
        scores = w[-1] + 1
        if cells:
            columns, values = zip(*(cell.split(":") for cell in cells))
            at = np.array(columns, int) - 1
            scores = scores + np.array(values, float) @ w[at]
        truth = place[label]
        scores[truth] -= 1
        loss += scores.max() - scores[truth]
        count += 1
    return float(lam / 2 * (w**2).sum() + loss / count)


def liblinear(folder, lam, count, tolerance, processor):
    command = ["liblinear-train", "-q", "-s", 4, "-B", 1, "-c", repr(1 / (lam * count)), "-e", tolerance, "data", "model"]
    return seconds_of(command, folder, processor)[0]


def lwsvm(folder, lam, gap, threads, processor):
    command = [BUILD / "src/cli/lwsvm", "svm", "--train", "data", "--lambda", repr(lam), "--gap", gap, "--threads",
               threads, "--json", "-q"]
    seconds, text = seconds_of(command, folder, processor)
    return seconds, json.loads(text)["objective"]


def compare_one(folder, count, lam, tolerance, runs, threads):
    processor = threads == 1
    theirs = [liblinear(folder, lam, count, tolerance, processor)]
    wanted = objective_of(folder, lam)
    for gap in GAPS:
        seconds, objective = lwsvm(folder, lam, gap, threads, processor)
        if objective <= wanted:
            break
    ours = [seconds]
    for _ in range(runs - 1):
        theirs.append(liblinear(folder, lam, count, tolerance, processor))
        ours.append(lwsvm(folder, lam, gap, threads, processor)[0])
    return {"lambda": lam, "tolerance": tolerance, "threads": threads, "gap": gap, "liblinear": min(theirs),
            "lwsvm": min(ours), "liblinear_objective": wanted, "lwsvm_objective": objective,
            "ratio": min(theirs) / min(ours), "reached": objective <= wanted}


def compare(sets=("mnist", "fashion-mnist", "features", "text"), samples=60_000, lambdas=(0.01, 0.001, 0.0001),
            tolerances=(0.1, 0.01), runs=2, threads=1):
    """One dictionary for each set, lambda and tolerance."""
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for data in sets:
            svm_sets.write(data, folder / "data", samples)
            count = sum(1 for _ in open(folder / "data"))
            for lam in lambdas:
                for tolerance in tolerances:
                    found = compare_one(folder, count, lam, tolerance, runs, threads)
                    results.append({"set": data, "samples": count, **found})
    return results


def table(results):
    return markdown(
        ["data", "samples", "lambda", "threads", "LIBLINEAR -e", "its P", "its seconds", "our --gap", "our P",
         "our seconds", "ratio"],
        [[r["set"], r["samples"], r["lambda"], r["threads"], r["tolerance"], f"{r['liblinear_objective']:.5f}",
          f"{r['liblinear']:.2f}", r["gap"], f"{r['lwsvm_objective']:.5f}", f"{r['lwsvm']:.2f}",
          f"{r['ratio']:.2f}x" + ("" if r["reached"] else " (not reached)")] for r in results])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lambdas", nargs="*", type=float, default=[0.01, 0.001, 0.0001])
    parser.add_argument("--sets", default="mnist,fashion-mnist,features,text")
    parser.add_argument("--samples", type=int, default=60_000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(table(compare(options.sets.split(","), options.samples, options.lambdas, runs=options.runs,
                        threads=options.threads)))


if __name__ == "__main__":
    main()
