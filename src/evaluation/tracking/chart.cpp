#include "evaluation/tracking/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/number_format.h"
#include "base/progress.h"
#include "base/str.h"
#include "evaluation/tracking/plot_frame.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kMostPoints = 600;

// Returns the first and last point and evenly spaced ones between.
Curve thinned(const Curve& curve) {
  if (curve.size() <= kMostPoints) return curve;
  Curve out;
  for (std::size_t i = 0; i < kMostPoints; ++i)
    out.push_back(curve[i * (curve.size() - 1) / (kMostPoints - 1)]);
  return out;
}

PlotFrame frame_of(const Chart& chart) {
  PlotFrame out;
  for (const Series& series : chart.series)
    for (const CurvePoint& p : series.curve) {
      out.x.take(static_cast<double>(p.step));
      if (std::isfinite(p.value)) out.y.take(p.value);
    }
  out.settle();
  return out;
}

std::string curve_svg(const PlotFrame& frame, const Series& series) {
  const std::string style = str("run", series.run % 6, series.dashed ? " dashed" : "");
  std::string points, dots;
  for (const CurvePoint& p : series.curve) {
    if (!std::isfinite(p.value)) continue;
    const std::string x = svg_number(frame.left(static_cast<double>(p.step))),
                      y = svg_number(frame.top(p.value));
    points += str(points.empty() ? "" : " ", x, ",", y);
    if (series.curve.size() <= 24)
      dots += str("<circle class=\"", style, "\" cx=\"", x, "\" cy=\"", y, "\" r=\"2.6\"/>");
  }
  return str("<polyline class=\"", style, "\" points=\"", points, "\"/>", dots);
}

// Returns the data for the page's script: the position of the plot, and the values of its points.
Json points_json(const PlotFrame& frame, const std::vector<Series>& all) {
  Json out{{"x", {frame.x.low, frame.x.high}},
           {"left", kPlotLeft},
           {"right", kPlotWidth - kPlotRight},
           {"width", kPlotWidth},
           {"series", Json::array()}};
  for (const Series& series : all) {
    Json steps = Json::array(), values = steps;
    for (const CurvePoint& p : series.curve) {
      steps.push_back(p.step);
      values.push_back(number_text(p.value));
    }
    out["series"].push_back({{"label", series.label}, {"steps", steps}, {"values", values}});
  }
  return out;
}

std::string legend(const Chart& chart) {
  std::string out;
  for (const Series& series : chart.series)
    if (!series.curve.empty())
      out +=
          str("<li><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\"><line class=\"run",
              series.run % 6, series.dashed ? " dashed" : "",
              "\" x1=\"0\" x2=\"24\" y1=\"4\" y2=\"4\"/></svg>", html_text(series.label), " <b>",
              number_text(series.curve.back().value), "</b></li>");
  return str("<ul class=\"legend\">", out, "</ul>");
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text,
                std::abs(value) >= 1e6 && std::abs(value) < 1e15 ? "%.0f" : "%.6g", value);
  return text;
}

std::string chart_html(const Chart& chart) {
  Chart drawn = chart;
  for (Series& series : drawn.series) series.curve = thinned(series.curve);
  const PlotFrame frame = frame_of(drawn);
  if (frame.is_empty()) return {};
  std::string curves;
  for (const Series& series : drawn.series) curves += curve_svg(frame, series);
  const std::string unit =
      chart.unit.empty() ? "" : str(" <small>", html_text(chart.unit), "</small>");
  return str("<figure class=\"chart\"><figcaption>", html_text(chart.title), unit,
             "</figcaption><div class=\"plot\"><svg viewBox=\"0 0 ", kPlotWidth, " ", kPlotHeight,
             "\" role=\"img\" aria-label=\"", html_text(chart.title),
             " over steps\" data-points=\"", html_text(points_json(frame, drawn.series).dump()),
             "\">", plot_axes(frame), curves, "<line class=\"cursor\" y1=\"", kPlotTop, "\" y2=\"",
             kPlotHeight - kPlotBottom, "\"/></svg><output></output></div>", legend(drawn),
             "</figure>\n");
}

std::string goodput_html(const SpentTimes& spent) {
  std::string bar, key;
  for (std::size_t i = 0; i < kSpentKinds; ++i) {
    const auto kind = static_cast<GoodputBucket>(i);
    const double share = 100 * spent.share(kind);
    if (spent[kind] <= 0) continue;
    const std::string percent = rounded(share, 1) + " %";
    bar += str("<span class=\"part part", i, "\" style=\"flex-grow:", number_text(share),
               "\" title=\"", spent_label(kind), " ", percent, "\"></span>");
    key += str("<li><span class=\"swatch part", i, "\"></span>", spent_label(kind), " <b>", percent,
               "</b> <small>", duration_text(spent[kind]), "</small></li>");
  }
  return str("<div class=\"bar\" role=\"img\" aria-label=\"share of time by category\">", bar,
             "</div><ul class=\"legend\">", key, "</ul>\n");
}

}  // namespace smelt::evaluation
