#include "track/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <limits>

#include "base/progress.h"
#include "base/str.h"

namespace smelt {
namespace {

// The drawing, in units of its view box, which are CSS pixels on a narrow screen.
constexpr double kWidth = 460, kHeight = 250, kLeft = 58, kRight = 14, kTop = 12, kBottom = 34;
constexpr std::size_t kMostPoints = 600;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double x) { low = std::min(low, x), high = std::max(high, x); }
  bool is_empty() const { return low > high; }
};

// Round numbers about `count` of which cover the range.
std::vector<double> ticks_of(const Range& range, int count) {
  const double raw = (range.high - range.low) / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  std::vector<double> out;
  for (double i = std::ceil(range.low / step - 1e-9); i * step <= range.high + 1e-9 * step; ++i)
    out.push_back(i == 0 ? 0 : i * step);
  return out;
}

// First and last, and those between at even distances.
Curve thinned(const Curve& curve) {
  if (curve.size() <= kMostPoints) return curve;
  Curve out;
  for (std::size_t i = 0; i < kMostPoints; ++i)
    out.push_back(curve[i * (curve.size() - 1) / (kMostPoints - 1)]);
  return out;
}

struct Frame {
  Range x, y;

  explicit Frame(const Chart& chart) {
    for (const Series& series : chart.series)
      for (const CurvePoint& p : series.curve) {
        x.take(static_cast<double>(p.step));
        if (std::isfinite(p.value)) y.take(p.value);
      }
    if (is_empty()) return;
    if (x.low == x.high) x = {x.low - 1, x.high + 1};
    const double spare =
        y.low == y.high ? std::max(std::abs(y.low) * 0.1, 1e-9) : 0.05 * (y.high - y.low);
    const bool from_zero = y.low >= 0 && y.low - spare < 0;
    y = {from_zero ? 0 : y.low - spare, y.high + spare};
  }
  bool is_empty() const { return x.is_empty() || y.is_empty(); }
  double left(double step) const {
    return kLeft + (step - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double top(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

std::string at(double x) { return str(std::fixed, std::setprecision(1), x); }

std::string axes(const Frame& frame) {
  std::string out;
  for (const double y : ticks_of(frame.y, 6))
    out += str("<line class=\"grid\" x1=\"", kLeft, "\" x2=\"", kWidth - kRight, "\" y1=\"",
               at(frame.top(y)), "\" y2=\"", at(frame.top(y)), "\"/><text class=\"tick\" x=\"",
               kLeft - 6, "\" y=\"", at(frame.top(y) + 4), "\" text-anchor=\"end\">",
               number_text(y), "</text>");
  for (const double x : ticks_of(frame.x, 4))
    out += str("<text class=\"tick\" x=\"", at(frame.left(x)), "\" y=\"", kHeight - 14,
               "\" text-anchor=\"middle\">", number_text(x), "</text>");
  return out + str("<line class=\"axis\" x1=\"", kLeft, "\" x2=\"", kWidth - kRight, "\" y1=\"",
                   kHeight - kBottom, "\" y2=\"", kHeight - kBottom, "\"/>");
}

std::string curve_svg(const Frame& frame, const Series& series) {
  const std::string style = str("run", series.run % 6, series.dashed ? " dashed" : "");
  std::string points, dots;
  for (const CurvePoint& p : series.curve) {
    if (!std::isfinite(p.value)) continue;
    const std::string x = at(frame.left(static_cast<double>(p.step))), y = at(frame.top(p.value));
    points += str(points.empty() ? "" : " ", x, ",", y);
    if (series.curve.size() <= 24)
      dots += str("<circle class=\"", style, "\" cx=\"", x, "\" cy=\"", y, "\" r=\"2.6\"/>");
  }
  return str("<polyline class=\"", style, "\" points=\"", points, "\"/>", dots);
}

// For the script: where the drawing lies, and what it shows.
nlohmann::json points_json(const Frame& frame, const std::vector<Series>& all) {
  nlohmann::json out{{"x", {frame.x.low, frame.x.high}},
                     {"left", kLeft},
                     {"right", kWidth - kRight},
                     {"width", kWidth},
                     {"series", nlohmann::json::array()}};
  for (const Series& series : all) {
    nlohmann::json steps = nlohmann::json::array(), values = steps;
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
  const Frame frame(drawn);
  if (frame.is_empty()) return {};
  std::string curves;
  for (const Series& series : drawn.series) curves += curve_svg(frame, series);
  const std::string unit =
      chart.unit.empty() ? "" : str(" <small>", html_text(chart.unit), "</small>");
  return str("<figure class=\"chart\"><figcaption>", html_text(chart.title), unit,
             "</figcaption><div class=\"plot\"><svg viewBox=\"0 0 ", kWidth, " ", kHeight,
             "\" role=\"img\" aria-label=\"", html_text(chart.title),
             " over steps\" data-points=\"", html_text(points_json(frame, drawn.series).dump()),
             "\">", axes(frame), curves, "<line class=\"cursor\" y1=\"", kTop, "\" y2=\"",
             kHeight - kBottom, "\"/></svg><output></output></div>", legend(drawn), "</figure>\n");
}

std::string goodput_html(const SpentTimes& spent) {
  std::string bar, key;
  for (std::size_t i = 0; i < kSpentKinds; ++i) {
    const auto kind = static_cast<Spent>(i);
    const double share = 100 * spent.share(kind);
    if (spent[kind] <= 0) continue;
    const std::string percent = str(std::fixed, std::setprecision(1), share, " %");
    bar += str("<span class=\"part part", i, "\" style=\"flex-grow:", number_text(share),
               "\" title=\"", spent_label(kind), " ", percent, "\"></span>");
    key += str("<li><span class=\"swatch part", i, "\"></span>", spent_label(kind), " <b>", percent,
               "</b> <small>", duration_text(spent[kind]), "</small></li>");
  }
  return str("<div class=\"bar\" role=\"img\" aria-label=\"share of time by category\">", bar,
             "</div><ul class=\"legend\">", key, "</ul>\n");
}

}  // namespace smelt
