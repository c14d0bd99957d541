// Charts of curves over steps as inline SVG, for run reports (evaluation/tracking/page.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluation/tracking/run_record.h"

namespace smelt::evaluation {

// Escapes &, <, > and quotes for HTML.
std::string html_text(std::string_view text);
// Formats a number with at most six digits: "3.21432", "1e-05", "12345".
std::string number_text(double value);

struct Series {
  std::string label;
  std::size_t run = 0;  // index of the run, which determines the color
  bool dashed = false;  // true for metrics on held-out examples
  Curve curve;
};

struct Chart {
  std::string title, unit;
  std::vector<Series> series;
};

// Returns a figure with axes, a text alternative, and the points for the page's script, which shows
// values under the pointer. Draws at most 600 points of a curve. Empty if no series has a point.
std::string chart_html(const Chart& chart);

// Returns a bar of one run's goodput with its legend.
std::string goodput_html(const SpentTimes& spent);

}  // namespace smelt::evaluation
