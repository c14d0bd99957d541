// Curves over steps as an inline SVG, for the page of runs (evaluation/tracking/page.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluation/tracking/run_record.h"

namespace smelt {

// &, <, > and quotes as HTML has them.
std::string html_text(std::string_view text);
// At most six digits: "3.21432", "1e-05", "12345".
std::string number_text(double value);

struct Series {
  std::string label;
  std::size_t run = 0;  // whose colour it has
  bool dashed = false;  // of a validation
  Curve curve;
};

struct Chart {
  std::string title, unit;
  std::vector<Series> series;
};

// A figure with axes, a title for who cannot see it, and the points for the page's script, which
// shows values under the pointer. Of long curves at most 600 points are drawn. Empty where no
// series has a point.
std::string chart_html(const Chart& chart);

// A bar of one run's goodput with its legend.
std::string goodput_html(const SpentTimes& spent);

}  // namespace smelt
