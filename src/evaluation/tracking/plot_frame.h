// The frame of a drawing: which values its edges have, and its axes as SVG.
#pragma once

#include <limits>
#include <string>

namespace smelt {

// In units of the view box, which are CSS pixels on a narrow screen.
inline constexpr double kPlotWidth = 460, kPlotHeight = 250, kPlotLeft = 58, kPlotRight = 14,
                        kPlotTop = 12, kPlotBottom = 34;

struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value);
  bool is_empty() const { return low > high; }
  // A twentieth of it more on both sides, but not below 0 where nothing is.
  void widen();
};

struct PlotFrame {
  PlotRange x, y;

  bool is_empty() const { return x.is_empty() || y.is_empty(); }
  // Once all points are taken: leaves room above and below, and gives one point a width.
  void settle();
  double left(double value) const;
  double top(double value) const;
};

// With one digit.
std::string svg_number(double value);
// Lines and numbers of both axes.
std::string plot_axes(const PlotFrame& frame);

}  // namespace smelt
