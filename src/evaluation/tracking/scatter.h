// Points of things that cost something and are worth something, as an inline SVG.
#pragma once

#include <string>
#include <vector>

namespace smelt {

struct ScatterPoint {
  std::string label;
  double x = 0, y = 0;
  double low = 0, high = 0;  // of y: a line from one to the other
  bool beaten = false;       // grey: another is no worse in both and better in one
};

struct Scatter {
  std::string title, x_unit, y_unit;
  std::vector<ScatterPoint> points;
};

// A figure with axes, names beside the points, and a stepped line through those that nothing beats,
// the smallest first. Points that are no numbers are left out; empty where none is left.
std::string scatter_html(const Scatter& scatter);

}  // namespace smelt
