#!/usr/bin/python3
"""A training step (forward, hinge loss, backward, Adam) beside PyTorch's, in turns.

    bench/compare_torch.py [--rounds 3] [--seconds 2] [--batches 100,200] [--threads 1] [--avx2]

Images are random; PyTorch gets the better of its layouts NCHW and channels_last. --avx2 holds both back to AVX2. One thread counts
seconds of the processor, several count seconds of the wall. Prints a table in Markdown.
"""
import argparse

from turns import BUILD, PYTHON, ROOT, in_turns, markdown, mib, run

AVX2 = {"DNNL_MAX_CPU_ISA": "AVX2", "LWSVM_MAX_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def compare(archs=("mnist", "cifar"), batches=(100, 200), threads=1, rounds=3, seconds=2, avx2=False):
    """One dictionary for each network and batch."""
    held = AVX2 if avx2 else {}
    script = ROOT / "bench/net/train_step_torch.py"
    results = []
    for arch in archs:
        for batch in batches:
            setting = [arch, batch, threads, seconds]
            best = in_turns(rounds, {
                "lwsvm": [BUILD / "bench/train_step_bench", *setting],
                "nchw": [PYTHON, script, *setting, "nchw"],
                "channels_last": [PYTHON, script, *setting, "channels_last"]}, threads, **held)
            peak = run([BUILD / "bench/fma_peak", threads], threads, **held)["gflops"]
            ours = best["lwsvm"]
            theirs = max(best["nchw"], best["channels_last"], key=lambda found: found["samples_per_second"])
            gflops = ours["samples_per_second"] * ours["train_flops_per_sample"] * 1e-9
            results.append({
                "network": arch, "batch": batch, "threads": threads, "instructions": "AVX2" if avx2 else "all",
                "lwsvm": ours["samples_per_second"], "torch": theirs["samples_per_second"], "layout": theirs["layout"],
                "ratio": ours["samples_per_second"] / theirs["samples_per_second"],
                "gflops": gflops, "peak_gflops": peak, "share_of_peak": gflops / peak,
                "lwsvm_bytes": ours["peak_bytes"], "torch_bytes": theirs["peak_bytes"]})
    return results


def table(results):
    return markdown(
        ["network", "batch", "threads", "instructions", "lwsvm samples/s", "GFLOP/s", "of the FMA peak",
         "PyTorch samples/s (its better layout)", "ratio", "lwsvm memory", "PyTorch's"],
        [[f"`{r['network']}`", r["batch"], r["threads"], r["instructions"], f"{r['lwsvm']:.0f}", f"{r['gflops']:.0f}",
          f"{100 * r['share_of_peak']:.0f}% of {r['peak_gflops']:.0f}", f"{r['torch']:.0f} ({r['layout']})",
          f"{r['ratio']:.2f}x", mib(r["lwsvm_bytes"]), mib(r["torch_bytes"])] for r in results])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--batches", type=lambda text: [int(word) for word in text.split(",")], default=[100, 200])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--avx2", action="store_true")
    options = parser.parse_args()
    print(table(compare(batches=options.batches, threads=options.threads, rounds=options.rounds,
                        seconds=options.seconds, avx2=options.avx2)))


if __name__ == "__main__":
    main()
