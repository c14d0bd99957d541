#!/usr/bin/env python3
"""Times the hub of a pod with many processes: until all are connected, for a gather, and until all know of a death.

Builds and runs pod_hub_load of build/release, in which the processes are threads connected over loopback. They share
this machine's cores with the hub; on a real pod each has its own.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--processes", default="4,64,256")
    p.add_argument("--gathers", type=int, default=1000)
    p.add_argument("--bytes", type=int, default=100, help="bytes that each process contributes to a gather")
    args = p.parse_args()
    build = subprocess.run(["cmake", "--build", "--preset", "release", "--target", "pod_hub_load"], cwd=ROOT,
                           capture_output=True, text=True)
    if build.returncode != 0:
        raise SystemExit(build.stdout + build.stderr)
    for processes in args.processes.split(","):
        out = subprocess.run([ROOT / "build/release/tests/pod_hub_load", processes, str(args.gathers), str(args.bytes)],
                             capture_output=True, text=True)
        if out.returncode != 0:
            raise SystemExit(out.stdout + out.stderr)
        words = dict(line.split(" ", 1) for line in out.stdout.splitlines())
        print(json.dumps({"load": round(os.getloadavg()[0], 1), "processes": int(processes), "bytes": args.bytes}
                         | {name: round(float(words[name]), 3) for name in ("connect_s", "gather_ms", "death_s")}))


main()
