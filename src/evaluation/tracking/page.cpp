#include "evaluation/tracking/page.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iomanip>
#include <set>

#include "base/error.h"
#include "base/number_format.h"
#include "base/progress.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/compare.h"
#include "evaluation/tracking/html.h"
#include "evaluation/tracking/page_style.h"
#include "evaluation/tracking/predictions_page.h"
#include "evaluation/tracking/status.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"

namespace smelt::evaluation {
namespace {

std::string value_html(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_number_float()) return number_text(value.get<double>());
  return html_text(value.is_string() ? value.get<std::string>() : value.dump());
}

// Returns the content of each run, with the run's name as heading if there are several.
std::string for_each_run(const std::vector<RunRecord>& runs, auto&& content) {
  std::string out;
  for (const RunRecord& run : runs)
    if (const std::string own = content(run); !own.empty())
      out += (runs.size() > 1 ? str("<h3>", html_text(run.name), "</h3>") : "") + own;
  return out;
}

std::string overview(const std::vector<RunRecord>& runs) {
  std::string rows;
  for (const RunRecord& run : runs) {
    const auto loss = final_value(run.lines, "loss");
    rows += str("<tr>", table_cell(html_text(run.name)), table_cell(html_text(state_text(run))),
                table_cell(step_text(run), "number"),
                table_cell(loss ? number_text(*loss) : "–", "number"),
                table_cell(value_html(run.start.value("parameters", Record())), "number"),
                table_cell(value_html(run.start.value("batch_size", Record())), "number"),
                table_cell(str(run.start.value("devices", 1), " × ",
                               html_text(run.start.value("device", std::string())))),
                table_cell(duration_text(run.spent.total()), "number"), "</tr>");
  }
  return html_table(
      "<thead><tr><th>run</th><th>state</th><th class=\"number\">step</th><th "
      "class=\"number\">loss</th><th class=\"number\">parameters</th><th "
      "class=\"number\">batch</th><th>devices</th><th class=\"number\">time</th></tr></"
      "thead>",
      rows);
}

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

struct Named {
  std::string name, title, unit;
  double scale = 1;           // factor of the drawn values
  std::string baseline = {};  // metric to draw as a baseline
};

Curve scaled(Curve curve, double by) {
  for (CurvePoint& point : curve) point.value *= by;
  return curve;
}

// Draws values of training examples as solid lines and those of held-out examples as dashed ones.
std::string chart_of(const std::vector<RunRecord>& runs, const Named& named) {
  Chart chart{.title = named.title, .unit = named.unit, .series = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto add = [&](const std::map<std::string, Curve>& curves, const std::string& name,
                         const std::string& word, bool dashed) {
      const auto found = curves.find(name);
      if (found == curves.end()) return;
      chart.series.push_back({.label = runs[i].name + word,
                              .run = i,
                              .dashed = dashed,
                              .curve = scaled(found->second, named.scale)});
    };
    add(runs[i].lines.contains(named.name) ? runs[i].lines : runs[i].train, named.name, "", false);
    add(runs[i].valid, named.name, ", held out", true);
    if (!named.baseline.empty())
      add(runs[i].valid, named.baseline, ", held out: " + spaced(named.baseline), true);
  }
  return chart_html(chart);
}

const std::vector<Named> kRates{{"learning_rate", "learning rate", ""},
                                {"gradient_norm", "gradient norm", "before clipping"}};
const std::vector<Named> kThroughput{{"sequences_per_second", "sequences", "per second"},
                                     {"tokens_per_second", "tokens", "per second, no padding"},
                                     {"mfu", "MFU", "share of the devices' peak"},
                                     {"input_share", "waiting for input", "share of time"}};

// accuracy of always predicting the most frequent token
constexpr const char* kMajority = "majority_token_accuracy";

// Returns the losses and metrics of the runs: all curves that are in no other section.
std::vector<Named> measures_of(const std::vector<RunRecord>& runs) {
  std::set<std::string> rest{"seconds_left", "of"};
  for (const auto* others : {&kRates, &kThroughput})
    for (const Named& named : *others) rest.insert(named.name);
  std::vector<Named> out;
  const auto add = [&](const std::map<std::string, Curve>& curves) {
    for (const auto& [name, curve] : curves)
      if (rest.insert(name).second) out.push_back({.name = name, .title = name, .unit = ""});
  };
  for (const RunRecord& run : runs)
    for (const auto* curves : {&run.lines, &run.train, &run.valid}) add(*curves);
  std::ranges::stable_partition(out, [](const Named& named) { return named.name == "loss"; });
  const auto learned = std::ranges::find(out, "masked_lm_accuracy", &Named::name);
  if (learned != out.end()) {
    learned->baseline = kMajority;
    std::erase_if(out, [](const Named& named) { return named.name == kMajority; });
  }
  for (Named& named : out) {
    named.title = spaced(named.title);
    if (!named.name.ends_with("accuracy")) continue;
    named.unit = "%";
    named.scale = 100;
  }
  return out;
}

std::string charts(const std::vector<RunRecord>& runs, const std::vector<Named>& all) {
  std::string out;
  for (const Named& named : all) out += chart_of(runs, named);
  return out.empty() ? out : str("<div class=\"charts\">\n", out, "</div>\n");
}

std::string evaluation_table(const RunRecord& run) {
  if (run.evaluations.empty()) return {};
  std::vector<std::string> names{"global_step"};
  for (const Record& e : run.evaluations)
    for (const auto& [name, value] : e.items())
      if (value.is_number() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  std::string rows;
  for (const Record& e : run.evaluations) {
    rows += "<tr>";
    for (const std::string& name : names)
      rows += table_cell(value_html(e.value(name, Record())), "number");
    rows += "</tr>";
  }
  return html_table(table_head(names, 0), rows);
}

// Returns the guesses for each mask of a text, best first.
std::string guesses_html(const Record& masks) {
  std::vector<std::string> out;
  for (const Record& mask : masks) {
    std::vector<std::string> words;
    for (const Record& guess : mask)
      if (guess.is_array() && guess.size() == 2 && guess[0].is_string() && guess[1].is_number())
        words.push_back(str("<bdi>", html_text(guess[0].get<std::string>()), "</bdi> <small>",
                            rounded(100 * guess[1].get<double>(), 0), " %</small>"));
    out.push_back(join(words, ", "));
  }
  return join(out, " · ");
}

std::string filled_table(const RunRecord& run) {
  if (run.filled.empty()) return {};
  std::vector<std::string> names{"step"};
  for (const Record& text : run.filled.back().value("texts", Record::array()))
    names.push_back(text.value("text", std::string()));
  std::string rows;
  for (const Record& record : run.filled) {
    rows += str("<tr>", table_cell(str(record.value("step", std::int64_t{0})), "number"));
    for (const Record& text : record.value("texts", Record::array()))
      rows += table_cell(guesses_html(text.value("masks", Record::array())));
    rows += "</tr>";
  }
  return str("<div class=\"filled\">", html_table(table_head(names, names.size()), rows), "</div>");
}

void add_data_rows(const std::string& prefix, const Record& data, std::string& rows) {
  for (const auto& [name, value] : data.items()) {
    const std::string path = prefix.empty() ? name : str(prefix, ".", name);
    if (value.is_object())
      add_data_rows(path, value, rows);
    else
      rows += str("<tr>", table_cell(html_text(path)),
                  table_cell(str("<code>", value_html(value), "</code>")), "</tr>");
  }
}

std::string data_table(const RunRecord& run) {
  std::string rows;
  if (run.start.contains("data")) add_data_rows("", run.start["data"], rows);
  if (rows.empty()) return {};
  return str("<details><summary>", value_html(run.start.value("examples", Record())),
             " examples; preprocessing settings</summary>", html_table("", rows), "</details>");
}

std::string settings_table(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names{"setting"};
  for (const RunRecord& run : runs) names.push_back(run.name);
  std::string differing, all;
  for (const SettingRow& row : setting_rows(runs)) {
    std::string cells = table_cell(html_text(row.name));
    for (const auto& value : row.values)
      cells += table_cell(str("<code>", value_html(value), "</code>"), row.differs ? "other" : "");
    (row.differs ? differing : all) += str("<tr>", cells, "</tr>");
  }
  const std::string head = table_head(names, names.size());
  return (differing.empty() ? "" : html_table(head, differing)) +
         (all.empty() ? ""
                      : str("<details><summary>", runs.size() > 1 ? "equal in all runs" : "all",
                            "</summary>", html_table(head, all), "</details>"));
}

// Returns the section on predictions for evaluation and test examples.
std::string predictions_section(const std::vector<RunRecord>& runs) {
  std::string out;
  for (const auto& [file, title] :
       {std::pair{"predictions.jsonl", ""}, {"test_predictions.jsonl", "<h3>Test set</h3>\n"}}) {
    std::vector<NamedFigures> all;
    for (const RunRecord& run : runs)
      if (auto figures = prediction_figures(io::join_path(run.folder, file)))
        all.push_back({run.name, std::move(*figures)});
    if (!all.empty()) out += title + predictions_html(all);
  }
  return out;
}

// Returns the overview of labelled rows, which is stored next to the model's folder, if there is
// one.
std::string rows_section(const RunRecord& run) {
  const std::string file = io::join_path(io::parent_path(run.folder), kRowOverviewFile);
  if (!io::exists(file)) return {};
  return row_overview_html(Json::parse_or_discard(io::read_file(file, io::kSmallFileBytes)));
}

// Returns whether `path` is a file or object other than a report. Devices, such as /dev/stdout, are
// not.
bool is_other_file(const std::string& path) {
  if (io::is_remote(path) ? !io::exists(path) : !std::filesystem::is_regular_file(path))
    return false;
  std::array<char, kPageHead.size()> head;
  return std::string_view(head.data(), io::RandomAccessFile(path).read_at(0, head)) != kPageHead;
}

}  // namespace

void check_page_place(const std::string& command, const std::string& out) {
  if (is_other_file(out))
    throw UsageError(str(command, ": --out ", out, " exists and is not an earlier report"),
                     "choose another file name");
}

std::string table_cell(const std::string& html, std::string_view type) {
  return type.empty() ? str("<td dir=\"auto\">", html, "</td>")
                      : str("<td class=\"", type, "\">", html, "</td>");
}

std::string table_head(const std::vector<std::string>& names, std::size_t texts) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += str("<th", i < texts ? " dir=\"auto\"" : " class=\"number\"", ">", html_text(names[i]),
               "</th>");
  return str("<thead><tr>", out, "</tr></thead>");
}

std::string html_table(const std::string& head, const std::string& rows) {
  return str("<div class=\"scroll\"><table>", head, "<tbody>", rows, "</tbody></table></div>\n");
}

std::string html_section(std::string_view title, const std::string& content) {
  return content.empty() ? "" : str("<section><h2>", title, "</h2>\n", content, "</section>\n");
}

std::string html_page(const std::string& title, const std::string& content) {
  return str(kPageHead,
             "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
             "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
             title, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>", kPageStyle,
             "</style>\n</head>\n<body>\n<h1>", title, "</h1>\n", content, "<script>", kPageScript,
             "</script>\n</body>\n</html>\n");
}

std::string runs_page(const std::vector<RunRecord>& runs, const std::string& planned) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) names.push_back(run.name);
  const std::string title = html_text(join(names, ", "));
  const auto goodput = [](const RunRecord& run) { return goodput_html(run.spent); };
  return html_page(
      title,
      str(overview(runs), html_section("Losses and metrics", charts(runs, measures_of(runs))),
          html_section("Predictions on held-out examples", predictions_section(runs)),
          html_section("Learning rate and gradient norm", charts(runs, kRates)),
          html_section("Throughput", charts(runs, kThroughput)),
          html_section("Goodput", for_each_run(runs, goodput)),
          html_section("Evaluations of checkpoints", for_each_run(runs, evaluation_table)),
          html_section("Masks filled over time", for_each_run(runs, filled_table)),
          html_section("Labelled rows", for_each_run(runs, rows_section)),
          html_section("Data", for_each_run(runs, data_table)), html_section("Planned", planned),
          html_section("Settings", settings_table(runs))));
}

}  // namespace smelt::evaluation
