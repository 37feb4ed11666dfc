#!/usr/bin/python3
"""`lwsvm refine` as it comes against Adam and Nesterov SGD with a tuned learning rate, at equal time of one core.

  bench/versus.py BUILD OUT [--seconds 60] [--networks bench/versus.json] [--only NAME,...] [--tries PATTERN,...] [--quick]

Every network is refined once, for SECONDS, which count everything from reading the file on. Then every try of a rival
gets as many seconds for its steps alone: solver, loss, learning rate and schedule; the one with the best validation
accuracy of all tries is the winner. Seconds are those of the processor (LWSVM_CLOCK=cpu), so that a busy machine does
not disturb. F is refine's objective (its lambda around its centre) over all training samples, for all. Prints a table;
OUT keeps the result of every try in a file of its own as soon as it is there, and what is there is not run again: a run
may be stopped at any time and goes on with the same command, or is extended by one with more tries. To add a network, add
a line to versus.json.

--tries: those whose name, such as adam-svm-1e-3-cosine, has one of these patterns (* and ? as in a shell).
--quick: Adam with a falling learning rate only, hinge with 1e-3 and 1e-4, cross-entropy with 1e-3: 3 tries of 32.
--show: what there is, without running anything."""
import argparse, fnmatch, itertools, json, os, pathlib, subprocess, sys

TRIES = list(itertools.product(["adam", "nesterov"], ["svm", "ce"], ["1e-2", "1e-3", "1e-4", "1e-5"],
                               ["constant", "cosine"]))
QUICK = "adam-svm-1e-3-cosine,adam-svm-1e-4-cosine,adam-ce-1e-3-cosine"
INTERRUPTED = (130, 143, 129)  # what lwsvm returns at Ctrl-C, SIGTERM and SIGHUP


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LWSVM_CLOCK": "cpu"})
    if done.returncode in INTERRUPTED or done.returncode < 0:  # no result: the next time it is run again
        sys.exit(f"stopped: {' '.join(command)}")
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else str(done.returncode)}
    return json.loads(done.stdout)


def cached(path, make):
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(path.name + ".new")
        unfinished.write_text(json.dumps(make()))
        unfinished.rename(path)
    return json.loads(path.read_text())


def chosen(patterns):
    return [t for t in TRIES if any(fnmatch.fnmatch("-".join(t), p) for p in patterns.split(","))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--networks", type=pathlib.Path, default=pathlib.Path(__file__).with_name("versus.json"))
    parser.add_argument("--only", default="")
    parser.add_argument("--tries", default="*")
    parser.add_argument("--quick", action="store_const", dest="tries", const=QUICK)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    lwsvm = str(options.build / "src/cli/lwsvm")
    tries = chosen(options.tries)
    if not tries:
        sys.exit(f"no try is called {options.tries}; there are {', '.join('-'.join(t) for t in TRIES)}")
    networks = json.loads(options.networks.read_text())
    only = set(filter(None, options.only.split(",")))
    print(f"{options.seconds} s of one core each; {len(tries)} tries of the rival at most\n")
    print("| network | F start | refine | winner | test start | refine | winner | the winner, of its tries by validation |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name, network in networks.items():
        path = options.networks.parent / network["file"]
        if (only and name not in only) or not path.exists():
            if not path.exists():
                print(f"{name}: no {path}, left out", file=sys.stderr)
            continue
        task = ["--data", network["data"], "--threads", "1", "--json", "-q"]
        pixels = network.get("pixels", [])
        folder = options.out / f"{options.seconds}s" / name
        if options.show and not (folder / "refine.json").exists():
            continue
        limit = ["--time-limit", f"{options.seconds}s"]
        ours = cached(folder / "refine.json", lambda: run(
            [lwsvm, "refine", str(path), *task, *pixels, *limit, "-o", str(folder / "refine.onnx")]))
        if "failed" in ours:
            print(f"| `{name}` | refine failed: {ours['failed']} |", flush=True)
            continue
        centre = str(path) if ours["centre"] == "start" else "zero"

        def judge(file, split):
            return cached(folder / f"{file.stem}-{split}-{ours['lambda']:.6g}.eval.json", lambda: run(
                [lwsvm, "eval", str(file), *task, *(pixels if file == path else []), "--loss", "svm", "--split", split,
                 "--lambda", str(ours["lambda"]), "--centre", centre]))

        rivals = []
        for solver, loss, rate, schedule in tries:
            label = f"{solver} {loss} {rate} {schedule}"
            file = folder / (label.replace(" ", "-") + ".onnx")
            if options.show and not file.with_suffix(".json").exists():
                continue
            rivals.append((label, file, cached(file.with_suffix(".json"), lambda: run(
                [lwsvm, "train", "--init", str(path), *task, *pixels, *limit, "--solver", solver, "--loss", loss, "--lr",
                 rate, "--schedule", schedule, "--batch", "100", "--epochs", "100000", "--eval-every", "100000",
                 "--lambda", str(ours["lambda"] if ours["centre"] == "zero" else 0), "-o", str(file)]))))
        good = [entry for entry in rivals if "failed" not in entry[2]]
        if not good:
            print(f"| `{name}` | every try failed |", flush=True)
            continue
        label, file, winner = max(good, key=lambda entry: entry[2]["val_accuracy"])
        winner["F"] = judge(file, "train")["objective"]
        start = ours["start"]
        if "judged_samples" in ours:  # too large to be looked at within its time
            refined = folder / "refine.onnx"
            ours["objective"] = judge(refined, "train")["objective"]
            start["objective"] = judge(path, "train")["objective"]
            for quality, model in ((ours, refined), (start, path)):
                quality["test_accuracy"] = judge(model, "test")["accuracy"]
        print(f"| `{name}` | {start['objective']:.4f} | {ours['objective']:.4f} | {winner['F']:.4f} "
              f"| {100 * start['test_accuracy']:.2f}% | {100 * ours['test_accuracy']:.2f}% "
              f"| {100 * winner['test_accuracy']:.2f}% | {label}, best of {len(good)} |", flush=True)


main()
