// Style sheet of report pages, and the script that shows values under the pointer.
#pragma once

#include <string_view>

namespace smelt::evaluation {

// Colors by Okabe and Ito, which color-blind people can distinguish; lighter in dark mode.
inline constexpr std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --back: #fff; --card: #f6f7f9; --text: #1b1f24; --soft: #57606a; --line: #d5dae1;
  --run0: #0072b2; --run1: #c25100; --run2: #00805c; --run3: #a8467c; --run4: #8a6500; --run5: #4b4bb5;
  --part0: #00805c; --part-other: #8c959f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1318; --card: #181d24; --text: #e6eaef; --soft: #9aa4af; --line: #323a44;
    --run0: #5cb8f0; --run1: #ff9a52; --run2: #3fd0a4; --run3: #eb9ac8; --run4: #e6c04a; --run5: #a8a8ff;
    --part0: #2fae86; --part-other: #77818c;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1500px; padding: 20px clamp(12px, 3vw, 36px) 60px; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 4px; }
h2 { font-size: 1.15rem; margin: 34px 0 12px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 18px 0 6px; }
p, small { color: var(--soft); }
.charts { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); }
.chart { margin: 0; padding: 12px 12px 8px; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figcaption { font-weight: 600; }
figcaption small { font-weight: 400; }
.plot { position: relative; }
.plot svg { display: block; width: 100%; height: auto; touch-action: pan-y; }
.tick { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
polyline.dashed, line.dashed { stroke-dasharray: 5 4; }
.key { width: 24px; height: 8px; margin-right: 6px; }
.key line { stroke-width: 2.4; }
.run0 { stroke: var(--run0); } .run1 { stroke: var(--run1); } .run2 { stroke: var(--run2); }
.run3 { stroke: var(--run3); } .run4 { stroke: var(--run4); } .run5 { stroke: var(--run5); }
circle.run0 { fill: var(--run0); } circle.run1 { fill: var(--run1); } circle.run2 { fill: var(--run2); }
circle.run3 { fill: var(--run3); } circle.run4 { fill: var(--run4); } circle.run5 { fill: var(--run5); }
line.beaten { stroke: var(--line); } circle.beaten { fill: var(--part-other); }
.cursor { stroke: var(--soft); stroke-dasharray: 2 3; visibility: hidden; }
output { position: absolute; top: 4px; padding: 4px 8px; border-radius: 6px; background: var(--back); font-size: 12.5px;
  border: 1px solid var(--line); pointer-events: none; visibility: hidden; white-space: pre; font-variant-numeric: tabular-nums; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 6px 0 0; padding: 0; list-style: none; font-size: 13px; }
.legend b { font-variant-numeric: tabular-nums; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 5px 16px 5px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { text-align: right; }
td.other { font-weight: 600; }
td code, .filled code { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.bar { display: flex; height: 22px; border-radius: 5px; overflow: hidden; background: var(--card); max-width: 900px; }
.part { flex: 0 0 0; min-width: 2px; }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; }
.part0 { background: var(--part0); } .part1 { background: #8fa3d9; } .part2 { background: #5b8fd1; }
.part3 { background: #a779c9; } .part4 { background: #6fc3c9; } .part5 { background: #e69f00; }
.part6 { background: #d8c23a; } .part7 { background: #4aa8d8; } .part8 { background: #d55e00; }
.part9 { background: #b5484f; } .part10 { background: var(--part-other); }
td.heat { background: color-mix(in srgb, var(--run0) calc(var(--share) * 60%), transparent); padding: 5px 10px; }
th[scope=row] { color: var(--soft); font-weight: 600; }
.calibration { max-width: 340px; margin: 14px 0; }
.calibration svg { display: block; width: 100%; height: auto; }
rect.bin { fill: var(--run0); fill-opacity: .75; }
line.axis { fill: none; }
summary { cursor: pointer; color: var(--soft); }
)css";

inline constexpr std::string_view kPageScript = R"js(
for (const svg of document.querySelectorAll("svg[data-points]")) {
  const p = JSON.parse(svg.dataset.points), cursor = svg.querySelector(".cursor"), out = svg.parentNode.querySelector("output");
  const nearest = (steps, x) => {
    let low = 0, high = steps.length - 1;
    while (low < high) { const mid = (low + high) >> 1; if (steps[mid] < x) low = mid + 1; else high = mid; }
    return low > 0 && x - steps[low - 1] < steps[low] - x ? low - 1 : low;
  };
  const hide = () => { cursor.style.visibility = out.style.visibility = "hidden"; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * p.width;
    if (x < p.left - 8 || x > p.right + 8) return hide();
    const wanted = p.x[0] + (x - p.left) / (p.right - p.left) * (p.x[1] - p.x[0]);
    const all = p.series.filter((s) => s.steps.length).map((s) => [s, nearest(s.steps, wanted)]);
    const [first, i] = all.reduce((a, b) =>
      Math.abs(b[0].steps[b[1]] - wanted) < Math.abs(a[0].steps[a[1]] - wanted) ? b : a);
    const at = p.left + (first.steps[i] - p.x[0]) / (p.x[1] - p.x[0]) * (p.right - p.left);
    cursor.setAttribute("x1", at); cursor.setAttribute("x2", at);
    out.textContent = "step " + first.steps[i] + all.map(([s, k]) =>
      "\n" + s.label + "  " + s.values[k] + (s.steps[k] === first.steps[i] ? "" : "  (step " + s.steps[k] + ")")).join("");
    out.style.left = at < p.width / 2 ? at / p.width * 100 + 2 + "%" : "auto";
    out.style.right = at < p.width / 2 ? "auto" : 102 - at / p.width * 100 + "%";
    cursor.style.visibility = out.style.visibility = "visible";
  });
}
)js";

}  // namespace smelt::evaluation
