// Scatter plots of benefit over cost as inline SVG.
#pragma once

#include <string>
#include <vector>

namespace smelt::evaluation {

struct ScatterPoint {
  std::string label;
  double x = 0, y = 0;
  double low = 0, high = 0;  // interval of y, drawn as a vertical line
  bool beaten = false;       // dominated by another point; drawn in grey
};

struct Scatter {
  std::string title, x_unit, y_unit;
  std::vector<ScatterPoint> points;
};

// Returns a figure with axes, labels and a stepped line through the points that no other point
// dominates. Omits points that are not finite; empty if none remains.
std::string scatter_html(const Scatter& scatter);

}  // namespace smelt::evaluation
