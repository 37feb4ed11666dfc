#!/usr/bin/python3
"""`lwsvm adapt --depth auto` beside its new layer alone and beside Adam, on the same features and copies.

    bench/adapt_adam.py LWSVM NETWORK.onnx FOLDER [--seconds 120] [--rates 1e-3,3e-4,1e-4,3e-5] [--work DIR]

lwsvm runs on one thread; what it spends after its features and its new layer are there is its time. Then PyTorch fine-tunes the same layers (all
after the point whose values lwsvm keeps) from the network with that new layer, on the values that lwsvm has kept, copies included: cross-entropy,
Adam, batches of 100, the rate falling to zero as half a cosine, as many seconds of the processor as lwsvm spent (or --seconds), for each rate. The
rate with the most right validation photos wins, ties by loss; only its network is tested, and after it one that was trained again with the
validation photos, as lwsvm does it. Half of the seconds go to each try, and half to that last training, as with lwsvm, so that the search for
a rate costs Adam more. Prints a line of JSON. --work keeps what lwsvm has made, and what is there is not made again.
"""
import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from adapt_head import labels_of, read_features
from torch.nn import functional


class Tail(torch.nn.Module):
    """The nodes of an ONNX file after a value, for networks of convolutions."""

    def __init__(self, model, begin):
        super().__init__()
        self.begin, self.constants, known = begin, {}, {begin}
        tensors = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        self.nodes, self.output = [], model.graph.output[0].name
        for node in model.graph.node:
            if node.op_type == "Constant":
                tensors[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
            if not known & set(node.input):
                continue
            known.add(node.output[0])
            self.nodes.append((node.op_type, list(node.input), node.output[0],
                               {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}))
            for name in node.input:
                if name not in tensors or name in self.constants:
                    continue
                value = torch.from_numpy(np.array(tensors[name]))
                if node.op_type in ("Conv", "Gemm"):
                    value = torch.nn.Parameter(value)
                    self.register_parameter("p_" + re.sub(r"\W", "_", name), value)
                self.constants[name] = value

    def forward(self, x):
        values = dict(self.constants)
        values[self.begin] = x
        for kind, inputs, output, how in self.nodes:
            values[output] = self.step(kind, [values[name] if name else None for name in inputs], how)
        return values[self.output]

    @staticmethod
    def step(kind, x, how):
        if kind == "Conv":
            top, left, bottom, right = how.get("pads", [0, 0, 0, 0])
            padded = functional.pad(x[0], (left, right, top, bottom)) if any((top, left, bottom, right)) else x[0]
            return functional.conv2d(padded, x[1], x[2] if len(x) > 2 else None, how.get("strides", 1), 0,
                                     how.get("dilations", 1), how.get("group", 1))
        if kind == "Clip":
            return torch.clamp(x[0], float(x[1]) if len(x) > 1 else how["min"], float(x[2]) if len(x) > 2 else how["max"])
        if kind == "Gemm":
            return x[0] @ (x[1].T if how.get("transB") else x[1]) + x[2]
        one = {"Relu": lambda: torch.relu(x[0]), "Add": lambda: x[0] + x[1], "Flatten": lambda: x[0].flatten(1),
               "GlobalAveragePool": lambda: x[0].mean((2, 3), keepdim=True), "Concat": lambda: torch.cat(x, 1)}
        if kind not in one:
            raise SystemExit(f"{kind} is not known here")
        return one[kind]()


def value_of(model, name):
    """What lwsvm calls a node is the node's name in the file, or its output's."""
    for node in model.graph.node:
        if name in (node.name, node.output[0]):
            return node.output[0]
    raise SystemExit(f"no node '{name}'")


def shape_of(model, value):
    for info in onnx.shape_inference.infer_shapes(model).graph.value_info:
        if info.name == value:
            return [d.dim_value for d in info.type.tensor_type.shape.dim][1:]
    raise SystemExit(f"the shape of '{value}' is not known")


def judge(tail, x, y):
    tail.eval()
    with torch.no_grad():
        scores = torch.cat([tail(x[i:i + 200]) for i in range(0, len(x), 200)])
    return float((scores.argmax(1) == y).float().mean()), float(functional.cross_entropy(scores, y))


def fine_tune(model, begin, x, y, images, rate, seconds):
    """x, y: all copies, copy after copy of the same images. Of each image one copy is drawn in every pass."""
    torch.manual_seed(0)
    tail = Tail(model, begin)
    adam = torch.optim.Adam(tail.parameters(), lr=rate)
    start, spent = time.process_time(), 0.0
    while spent < seconds:
        order = torch.randperm(images) + images * torch.randint(len(x) // images, (images,))
        for i in range(0, images, 100):
            spent = time.process_time() - start
            if spent >= seconds:
                break
            adam.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * spent / seconds)) / 2
            adam.zero_grad()
            functional.cross_entropy(tail(x[order[i:i + 100]]), y[order[i:i + 100]]).backward()
            adam.step()
    return tail


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program"), parser.add_argument("network"), parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--rates", default="1e-3,3e-4,1e-4,3e-5")
    parser.add_argument("--work", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    parts = {name: os.path.join(args.folder, name) for name in ("train", "val", "test")
             if os.path.isdir(os.path.join(args.folder, name))}
    with tempfile.TemporaryDirectory() as scratch:
        work = os.path.abspath(args.work or scratch)
        os.makedirs(work, exist_ok=True)
        run, cache, result = (os.path.join(work, name) for name in ("run", "cache", "adapt.json"))
        if not os.path.exists(result):
            done = subprocess.run([args.program, "adapt", args.network, "--data", args.folder, "--json", "--cache", cache,
                                   "--threads", "1", "--run", run, "-o", os.path.join(work, "out.onnx")],
                                  check=True, stdout=subprocess.PIPE, env=dict(os.environ, LWSVM_CLOCK="cpu"))
            with open(result, "wb") as stream:
                stream.write(done.stdout)
        with open(result, "rb") as stream:
            ours = json.load(stream)
        file = max(glob.glob(os.path.join(cache, "features", "*")), key=os.path.getsize)
        with open(file, "rb") as stream:
            cut = re.search(r" at '(.*?)' of ", stream.read(512).decode("utf8", "replace")).group(1)
        features = read_features(file)
        model = onnx.load(os.path.join(run, "head.onnx"))
        judged = subprocess.run([args.program, "eval", os.path.join(run, "head.onnx"), "--data", args.folder, "--split", "test", "--json",
                                 "--cache", cache], check=True, stdout=subprocess.PIPE)
    head_test = json.loads(judged.stdout)["accuracy"]
    begin = value_of(model, cut)
    labels, test_labels = labels_of(parts["train"]), labels_of(parts.get("test", parts.get("val")))
    images, tests = len(labels), len(test_labels)
    copies = (len(features) - tests) // images
    x = torch.from_numpy(features).reshape(-1, *shape_of(model, begin))
    x, x_test = x[:copies * images], x[copies * images:]
    y, y_test = torch.from_numpy(labels).long(), torch.from_numpy(test_labels).long()
    same = judge(Tail(model, begin), x_test, y_test)[0]
    assert abs(same - head_test) < 0.01, f"the network is not the same in PyTorch: {same} and {head_test}"

    order = torch.from_numpy(np.random.RandomState(0).permutation(images))
    kept, judges = order[images // 5:], order[:images // 5]
    all_of = lambda rows: torch.cat([rows + t * images for t in range(copies)])  # noqa: E731
    seconds = args.seconds or max(10.0, ours["seconds"] - ours["feature_seconds"] - ours["head_seconds"])
    tries = []
    for rate in map(float, args.rates.split(",")):
        tail = fine_tune(model, begin, x[all_of(kept)], y[kept].repeat(copies), len(kept), rate, seconds / 2)
        right, loss = judge(tail, x[judges], y[judges])
        tries.append({"rate": rate, "val": right, "loss": loss})
        print(tries[-1], file=sys.stderr)
        if max(tries, key=lambda t: (t["val"], -t["loss"])) is tries[-1]:
            best = tail
    rate = max(tries, key=lambda t: (t["val"], -t["loss"]))["rate"]
    adam = {"rate": rate, "test": judge(best, x_test, y_test)[0]}
    adam["test_with_validation"] = judge(fine_tune(model, begin, x, y.repeat(copies), images, rate, seconds / 2), x_test, y_test)[0]
    print(json.dumps({"network": os.path.basename(args.network), "data": os.path.basename(args.folder.rstrip("/")), "cut": cut,
                      "seconds": seconds, "head": ours["head"]["test_accuracy"], "lwsvm": ours["test_accuracy"],
                      "layers": len(ours["layers"]), "adam": adam, "tries": tries}))


if __name__ == "__main__":
    main()
