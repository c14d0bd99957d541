#include "evaluation/tracking/predictions_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/number_format.h"
#include "base/plural.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/html.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kShownText = 400, kShownLabels = 100;

std::string fixed(double value, int digits = 3) {
  return std::isfinite(value) ? rounded(value, digits) : "–";
}

std::string interval_text(const Interval& i) {
  return str(fixed(i.value), " <small>[", fixed(i.low), ", ", fixed(i.high), "]</small>");
}

// Returns the row with the mean over the runs and the standard deviation, for metrics that all runs
// have.
std::string mean_row(const std::vector<NamedFigures>& runs) {
  const auto n = static_cast<double>(runs.size());
  std::string cells = table_cell("mean ± spread") + table_cell("");
  for (std::size_t i = 0; i < runs.front().figures.scores.size(); ++i) {
    double sum = 0, squares = 0;
    for (const NamedFigures& run : runs) sum += run.figures.scores[i].score.value;
    for (const NamedFigures& run : runs)
      squares += std::pow(run.figures.scores[i].score.value - sum / n, 2);
    cells += table_cell(str(fixed(sum / n), " ± ", fixed(std::sqrt(squares / (n - 1)))), "number");
  }
  return str("<tr>", cells, "</tr>");
}

bool same_metrics(const std::vector<NamedFigures>& runs) {
  return std::ranges::all_of(runs, [&](const NamedFigures& run) {
    return std::ranges::equal(run.figures.scores, runs.front().figures.scores, {},
                              &NamedInterval::metric, &NamedInterval::metric);
  });
}

std::string score_table(const std::vector<NamedFigures>& runs) {
  std::string out;
  const bool same = same_metrics(runs);
  const auto head = [](const NamedFigures& run) {
    std::vector<std::string> names{"run", "examples"};
    for (const NamedInterval& one : run.figures.scores) names.push_back(one.metric);
    return table_head(names);
  };
  std::string rows;
  for (const NamedFigures& run : runs) {
    if (run.figures.scores.empty()) continue;
    std::string cells =
        table_cell(html_text(run.run)) + table_cell(str(run.figures.examples), "number");
    for (const NamedInterval& one : run.figures.scores)
      cells += table_cell(interval_text(one.score), "number");
    rows += str("<tr>", cells, "</tr>");
    if (!same) out += html_table(head(run), std::exchange(rows, ""));
  }
  if (same && !rows.empty())
    out = html_table(head(runs.front()), rows + (runs.size() > 1 ? mean_row(runs) : ""));
  return out.empty() ? out
                     : out +
                           "<p>95 % confidence intervals from 1000 bootstrap samples of the "
                           "examples.</p>\n";
}

// Returns the confusion matrix with a row for each correct class. The shade of a cell shows its
// share of the row.
std::string class_table(const PredictionFigures& figures) {
  if (!figures.table)
    return figures.classes == 0 ? ""
                                : str("<p>Its ", figures.classes,
                                      " classes are too many for a confusion matrix.</p>\n");
  const ClassTable& table = *figures.table;
  std::vector<std::string> head{"correct class (rows), predicted (columns)"};
  head.insert(head.end(), table.names.begin(), table.names.end());
  std::string rows;
  for (std::size_t right = 0; right < table.names.size(); ++right) {
    std::string cells =
        str("<th scope=\"row\" dir=\"auto\">", html_text(table.names[right]), "</th>");
    std::int64_t all = 0;
    for (const std::int64_t count : table.counts[right]) all += count;
    for (const std::int64_t count : table.counts[right])
      cells += str(
          "<td class=\"number heat\" style=\"--share:",
          fixed(static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(all, 1)),
                2),
          "\">", count == 0 ? "" : str(count), "</td>");
    rows += str("<tr>", cells, "</tr>");
  }
  return html_table(table_head(head), rows);
}

// Draws the share of correct predictions over predicted probability, and the diagonal of perfect
// calibration.
std::string calibration_chart(const PredictionFigures& figures) {
  if (figures.calibration.empty()) return {};
  constexpr double kSize = 220, kLeft = 34, kTop = 8;
  const auto x = [&](double share) { return kLeft + share * kSize; };
  const auto y = [&](double share) { return kTop + (1 - share) * kSize; };
  std::string marks;
  for (int tick = 0; tick <= 100; tick += 25) {
    const double share = tick / 100.0;
    marks +=
        str("<line class=\"grid\" x1=\"", x(0), "\" x2=\"", x(1), "\" y1=\"", y(share), "\" y2=\"",
            y(share), "\"/><text class=\"tick\" text-anchor=\"end\" x=\"", x(0) - 4, "\" y=\"",
            y(share) + 4, "\">", tick, "</text><text class=\"tick\" text-anchor=\"middle\" x=\"",
            x(share), "\" y=\"", y(0) + 16, "\">", tick, "</text>");
  }
  for (const CalibrationBin& bin : figures.calibration) {
    if (bin.examples == 0) continue;
    marks += str("<rect class=\"bin\" x=\"", x(bin.low) + 1, "\" width=\"",
                 (bin.high - bin.low) * kSize - 2, "\" y=\"", y(bin.right), "\" height=\"",
                 std::max(y(0) - y(bin.right), 1.0), "\"><title>", counted(bin.examples, "example"),
                 ", ", fixed(100 * bin.mean, 0), " % sure, ", fixed(100 * bin.right, 0),
                 " % right</title></rect>");
  }
  return str(
      "<figure class=\"chart calibration\"><figcaption>Calibration <small>% right over % "
      "sure; expected error ",
      fixed(100 * figures.calibration_error, 1), " %</small></figcaption><svg viewBox=\"0 0 ",
      kLeft + kSize + 14, " ", kTop + kSize + 24,
      "\" role=\"img\" aria-label=\"share of right answers over the "
      "probability that the model gave them\">",
      marks, "<line class=\"axis dashed\" x1=\"", x(0), "\" y1=\"", y(0), "\" x2=\"", x(1),
      "\" y2=\"", y(1), "\"/></svg></figure>\n");
}

std::string mistake_table(const PredictionFigures& figures) {
  if (figures.mistakes.empty()) return {};
  std::string rows;
  for (const Mistake& one : figures.mistakes)
    rows += str("<tr>", table_cell(fixed(one.probability), "number"),
                table_cell(html_text(shortened(one.said, kShownText))),
                table_cell(html_text(shortened(one.wanted, kShownText))),
                table_cell(html_text(shortened(one.text, kShownText))), "</tr>");
  return str("<details open><summary>most confident mistakes</summary>",
             html_table(table_head({"probability", "predicted", "correct", "text"}, 4), rows),
             "</details>\n");
}

std::string count_cell(const Json& of, const char* name) {
  const auto found = of.find(name);
  return table_cell(found == of.end() ? "–" : html_text(found->dump()), "number");
}

std::string label_table(const Json& splits) {
  std::vector<std::string> head{"label"};
  std::map<std::string, std::vector<std::int64_t>> counts;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    head.push_back(splits[i].value("split", ""));
    const auto labels = splits[i].value("labels", Json::object());
    for (const auto& [name, count] : labels.items()) {
      counts[name].resize(splits.size());
      counts[name][i] = count.get<std::int64_t>();
    }
  }
  if (counts.empty() || counts.size() > kShownLabels) return {};
  std::string rows;
  for (const auto& [name, of] : counts) {
    std::string cells = table_cell(html_text(name));
    for (const std::int64_t count : of) cells += table_cell(str(count), "number");
    rows += str("<tr>", cells, "</tr>");
  }
  return str("<details><summary>", counted(counts.size(), "label"), "</summary>",
             html_table(table_head(head), rows), "</details>\n");
}

}  // namespace

std::string predictions_html(const std::vector<NamedFigures>& runs) {
  if (runs.empty()) return {};
  std::string out = score_table(runs);
  for (const NamedFigures& run : runs) {
    if (runs.size() > 1) out += str("<h3>", html_text(run.run), "</h3>");
    out += class_table(run.figures) + calibration_chart(run.figures) + mistake_table(run.figures);
  }
  return out;
}

std::string row_overview_html(const Json& overview) {
  if (!overview.is_object() || overview.value("splits", Json::array()).empty()) return {};
  const auto splits = overview["splits"];
  std::string rows, findings;
  for (const auto& split : splits) {
    const auto lengths = split.value("lengths", Json::object());
    rows += str("<tr>", table_cell(html_text(split.value("split", ""))), count_cell(split, "rows"),
                count_cell(split, "left_out"), count_cell(split, "same_text"),
                count_cell(split, "same_text_other_label"), count_cell(lengths, "median"),
                count_cell(lengths, "p99"), count_cell(lengths, "longest"), "</tr>");
  }
  for (const auto& finding : overview.value("findings", Json::array()))
    if (finding.is_string())
      findings += str("<li dir=\"auto\">", html_text(finding.get<std::string>()), "</li>");
  const Json* unit_of = splits.front().pointer("/lengths/unit");
  const std::string unit = unit_of != nullptr ? unit_of->get<std::string>() : "words";
  return html_table(table_head({"rows of", "rows", "left out", "same text",
                                "same text, other label", "median " + unit, "99 %", "longest"}),
                    rows) +
         (findings.empty() ? "" : str("<ul>", findings, "</ul>\n")) + label_table(splits);
}

}  // namespace smelt::evaluation
