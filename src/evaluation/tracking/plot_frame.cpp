#include "evaluation/tracking/plot_frame.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/number_format.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"

namespace smelt::evaluation {
namespace {

// Returns round tick values, about `count` of them over the range.
std::vector<double> ticks_of(const PlotRange& range, int count) {
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

}  // namespace

void PlotRange::take(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

void PlotRange::widen() {
  const double spare = low == high ? std::max(std::abs(low) * 0.1, 1e-9) : 0.05 * (high - low);
  const bool from_zero = low >= 0 && low - spare < 0;
  *this = {from_zero ? 0 : low - spare, high + spare};
}

void PlotFrame::settle() {
  if (is_empty()) return;
  if (x.low == x.high) x = {x.low - 1, x.high + 1};
  y.widen();
}

double PlotFrame::left(double value) const {
  return kPlotLeft + (value - x.low) / (x.high - x.low) * (kPlotWidth - kPlotLeft - kPlotRight);
}

double PlotFrame::top(double value) const {
  return kPlotHeight - kPlotBottom -
         (value - y.low) / (y.high - y.low) * (kPlotHeight - kPlotTop - kPlotBottom);
}

std::string svg_number(double value) { return rounded(value, 1); }

std::string plot_axes(const PlotFrame& frame) {
  std::string out;
  for (const double y : ticks_of(frame.y, 6))
    out += str("<line class=\"grid\" x1=\"", kPlotLeft, "\" x2=\"", kPlotWidth - kPlotRight,
               "\" y1=\"", svg_number(frame.top(y)), "\" y2=\"", svg_number(frame.top(y)),
               "\"/><text class=\"tick\" x=\"", kPlotLeft - 6, "\" y=\"",
               svg_number(frame.top(y) + 4), "\" text-anchor=\"end\">", number_text(y), "</text>");
  for (const double x : ticks_of(frame.x, 4))
    out += str("<text class=\"tick\" x=\"", svg_number(frame.left(x)), "\" y=\"", kPlotHeight - 14,
               "\" text-anchor=\"middle\">", number_text(x), "</text>");
  return out + str("<line class=\"axis\" x1=\"", kPlotLeft, "\" x2=\"", kPlotWidth - kPlotRight,
                   "\" y1=\"", kPlotHeight - kPlotBottom, "\" y2=\"", kPlotHeight - kPlotBottom,
                   "\"/>");
}

}  // namespace smelt::evaluation
