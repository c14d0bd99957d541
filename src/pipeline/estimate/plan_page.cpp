#include <algorithm>

#include "base/error.h"
#include "base/number_format.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/page.h"
#include "evaluation/tracking/page_style.h"
#include "pipeline/estimate/plan_text.h"

namespace smelt::pipeline {
namespace {

constexpr double kWidth = 480, kName = 96, kBar = 22, kLine = 34, kFigure = 84;

struct Bar {
  std::string name, figure;
  cost_model::Estimate value;
};

// Draws a bar, its range and its labels at height `top`. `most` is the value at full width.
std::string bar_svg(const Bar& bar, double top, double most) {
  const auto length = [&](double value) { return value / most * (kWidth - kName - kFigure); };
  const auto at = [&](double value) { return rounded(kName + length(value), 1); };
  const double middle = top + kBar / 2;
  return str("<text class=\"tick\" x=\"0\" y=\"", middle + 4, "\">",
             evaluation::html_text(bar.name), "</text><rect x=\"", kName, "\" y=\"", top,
             "\" width=\"", rounded(length(bar.value.likely), 1), "\" height=\"", kBar,
             "\" rx=\"3\" fill=\"var(--run0)\" opacity=\"0.75\"/><line class=\"axis\" x1=\"",
             at(bar.value.low), "\" x2=\"", at(bar.value.high), "\" y1=\"", middle, "\" y2=\"",
             middle, "\"/><text class=\"tick\" x=\"", kWidth - kFigure + 8, "\" y=\"", middle + 4,
             "\">", evaluation::html_text(bar.figure), "</text>");
}

// Draws a chart with a bar for each value: its length is the likely value, with a line from low to
// high.
std::string bars(const std::string& title, const std::vector<Bar>& all) {
  double most = 0;
  for (const Bar& bar : all) most = std::max(most, bar.value.high);
  std::string out =
      str("<figure class=\"chart\"><figcaption>", title, "</figcaption><svg viewBox=\"0 0 ", kWidth,
          " ", kLine * static_cast<double>(all.size()) + 6, "\" role=\"img\" aria-label=\"", title,
          "\">");
  for (std::size_t i = 0; i < all.size(); ++i)
    out += bar_svg(all[i], kLine * static_cast<double>(i) + 6, most);
  return out + "</svg></figure>\n";
}

cost_model::Estimate estimate_of(const Json& figure) {
  return {.low = figure.at("low").get<double>(),
          .likely = figure.at("likely").get<double>(),
          .high = figure.at("high").get<double>()};
}

}  // namespace

std::string plan_charts(std::string_view where, const Json& plan) try {
  std::vector<Bar> hours, demand, spot;
  for (const Json& row : plan.at("rows")) {
    if (!row.at("fits").get<bool>()) continue;
    const auto type = row.at("type").get<std::string>();
    const cost_model::Estimate run = estimate_of(row.at("run_seconds")).times(1.0 / 3600);
    hours.push_back({type, rounded(run.likely, 1) + " h", run});
    for (const auto& [cost, list] :
         {std::pair{"on_demand_dollars", &demand}, {"spot_dollars", &spot}}) {
      if (row.at(cost).is_null()) continue;
      const cost_model::Estimate dollars = estimate_of(row.at(cost));
      list->push_back({type, "$" + rounded(dollars.likely, 1), dollars});
    }
  }
  std::string out = "<div class=\"charts\">\n";
  for (const auto& [title, list] : {std::pair{"Hours of the run", &hours},
                                    {"US dollars on demand", &demand},
                                    {"US dollars on spot", &spot}})
    if (!list->empty()) out += bars(title, *list);
  return out + "</div>\n";
} catch (const JsonError&) {
  throw UsageError(str(where, " is not a plan"), "write one with `smelt plan RECIPE --json`");
}

std::string plan_page(const Plan& plan) {
  return str(evaluation::kPageHead,
             "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>smelt plan</title>\n<style>",
             evaluation::kPageStyle,
             "</style>\n</head>\n<body>\n<h1>Which machine, how long, how much</h1>\n",
             plan_charts("plan", plan_json(plan)), "<h2>Rows</h2>\n<div class=\"scroll\"><pre>",
             evaluation::html_text(plan_text(plan)), "</pre></div>\n</body>\n</html>\n");
}

}  // namespace smelt::pipeline
