#include <algorithm>

#include "base/error.h"
#include "base/figures.h"
#include "recipe/plan_text.h"
#include "track/chart.h"
#include "track/page.h"
#include "track/page_style.h"

namespace smelt {
namespace {

constexpr double kWidth = 480, kName = 96, kBar = 22, kLine = 34, kFigure = 84;

struct Bar {
  std::string name, figure;
  Estimate value;
};

// Where and how long, in the drawing.
std::string bar_svg(const Bar& bar, double top, double most) {
  const auto length = [&](double value) { return value / most * (kWidth - kName - kFigure); };
  const auto at = [&](double value) { return rounded(kName + length(value), 1); };
  const double middle = top + kBar / 2;
  return str("<text class=\"tick\" x=\"0\" y=\"", middle + 4, "\">", html_text(bar.name),
             "</text><rect x=\"", kName, "\" y=\"", top, "\" width=\"",
             rounded(length(bar.value.likely), 1), "\" height=\"", kBar,
             "\" rx=\"3\" fill=\"var(--run0)\" opacity=\"0.75\"/><line class=\"axis\" x1=\"",
             at(bar.value.low), "\" x2=\"", at(bar.value.high), "\" y1=\"", middle, "\" y2=\"",
             middle, "\"/><text class=\"tick\" x=\"", kWidth - kFigure + 8, "\" y=\"", middle + 4,
             "\">", html_text(bar.figure), "</text>");
}

// A bar for each, as long as is likely, with a line from low to high.
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

std::string charts(const Plan& plan) {
  std::vector<Bar> hours, demand, spot;
  for (const PlanRow& row : plan.rows) {
    if (!row.fits()) continue;
    const Estimate run = row.time.seconds.times(1.0 / 3600);
    hours.push_back({row.type.name, rounded(run.likely, 1) + " h", run});
    for (const auto& [cost, list] :
         {std::pair{&row.cost.on_demand, &demand}, {&row.cost.spot, &spot}})
      if (*cost) list->push_back({row.type.name, "$" + rounded((*cost)->likely, 1), **cost});
  }
  std::string out = "<div class=\"charts\">\n";
  for (const auto& [title, list] : {std::pair{"Hours of the run", &hours},
                                    {"US dollars on demand", &demand},
                                    {"US dollars on spot", &spot}})
    if (!list->empty()) out += bars(title, *list);
  return out + "</div>\n";
}

}  // namespace

std::string plan_page(const Plan& plan) {
  return str(kPageHead,
             "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>smelt plan</title>\n<style>",
             kPageStyle, "</style>\n</head>\n<body>\n<h1>Which TPU, how long, how much</h1>\n",
             charts(plan), "<h2>Rows</h2>\n<div class=\"scroll\"><pre>", html_text(plan_text(plan)),
             "</pre></div>\n</body>\n</html>\n");
}

}  // namespace smelt
