"""What `mpirun lwsvm refine` should do on many machines: computed, not measured (docs/scale.md, "Many machines").

    mpi_model.py [--gflops 200] [--gbytes 40]

A rank is a machine that does GFLOPS billion floating-point operations a second in matrix products and moves GBYTES
gigabytes a second in memory; by default about one core with AVX-512 (AMD Zen 5). From operations, bytes and nothing else:

  dense layer p x q, a batch of B over K ranks (src/ssvm/joint_batch.h), each with b = B / K
    compute   4 b p q  (scores, sum)  + 2 b B (p + q)  (Gram)  + 10 B B  (steps, on every rank)
    memory    32 p q bytes: Psi and w follow, on every rank
    exchange  (K-1)/K 4 p q  +  (K-1) b 4 (p + q)  +  (K-1) b 4 B

  sweep, a batch of 100 over K ranks, n weights, f operations forward per sample
    compute   3 f ceil(100 / K)
    exchange  2 (K-1)/K 4 n

Efficiency is the time that one rank takes for as many samples, divided by K times that of K ranks. Epochs are not in
it: that a larger batch takes more of them is measured, and told beside.
"""

import argparse
import math

BATCH, GREATEST = 200, 16 * 200  # of a rank, and of all: LayerUpdater::share_out with the 1.28 million samples of ImageNet
SWEEP_BATCH = 100  # Sweeper


def blocks_of_rank(ranks):
    return max(1, min(BATCH, GREATEST // ranks))


class Machine:
    def __init__(self, gflops, gbytes, gbit):
        self.flops, self.memory, self.network = 1e9 * gflops, 1e9 * gbytes, 1e9 * gbit / 8


def dense_round(machine, p, q, ranks):
    """Seconds and samples of a round, and bytes sent over those of the vector."""
    own = blocks_of_rank(ranks)
    batch = own * ranks
    flops = 4 * own * p * q + 2 * own * batch * (p + q) + 10 * batch * batch
    sent = 4 * (ranks - 1) * (p * q / ranks + own * (p + q) + own * batch)
    seconds = flops / machine.flops + 32 * p * q / machine.memory + sent / machine.network
    return seconds, batch, sent / (4 * p * q)


def sweep_step(machine, weights, flops, ranks):
    sent = 8 * weights * (ranks - 1) / ranks
    seconds = 3 * flops * math.ceil(SWEEP_BATCH / ranks) / machine.flops + sent / machine.network
    return seconds, SWEEP_BATCH, sent / (4 * weights)


CASES = [
    ("VGG-16, dense 25,088 to 4,096", dense_round, (4096, 25088)),
    ("VGG-16, dense 4,096 to 4,096", dense_round, (4096, 4096)),
    ("ResNet-50, sweep", sweep_step, (25.6e6, 2 * 4.1e9)),
]
RANKS = (4, 8, 16, 32, 64, 128, 256)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gflops", type=float, default=200)
    parser.add_argument("--gbytes", type=float, default=40)
    arguments = parser.parse_args()
    print("| | Gbit/s | " + " | ".join(f"{k} ranks" for k in RANKS) + " |")
    print("|---" * (len(RANKS) + 2) + "|")
    for name, model, sizes in CASES:
        for gbit in (1, 10, 100):
            machine = Machine(arguments.gflops, arguments.gbytes, gbit)
            alone, samples, _ = model(machine, *sizes, 1)
            cells = []
            for ranks in RANKS:
                seconds, together, _ = model(machine, *sizes, ranks)
                cells.append(f"{100 * (alone / samples) / (ranks * seconds / together):.0f}%")
            print(f"| {name} | {gbit} | " + " | ".join(cells) + " |")
        sent = [model(machine, *sizes, ranks)[2] for ranks in RANKS]
        print(f"| &nbsp;&nbsp;sent in a round, in vectors | | " + " | ".join(f"{x:.2f}" for x in sent) + " |")


if __name__ == "__main__":
    main()
