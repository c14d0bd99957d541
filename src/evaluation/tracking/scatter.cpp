#include "evaluation/tracking/scatter.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/plot_frame.h"

namespace smelt::evaluation {
namespace {

std::string point_svg(const PlotFrame& frame, const ScatterPoint& p) {
  const std::string x = svg_number(frame.left(p.x)), y = svg_number(frame.top(p.y));
  const char* const style = p.beaten ? "beaten" : "run0";
  const bool right = frame.left(p.x) > kPlotWidth * 0.6;
  return str("<line class=\"", style, "\" x1=\"", x, "\" x2=\"", x, "\" y1=\"",
             svg_number(frame.top(p.low)), "\" y2=\"", svg_number(frame.top(p.high)),
             "\"/><circle class=\"", style, "\" cx=\"", x, "\" cy=\"", y, "\" r=\"4\"><title>",
             html_text(p.label), ": ", number_text(p.x), ", ", number_text(p.y),
             "</title></circle><text class=\"tick\" x=\"",
             svg_number(frame.left(p.x) + (right ? -7 : 7)), "\" y=\"",
             svg_number(frame.top(p.y) - 6), "\" text-anchor=\"", right ? "end" : "start", "\">",
             html_text(p.label), "</text>");
}

// Returns the Pareto front: from each point to the right, then up to the next.
std::string front_svg(const PlotFrame& frame, std::vector<ScatterPoint> points) {
  std::erase_if(points, [](const ScatterPoint& p) { return p.beaten; });
  std::ranges::sort(points, {}, &ScatterPoint::x);
  std::string line;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string x = svg_number(frame.left(points[i].x));
    if (i > 0) line += str(x, ",", svg_number(frame.top(points[i - 1].y)), " ");
    line += str(x, ",", svg_number(frame.top(points[i].y)), " ");
  }
  return str("<polyline class=\"run0 dashed\" points=\"", trim(line), "\"/>");
}

}  // namespace

std::string scatter_html(const Scatter& scatter) {
  std::vector<ScatterPoint> points = scatter.points;
  std::erase_if(points, [](const ScatterPoint& p) {
    return !std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.low) ||
           !std::isfinite(p.high);
  });
  if (points.empty()) return {};
  PlotFrame frame;
  frame.x.take(0);  // the cost axis starts at 0
  for (const ScatterPoint& p : points) {
    frame.x.take(p.x);
    frame.y.take(p.low);
    frame.y.take(p.high);
  }
  frame.x.widen();
  frame.settle();
  std::string drawn = front_svg(frame, points);
  for (const ScatterPoint& p : points) drawn += point_svg(frame, p);
  return str("<figure class=\"chart\"><figcaption>", html_text(scatter.title), " <small>",
             html_text(scatter.y_unit), " over ", html_text(scatter.x_unit),
             "</small></figcaption><svg viewBox=\"0 0 ", kPlotWidth, " ", kPlotHeight,
             "\" role=\"img\" aria-label=\"", html_text(scatter.title), "\">", plot_axes(frame),
             drawn, "</svg></figure>\n");
}

}  // namespace smelt::evaluation
