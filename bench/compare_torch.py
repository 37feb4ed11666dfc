"""Runs our training step and PyTorch's in turns and prints a table: compare_torch.py BUILD_FOLDER [ROUNDS [SECONDS]]

Each round runs ours, PyTorch NCHW and PyTorch channels_last once, so that a busy machine hits all alike; the best
round of each counts, and the better of PyTorch's two layouts.
"""
import datetime
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = sys.argv[3] if len(sys.argv) > 3 else "4"
    cores = os.cpu_count()
    thread_counts = [1] if cores == 1 else [1, cores]
    peak = {t: 0.0 for t in thread_counts}
    rows = []
    for arch in ("mnist", "cifar"):
        for batch in (100, 200):
            for threads in thread_counts:
                ours, torch = {}, {}
                for _ in range(rounds):
                    peak[threads] = max(peak[threads], run([build + "/bench/fma_peak", str(threads)])["gflops"])
                    setting = [arch, str(batch), str(threads), seconds]
                    got = run([build + "/bench/train_step_bench"] + setting)
                    if got["samples_per_second"] > ours.get("samples_per_second", 0):
                        ours = got
                    for layout in ("nchw", "channels_last"):
                        got = run(["/usr/bin/python3", HERE + "/net/train_step_torch.py"] + setting + [layout])
                        if got["samples_per_second"] > torch.get("samples_per_second", 0):
                            torch = got
                rows.append((arch, batch, threads, ours, torch))
                print(f"{arch} {batch} {threads}: {ours['samples_per_second']:.0f} against "
                      f"{torch['samples_per_second']:.0f} samples/s", file=sys.stderr)
    print(f"Measured {datetime.date.today()}; best of {rounds} interleaved rounds of {seconds} s. Measured FMA peak: "
          + ", ".join(f"{peak[t]:.0f} GFLOP/s with {t} thread{'s' if t > 1 else ''}" for t in thread_counts) + ".\n")
    print("| net | batch | threads | lwsvm samples/s | GFLOP/s | of peak | PyTorch samples/s (its better layout) | ratio "
          "| lwsvm memory | PyTorch memory |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for arch, batch, threads, ours, torch in rows:
        gflops = ours["samples_per_second"] * ours["train_flops_per_sample"] * 1e-9
        print(f"| `{arch}` | {batch} | {threads} | {ours['samples_per_second']:.0f} | {gflops:.1f} "
              f"| {100 * gflops / peak[threads]:.0f}% | {torch['samples_per_second']:.0f} ({torch['layout']}) "
              f"| {ours['samples_per_second'] / torch['samples_per_second']:.2f}x "
              f"| {ours['peak_bytes'] / 2**20:.0f} MiB | {torch['peak_bytes'] / 2**20:.0f} MiB |")


main()
