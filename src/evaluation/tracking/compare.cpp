#include "evaluation/tracking/compare.h"

#include <algorithm>
#include <iomanip>
#include <set>
#include <sstream>
#include <utility>

#include "base/columns.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/status.h"

namespace smelt::evaluation {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kStateWidth = 60;  // in characters; limits the message of a failed run

std::string setting_text(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Formats rows as text columns, each as wide as its widest cell.
std::string aligned(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::ostringstream out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - columns(row[i]) + 2, ' ');
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
  return out.str();
}

std::vector<std::string> named_row(const std::string& name, const std::vector<RunRecord>& runs,
                                   auto&& value) {
  std::vector<std::string> row{name};
  for (const RunRecord& run : runs) row.push_back(value(run));
  return row;
}

}  // namespace

std::vector<SettingRow> setting_rows(const std::vector<RunRecord>& runs) {
  std::map<std::string, SettingRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (auto& [name, value] : flat_settings(runs[i].start)) {
      SettingRow& row = rows[name];
      row.name = name;
      row.values.resize(runs.size());
      row.values[i] = std::move(value);
    }
  std::vector<SettingRow> out;
  for (auto& [name, row] : rows) {
    row.differs =
        std::ranges::any_of(row.values, [&](const auto& v) { return v != row.values[0]; });
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<FigureRow> final_figures(const std::vector<RunRecord>& runs) {
  std::set<std::string> lines, valid;
  for (const RunRecord& run : runs) {
    for (const auto& [name, curve] : run.lines) lines.insert(name);
    for (const auto& [name, curve] : run.valid) valid.insert(name);
  }
  for (const char* none : {"seconds_left", "input_share", "of"}) lines.erase(none);
  std::vector<FigureRow> out;
  const auto add = [&](const std::string& label, const std::string& name, auto curves) {
    FigureRow& row = out.emplace_back(FigureRow{label, {}});
    for (const RunRecord& run : runs) row.values.push_back(final_value(run.*curves, name));
  };
  for (const std::string& name : lines) add(name, name, &RunRecord::lines);
  for (const std::string& name : valid) add("valid/" + name, name, &RunRecord::valid);
  return out;
}

bool differ_in_vocabulary(const std::vector<RunRecord>& runs) {
  std::set<std::string> known;
  for (const RunRecord& run : runs)
    if (run.start.contains("vocabulary_crc32c"))
      known.insert(run.start["vocabulary_crc32c"].dump());
  return known.size() > 1;
}

std::string compare_text(const std::vector<RunRecord>& runs) {
  Rows rows{
      named_row("", runs, [](const RunRecord& r) { return r.name; }),
      named_row("state", runs,
                [](const RunRecord& r) { return shortened(state_text(r), kStateWidth); }),
      named_row("step", runs, step_text),
      named_row("time", runs, [](const RunRecord& r) { return duration_text(r.spent.total()); }),
      named_row("goodput", runs,
                [](const RunRecord& r) { return percent(r.spent.share(GoodputBucket::step)); })};
  for (const FigureRow& figure : final_figures(runs)) {
    rows.push_back({figure.name});
    for (const auto& value : figure.values)
      rows.back().push_back(value ? number_text(*value) : "-");
  }
  for (const SettingRow& setting : setting_rows(runs)) {
    if (!setting.differs) continue;
    rows.push_back({setting.name});
    for (const auto& value : setting.values) rows.back().push_back(setting_text(value));
  }
  if (!differ_in_vocabulary(runs)) return aligned(rows);
  return aligned(rows) +
         "\nThe runs have different vocabularies, so their losses and accuracies per token are not "
         "comparable. Compare bits_per_character.\n";
}

Record compare_json(const std::vector<RunRecord>& runs) {
  Record out{{"runs", Record::array()}, {"settings", Record::object()}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Record figures = Record::object();
    for (const FigureRow& row : final_figures(runs))
      if (row.values[i]) figures[row.name] = *row.values[i];
    out["runs"].push_back({{"name", runs[i].name},
                           {"folder", runs[i].folder},
                           {"state", state_text(runs[i])},
                           {"step", runs[i].step},
                           {"spent", to_json(runs[i].spent)},
                           {"figures", figures}});
  }
  out["vocabularies_differ"] = differ_in_vocabulary(runs);
  for (const SettingRow& row : setting_rows(runs))
    if (row.differs) out["settings"][row.name] = row.values;
  return out;
}

}  // namespace smelt::evaluation
