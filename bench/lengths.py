#!/usr/bin/env python3
"""Times an epoch of rows with mixed lengths: with batches of a few lengths, and with all rows padded to the longest.

    python bench/lengths.py [--sizes tiny,base] [--rows 4096]

Needs build/release/smelt (scripts/build). Both fine-tune the same model on the same batches: with data.lengths auto,
and with only the longest length, which does not change the batches. The second of two epochs is timed, when all
programs are compiled. Prints the seconds of the epochs, their ratio, the largest difference of an epoch's losses
(without dropout, they differ only by rounding), and the share of the time spent waiting for input.
"""
import argparse
import json
import os
import tempfile
from pathlib import Path

import finetuned_model as made


def epochs(program, work, base, train, rows, lengths, round_):
    """Runs the epochs and returns the log record of each."""
    steps = rows * 9 // 10 // 32  # a tenth is held out
    out = work / f"{lengths}-{round_}"
    yaml = work / f"{lengths}-{round_}.yaml"
    yaml.write_text(made.recipe(out, base, train, 2 * steps, data={"lengths": lengths}, train={"logging_steps": steps}))
    made.smelt(program, "run", yaml)
    records = [json.loads(line) for line in (out / "model/metrics.jsonl").read_text().splitlines()]
    return [r for r in records if r["kind"] == "line"], steps * 32


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sizes", default="tiny,base")
    p.add_argument("--rows", type=int, default=4096, help="number of rows; a quarter of them for base")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--smelt", default=str(made.ROOT / "build/release/smelt"))
    args = p.parse_args()
    for size in args.sizes.split(","):
        rows = args.rows // 4 if size == "base" else args.rows
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            base = made.encoder(args.smelt, size, work)
            made.write_rows(work / "train.tsv", rows)
            seconds, losses, waited = {"auto": [], "128": []}, {}, 0
            for round_ in range(args.rounds):
                for lengths in seconds:
                    lines, examples = epochs(args.smelt, work, base, work / "train.tsv", rows, lengths, round_)
                    seconds[lengths].append(examples / lines[-1]["sequences_per_second"])
                    losses[lengths] = [line["loss"] for line in lines]
                    waited = max(waited, lines[-1]["input_share"])
        cut, padded = min(seconds["auto"]), min(seconds["128"])
        print(json.dumps({
            "size": size, "rows": rows, "epoch_s_cut": round(cut, 3), "epoch_s_padded": round(padded, 3),
            "ratio": round(padded / cut, 3),
            "loss_difference": max(abs(a - b) for a, b in zip(losses["auto"], losses["128"])), "losses": losses["auto"],
            "waiting_for_input": round(waited, 5), "load": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
