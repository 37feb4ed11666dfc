"""What the comparisons share: programs that print one JSON object each are run in turns, and the best round of each counts.

So a busy machine hits all alike. With one thread everything counts seconds of the processor (LWSVM_CLOCK=cpu), which other
work lengthens little; with more threads seconds of the wall. LWSVM_BUILD names another build than build/release.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("LWSVM_BUILD", ROOT / "build/release"))
PYTHON = "/usr/bin/python3"  # the system's: PyTorch is a Debian package


def environment(threads=1, **more):
    words = dict(os.environ, **more)
    words.pop("LWSVM_CLOCK", None)
    if threads == 1:
        words["LWSVM_CLOCK"] = "cpu"
    return words


def run(command, threads=1, **more):
    done = subprocess.run([str(word) for word in command], env=environment(threads, **more), stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def in_turns(rounds, commands, threads=1, **more):
    """{name: what the program printed in its best round} for {name: command}; `samples_per_second` is what is compared."""
    best = {}
    for _ in range(rounds):
        for name, command in commands.items():
            found = run(command, threads, **more)
            if name not in best or found["samples_per_second"] > best[name]["samples_per_second"]:
                best[name] = found
    return best


def mib(size):
    return f"{size / 2**20:.0f} MiB"


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])
