#!/usr/bin/env python3
"""Draws scalars of runs over their steps as one SVG picture, from their TensorBoard event files.

    tools/plot_losses.py --tag valid/masked_lm_loss --out curves.svg Amos=demo/amos/model/train AdamW=demo/adamw/model/train

Prints each run's first, lowest and last value. Needs only Python. The format: docs/reference/formats/event_file.md.
"""
import argparse
import struct
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 420, 64, 40, 130, 48
COLOURS = ["#1f6feb", "#d1571f", "#2a8a4a", "#8250df"]


def records(data):
    at = 0
    while at + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        if at + 16 + size > len(data):  # the last record is truncated
            return
        yield data[at + 12: at + 12 + size]
        at += 16 + size


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value = data[at: at + size]
            at += size
        yield key >> 3, value


def curve(folder, tag):
    found = {}
    for path in sorted(Path(folder).glob("events.out.tfevents.*")):
        for record in records(path.read_bytes()):
            event = dict(fields(record))
            step = event.get(2, 0)
            if 7 in event:  # a start of the run: the steps from here on were repeated
                found = {s: v for s, v in found.items() if s < step}
            for _, value in fields(event.get(5, b"")):
                value = dict(fields(value))
                if value.get(1, b"").decode() == tag and 2 in value:
                    found[step] = struct.unpack("<f", value[2])[0]
    if not found:
        raise SystemExit(f"error: {folder}: no scalar {tag}\nhint: name a folder of event files and a tag in them")
    return sorted(found.items())


def ticks(low, high):
    """Returns about five round numbers between `low` and `high`."""
    step = 10.0 ** len(str(int(high - low))) if high - low >= 1 else 1.0
    while (high - low) / step < 4:
        step /= 2 if str(step).lstrip("0.")[0] in "12" else 2.5
    first = int(low / step) * step
    return [t for t in (first + i * step for i in range(40)) if low - 1e-9 <= t <= high + 1e-9]


def svg(runs, tag):
    xs = [s for _, points in runs for s, _ in points]
    ys = [v for _, points in runs for _, v in points]
    x0, x1, y0, y1 = 0, max(xs), min(ys), max(ys)
    y0, y1 = y0 - 0.05 * (y1 - y0), y1 + 0.05 * (y1 - y0) or y0 + 1
    x = lambda s: LEFT + (WIDTH - LEFT - RIGHT) * (s - x0) / (x1 - x0)
    y = lambda v: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (v - y0) / (y1 - y0)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="24" font-weight="bold">{escape(tag)} by step</text>']
    for t in ticks(y0, y1):
        out.append(f'<path d="M{LEFT} {y(t):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 8}" y="{y(t) + 4:.1f}" text-anchor="end">{t:g}</text>')
    for t in ticks(x0, x1):
        out.append(f'<text x="{x(t):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{t:g}</text>')
    for (name, points), colour in zip(runs, COLOURS):
        path = "L".join(f"{x(s):.1f} {y(v):.1f}" for s, v in points)
        s, v = points[-1]
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{x(s) + 8:.1f}" y="{y(v) + 4:.1f}" fill="{colour}">{escape(name)} {v:.3f}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tag", default="valid/masked_lm_loss")
    p.add_argument("--out", required=True, help="the picture")
    p.add_argument("runs", nargs="+", metavar="NAME=FOLDER", help="of event files")
    args = p.parse_args()
    runs = [(name, curve(folder, args.tag)) for name, _, folder in (r.partition("=") for r in args.runs)]
    Path(args.out).write_text(svg(runs, args.tag))
    for name, points in runs:
        print(f"{name}: {args.tag} {points[0][1]:.3f} at step {points[0][0]}, lowest {min(v for _, v in points):.3f}, "
              f"{points[-1][1]:.3f} at step {points[-1][0]}")
    print(f"written: {args.out}")


main()
