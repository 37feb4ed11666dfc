"""The same training step in PyTorch: train_step_torch.py ARCH BATCH THREADS SECONDS nchw|channels_last

Prints one JSON object like train_step_bench: samples/s of the best step, and the process's peak memory.
"""
import json
import os
import resource
import sys
import time

import torch
import torch.nn as nn


def network(arch):
    if arch == "mnist":
        def block(channels):
            return [nn.Conv2d(channels, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*block(1), *block(12), nn.Flatten(), nn.Linear(588, 256), nn.ReLU(), nn.Linear(256, 10))
    layers, channels = [], 3
    for width in (64, 128, 256):
        for _ in range(2):
            layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4096, 10))


def main():
    arch, batch, threads, seconds, layout = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    torch.set_num_threads(threads)
    net = network(arch)
    images = torch.randn(batch, *((1, 28, 28) if arch == "mnist" else (3, 32, 32)))
    if layout == "channels_last":
        net = net.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    labels = torch.arange(batch) % 10
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    margins = torch.ones(batch, 10)
    margins.scatter_(1, labels[:, None], 0.0)

    def step():
        optimiser.zero_grad()
        scores = net(images)
        hinge = (scores + margins).max(1).values - scores.gather(1, labels[:, None])[:, 0]
        hinge.mean().backward()
        optimiser.step()

    step()
    # As lwsvm's Stopwatch: the processor's clock compares fairly on a busy machine (one thread).
    now = time.process_time if os.environ.get("LWSVM_CLOCK") == "cpu" else time.perf_counter
    best, start = float("inf"), now()
    while now() - start < seconds:
        before = now()
        step()
        best = min(best, now() - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"samples_per_second": batch / best, "peak_bytes": peak, "layout": layout}))


main()
