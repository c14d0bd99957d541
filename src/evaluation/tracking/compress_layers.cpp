#include "evaluation/tracking/compress_layers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/number_format.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/html.h"

namespace smelt::evaluation {
namespace {

std::string value_text(const Record& value) {
  if (value.is_null()) return "–";
  return html_text(value.is_string() ? value.get<std::string>() : value.dump());
}

// Returns a heat map of heads by layer: darker heads are more important for the loss, pruned heads
// are crossed out.
std::string importance_map(const Record& unit) {
  if (!unit.contains("importance") || !unit["importance"].is_array()) return {};
  double most = 0;
  std::size_t widest = 0;
  for (const Record& layer : unit["importance"]) {
    widest = std::max(widest, layer.size());
    for (const Record& one : layer)
      if (one.is_number()) most = std::max(most, std::sqrt(one.get<double>()));
  }
  if (most == 0 || widest > 64) return {};
  std::string rows;
  for (std::size_t i = 0; i < unit["importance"].size(); ++i) {
    const Record kept = unit.contains("kept") ? unit["kept"].at(i) : Record::array();
    std::string cells = str("<th scope=\"row\">", i, "</th>");
    for (std::size_t h = 0; h < unit["importance"][i].size(); ++h) {
      const double shade = std::sqrt(unit["importance"][i][h].get<double>()) / most;
      const bool stays = std::ranges::find(kept, Record(h)) != kept.end();
      cells += str("<td class=\"heat\" style=\"--share:", rounded(shade, 3), "\">",
                   stays ? "" : "×", "</td>");
    }
    rows += str("<tr>", cells, "</tr>");
  }
  std::vector<std::string> names{""};
  for (std::size_t h = 0; h < widest; ++h) names.push_back(str(h));
  return html_table(table_head(names, 0), rows);
}

// Returns a text on the share of the matmuls' squared output that pruning lost, or "" if the record
// does not contain it.
std::string lost_text(const Record& unit) {
  if (!unit.contains("output_lost")) return {};
  const auto most = [&](const char* when) {
    double out = 0;
    for (const Record& one : unit["output_lost"].value(when, Record::array()))
      if (one.is_number()) out = std::max(out, one.get<double>());
    return percent(out);
  };
  return str("; at most ", most("after"), " of a matmul's squared output is lost (", most("before"),
             " before the remaining weights were rescaled)");
}

// Describes the remaining neurons or heads of a pruned model.
std::string units_html(const Record& step, const char* name) {
  if (!step.contains(name)) return {};
  const Record& unit = step[name];
  std::string rows;
  const Record shares = unit.value("kept_importance", Record::array());
  for (std::size_t i = 0; i < shares.size(); ++i)
    rows += str("<tr>", table_cell(str(i), "number"),
                table_cell(percent(shares[i].get<double>()), "number"), "</tr>");
  return str("<p>", unit.value("after", 0), " of ", unit.value("before", 0), " ", name,
             " in each layer", lost_text(unit), "</p>", importance_map(unit),
             "<details><summary>by place</summary>",
             html_table(table_head({"layer", "importance kept"}, 0), rows), "</details>");
}

// Lists the quantized matrices, in ascending order of signal-to-noise ratio.
std::string codes_html(const Record& step) {
  std::vector<std::pair<double, std::string>> all;
  const Record losses = step.value("sqnr_db", Record::object());
  for (const auto& [name, value] : losses.items())
    all.emplace_back(value.is_number() ? value.get<double>() : INFINITY, name);
  std::ranges::sort(all);
  std::string rows;
  for (const auto& [loss, name] : all)
    rows += str("<tr>", table_cell(str("<code>", html_text(name), "</code>")),
                table_cell(std::isfinite(loss) ? rounded(loss, 1) : "exact", "number"), "</tr>");
  std::string back;
  for (const Record& one : step.value("went_back", Record::array()))
    back += str("<li><code>", value_text(one), "</code></li>");
  return str("<details><summary>", all.size(), " quantized matrices, ",
             step.value("kept", Record::array()).size(), " in floating point</summary>",
             html_table(table_head({"matrix", "signal-to-noise ratio, dB"}), rows), "</details>",
             back.empty()
                 ? ""
                 : str("<p>Kept in floating point to preserve the score:</p><ul>", back, "</ul>"));
}

// Lists the share of zero weights of each matrix.
std::string zeros_html(const Record& step) {
  const double weights = step.value("weights", 0.0);
  std::string rows;
  const Record by_matrix = step.value("zeros", Record::object());
  for (const auto& [name, zeros] : by_matrix.items())
    rows += str("<tr>", table_cell(str("<code>", html_text(name), "</code>")),
                table_cell(value_text(zeros), "number"), "</tr>");
  return str("<p>", percent(smelt::share(weights - step.value("not_zero", 0.0), weights)), " of ",
             value_text(step.value("weights", Record())), " weights are 0",
             step.contains("nm") ? str(", ", value_text(step["nm"]), " kept") : "",
             "</p><details><summary>by matrix</summary>",
             html_table(table_head({"matrix", "zeros"}), rows), "</details>");
}

}  // namespace

std::string compressed_layers_html(const Record& steps) {
  std::string out;
  for (const Record& step : steps) {
    if (!step.is_object()) continue;
    out += str("<p><b>", value_text(step.value("method", Record("?"))), "</b>");
    for (const char* field : {"kept_layers", "kept_decoder_layers"})
      if (step.contains(field))
        out += str(field == std::string_view("kept_layers") ? ": layers " : "; of the decoder ",
                   value_text(step[field]));
    out += "</p>" + units_html(step, "neurons") + units_html(step, "heads");
    if (step.contains("sqnr_db")) out += codes_html(step);
    if (step.contains("zeros")) out += zeros_html(step);
  }
  return out;
}

}  // namespace smelt::evaluation
