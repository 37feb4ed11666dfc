"""lwsvm refine on several "machines" with slow links between them, on one machine.

    mpi_links.py LWSVM NETWORK DATA [--ranks 1,2,4] [--gbit 10] [--delay-us 100] [--options "..."]

Each rank lives in a network namespace of its own. The namespaces are joined by this script, which hands packets on: each
link carries GBIT gigabits a second, and what is sent arrives DELAY-US microseconds later. (`tc netem` would do the same
where the kernel has it.) Needs root, `ip`, /dev/net/tun and Open MPI. All ranks have one thread, and share this
machine's cores, so seconds of computing mean little: what counts is the epochs of each layer update, what was sent,
and how long exchanges took beside what links of that kind need. Prints a line of JSON for each number of ranks.
"""

import argparse
import ctypes
import fcntl
import heapq
import json
import os
import pathlib
import select
import struct
import subprocess
import tempfile
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 32000  # few large packets: this script is no router
QUEUE = 4 << 20  # bytes that wait for a link, at most


def in_namespace(name, body):
    """Calls body() on a thread that has moved into the network namespace."""
    result = []

    def work():
        with open(f"/run/netns/{name}") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        result.append(body())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return result[0]


def open_tun():
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"link0", IFF_TUN | IFF_NO_PI))
    return tun


class Links:
    """K namespaces, and packets handed on between them."""

    def __init__(self, count, gbit, delay):
        self.names = [f"lwsvm{os.getpid()}-{k}" for k in range(count)]
        self.addresses = [f"10.77.0.{k + 1}" for k in range(count)]
        self.seconds_per_byte, self.delay = 8e-9 / gbit, delay
        self.bytes = 0
        self.stopped = False

    def __enter__(self):
        self.tuns = []
        for name, address in zip(self.names, self.addresses):
            subprocess.run(["ip", "netns", "add", name], check=True)
            self.tuns.append(in_namespace(name, open_tun))
            for command in (f"link set lo up", f"link set link0 mtu {MTU} txqueuelen 1000 up",
                            f"addr add {address}/24 dev link0"):
                subprocess.run(["ip", "-n", name, *command.split()], check=True)
        self.thread = threading.Thread(target=self.carry)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()
        for tun, name in zip(self.tuns, self.names):
            os.close(tun)
            subprocess.run(["ip", "netns", "del", name], check=True)

    def carry(self):
        os.sched_setscheduler(threading.get_native_id(), os.SCHED_FIFO, os.sched_param(10))  # before all others
        free = [0.0] * len(self.tuns)  # when a sender's link is free again
        under_way, number = [], 0  # (due, number, target, packet)
        poll = select.epoll()
        for tun in self.tuns:
            poll.register(tun, select.EPOLLIN)
        sender_of = {tun: k for k, tun in enumerate(self.tuns)}
        while not self.stopped:
            wait = 0.1 if not under_way else max(0.0, under_way[0][0] - time.monotonic())
            for tun, _ in poll.poll(wait):
                sender = sender_of[tun]
                for _ in range(64):
                    try:
                        packet = os.read(tun, MTU + 100)
                    except BlockingIOError:
                        break
                    if len(packet) < 20 or packet[0] >> 4 != 4:
                        continue
                    target = packet[19] - 1
                    now = time.monotonic()
                    if not 0 <= target < len(self.tuns) or free[sender] - now > QUEUE * self.seconds_per_byte:
                        continue  # a full queue drops
                    free[sender] = max(free[sender], now) + len(packet) * self.seconds_per_byte
                    self.bytes += len(packet)
                    heapq.heappush(under_way, (free[sender] + self.delay, number, target, packet))
                    number += 1
            now = time.monotonic()
            while under_way and under_way[0][0] <= now:
                _, _, target, packet = heapq.heappop(under_way)
                try:
                    os.write(self.tuns[target], packet)
                except BlockingIOError:
                    pass  # as above


AGENT = """#!/bin/sh
# In the place of ssh: mpirun says which address, and what to run there.
host=$1; shift
exec ip netns exec {prefix}$((${{host##*.}} - 1)) unshare --uts sh -c "hostname machine-${{host##*.}}; $*"
"""


def refine(links, arguments, folder, count):
    prefix = links.names[0][:-1]
    agent = folder / "agent.sh"
    agent.write_text(AGENT.format(prefix=prefix))
    agent.chmod(0o755)
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{address} slots=1\n" for address in links.addresses))
    run, output = folder / f"run{count}", folder / f"out{count}.onnx"
    command = ["ip", "netns", "exec", links.names[0], "mpirun", "--allow-run-as-root", "--oversubscribe",
               "--bind-to", "none", "-n", str(count), "--hostfile", str(hosts),
               "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self",
               "--mca", "btl_tcp_if_include", "link0", "--mca", "oob_tcp_if_include", "link0",
               arguments.lwsvm, "refine", arguments.network, "--data", arguments.data, "--threads", "1",
               "--run", str(run), "-o", str(output), "-q", *arguments.options.split()]
    before = links.bytes
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    updates = [record for record in records if record["type"] == "update"]
    ranks = next((record["ranks"] for record in records if record["type"] == "ranks"), [])
    print(json.dumps({
        "ranks": count,
        "updates": [{key: update.get(key) for key in ("layer", "epoch", "gap", "primal", "objective")} for update in updates],
        "sent": [rank["bytes_sent"] for rank in ranks],
        "on_the_links": links.bytes - before,
        "exchanges": [rank["exchanges"] for rank in ranks],
        "exchanging": [round(rank["exchanging"], 3) for rank in ranks],
        "waiting": [round(rank["waiting"], 3) for rank in ranks],
        "computing": [round(rank["computing"], 3) for rank in ranks],
    }), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lwsvm", type=os.path.abspath)
    parser.add_argument("network", type=os.path.abspath)
    parser.add_argument("data")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--gbit", type=float, default=10)
    parser.add_argument("--delay-us", type=float, default=100)
    parser.add_argument("--options", default="--moves layers --passes 1")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for count in map(int, arguments.ranks.split(",")):
            with Links(count, arguments.gbit, 1e-6 * arguments.delay_us) as links:
                refine(links, arguments, pathlib.Path(folder), count)


if __name__ == "__main__":
    main()
