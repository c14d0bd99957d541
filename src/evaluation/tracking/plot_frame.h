// The frame of a plot: value ranges, positions, and the axes as SVG.
#pragma once

#include <limits>
#include <string>

namespace smelt::evaluation {

// The size of a plot and its margins, in units of the SVG view box. A unit is a CSS pixel on a
// narrow screen.
inline constexpr double kPlotWidth = 460, kPlotHeight = 250, kPlotLeft = 58, kPlotRight = 14,
                        kPlotTop = 12, kPlotBottom = 34;

struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value);
  bool is_empty() const { return low > high; }
  // Extends the range by a twentieth on both sides, but not below 0 if no value is negative.
  void widen();
};

struct PlotFrame {
  PlotRange x, y;

  bool is_empty() const { return x.is_empty() || y.is_empty(); }
  // Call this after all points were added: adds a vertical margin, and widens the x range if all
  // points have the same x.
  void settle();
  double left(double value) const;
  double top(double value) const;
};

// Formats a coordinate with one decimal.
std::string svg_number(double value);
// Returns the grid lines and tick labels of both axes.
std::string plot_axes(const PlotFrame& frame);

}  // namespace smelt::evaluation
