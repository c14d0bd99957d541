#include "evaluation/tracking/compress_page.h"

#include <cmath>
#include <vector>

#include "base/number_format.h"
#include "base/plural.h"
#include "base/str.h"
#include "evaluation/tracking/chart.h"
#include "evaluation/tracking/compress_layers.h"
#include "evaluation/tracking/html.h"
#include "evaluation/tracking/scatter.h"

namespace smelt::evaluation {
namespace {

constexpr std::size_t kShownRow = 400;

double number_of(const Record& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

std::string figure(double value, int digits) {
  return std::isfinite(value) ? rounded(value, digits) : "–";
}

// "0.9123 [0.9012, 0.9234]"
std::string interval_html(const Record& of, const char* value, int digits) {
  return str(figure(number_of(of[value]), digits), " <small>[",
             figure(number_of(of["low"]), digits), ", ", figure(number_of(of["high"]), digits),
             "]</small>");
}

std::string name_html(const Record& model) {
  const std::string role = model["role"];
  return str(html_text(model["name"].get<std::string>()),
             role == "model" ? "" : str(" <small>", role, "</small>"));
}

std::string score_cells(const Record& model, const std::string& metric, bool dev) {
  std::string out = table_cell(interval_html(model["scores"][metric], "value", 4), "number");
  if (dev) out += table_cell(interval_html(model["dev_scores"][metric], "value", 4), "number");
  if (!model.contains("against_base")) return out + table_cell("", "number") + table_cell("");
  const Record& d = model["against_base"][metric];
  const double low = number_of(d["low"]), high = number_of(d["high"]);
  const bool measured = low > 0 || high < 0;
  // Uses the exact test if every row is right or wrong, else the bootstrap test.
  const double p = number_of(d.contains("mcnemar") ? d["mcnemar"]["p"] : d["p_value"]);
  return out + table_cell(interval_html(d, "difference", 4), "number") +
         table_cell(measured ? str("p ", figure(p, 3)) : "no significant difference");
}

std::string right_table(const Record& report) {
  const bool dev = report["rows"].contains("dev");
  std::vector<std::string> head{"model"};
  for (const Record& metric : report["metrics"]) {
    head.push_back(metric.get<std::string>());
    if (dev) head.push_back(metric.get<std::string>() + ", dev");
    head.emplace_back("minus base");
    head.emplace_back("");
  }
  std::string rows;
  for (const Record& model : report["models"]) {
    std::string cells = table_cell(name_html(model));
    for (const Record& metric : report["metrics"])
      cells += score_cells(model, metric.get<std::string>(), dev);
    rows += str("<tr>", cells, "</tr>");
  }
  const Record& said = report["rows"];
  return str(html_table(table_head(head), rows), "<p>", said["examples"].dump(), " rows of ",
             html_text(said["input"].get<std::string>()),
             "; 95 % confidence intervals and paired tests by bootstrap resampling.</p>");
}

// Formats a size with its ratio to the base model's.
std::string with_share(double own, double base, double unit, int digits) {
  return str(figure(own / unit, digits), " <small>", figure(own / base, 3), "×</small>");
}

std::string size_table(const Record& report) {
  std::string rows;
  const Record& base = report["models"][0];
  const bool loaded = base.contains("load_seconds");
  for (const Record& model : report["models"]) {
    const auto cell = [&](const char* field, double unit, int digits) {
      return table_cell(with_share(number_of(model[field]), number_of(base[field]), unit, digits),
                        "number");
    };
    rows += str("<tr>", table_cell(name_html(model)), cell("bytes", 1e6, 2),
                cell("parameters", 1e6, 3), cell("parameters_without_tables", 1e6, 3),
                cell("operations", 1e9, 3), loaded ? cell("load_seconds", 1, 3) : "",
                loaded ? cell("peak_bytes", 1e6, 0) : "", "</tr>");
  }
  std::vector<std::string> head{"model", "folder, MB", "parameters, M", "without tables, M",
                                str("operations, G at ", report["operations_length"].dump())};
  if (loaded) head.insert(head.end(), {"loading, s", "process memory, MB"});
  return str(html_table(table_head(head), rows),
             "<p>Folder: the files of the model. Operations: multiply-adds for one text.",
             loaded
                 ? " Loading time and memory are measured in a new process for each model, in turn."
                 : "",
             "</p>");
}

std::string latency_cell(const Record& one) {
  std::string out = str(figure(number_of(one["p50_ms"]), 2), " <small>",
                        figure(number_of(one["p90_ms"]), 2), "</small>");
  if (one.contains("speed_up")) {
    const Record& ratio = one["speed_up"];
    const bool measured = number_of(ratio["low"]) > 1 || number_of(ratio["high"]) < 1;
    out += measured ? str("<br><b>", figure(number_of(ratio["value"]), 2), "×</b> <small>[",
                          figure(number_of(ratio["low"]), 2), ", ",
                          figure(number_of(ratio["high"]), 2), "]</small>")
                    : "<br><small>no significant difference</small>";
  }
  return table_cell(
      str(out, "<br><small>", figure(number_of(one["tokens_per_second"]), 0), " /s</small>"),
      "number");
}

std::string latency_table(const Record& report) {
  std::vector<std::string> head{"model"};
  for (const Record& one : report["models"][0]["latency"])
    head.push_back(str(one["batch"].dump(), " × ", one["length"].dump()));
  std::string rows;
  for (const Record& model : report["models"]) {
    std::string cells = table_cell(name_html(model));
    for (const Record& one : model["latency"]) cells += latency_cell(one);
    rows += str("<tr>", cells, "</tr>");
  }
  const bool t5 = report["kind"] == "t5";
  return str(
      html_table(table_head(head), rows),
      "<p>Milliseconds for texts × tokens: the median and <small>the 90th percentile</small>; the "
      "speedup over the base model in the same rounds, with its 95 % interval; tokens per second. ",
      report["rounds"].dump(), " rounds; each round runs every model once.",
      t5 ? str(" Answers have ", report["answer_tokens"].dump(), " tokens; only these are counted.")
         : "",
      "</p>");
}

std::string plot(const Record& report, const std::string& title, const std::string& unit,
                 const char* beaten, auto&& cost) {
  const std::string metric = report["metrics"][0];
  Scatter out{.title = title, .x_unit = unit, .y_unit = metric, .points = {}};
  for (const Record& model : report["models"]) {
    const Record& score = model["scores"][metric];
    out.points.push_back({.label = model["name"],
                          .x = cost(model),
                          .y = number_of(score["value"]),
                          .low = number_of(score["low"]),
                          .high = number_of(score["high"]),
                          .beaten = model["beaten"].value(beaten, false)});
  }
  return scatter_html(out);
}

std::string plots(const Record& report) {
  const Record& size = report["models"][0]["latency"][0];
  return str("<div class=\"charts\">\n",
             plot(report, "Score and bytes", "MB", "bytes",
                  [](const Record& model) { return number_of(model["bytes"]) / 1e6; }),
             plot(report, "Score and time",
                  str("ms for ", size["batch"].dump(), " × ", size["length"].dump()), "latency",
                  [](const Record& model) { return number_of(model["latency"][0]["p50_ms"]); }),
             "</div>\n<p>Grey: another model has at least the same score at no higher cost, and is "
             "better in one of the two. Lines: 95 % intervals of the score.</p>\n");
}

std::string list_html(const Record& sentences) {
  std::string out;
  for (const Record& one : sentences)
    out += str("<li>", html_text(one.get<std::string>()), "</li>");
  return out.empty() ? "" : str("<ul>", out, "</ul>\n");
}

// Returns the results of content(model) for all models, each with the model's name as heading.
// Omits models with an empty result.
std::string of_each(const Record& report, auto&& content) {
  std::string out;
  for (const Record& model : report["models"])
    if (const std::string own = content(model); !own.empty())
      out += str("<h3>", name_html(model), "</h3>\n", own);
  return out;
}

std::string changed_html(const Record& model) {
  if (!model.contains("changed")) return {};
  const Record& changed = model["changed"];
  const auto cell = [](const Record& value) {
    return table_cell(html_text(
        shortened(value.is_string() ? value.get<std::string>() : value.dump(), kShownRow)));
  };
  std::string rows;
  for (const Record& one : changed["examples"])
    rows += str("<tr>", cell(one["label"]), cell(one["base"]), cell(one["prediction"]),
                cell(one["text"]), "</tr>");
  return str("<details><summary>", changed["count"].dump(), " rows; shown: the first ",
             changed["examples"].size(), "</summary>",
             html_table(table_head({"correct", "base", "this model", "text"}, 4), rows),
             "</details>");
}

std::string provenance(const Record& report) {
  std::string rows;
  const auto add = [&](const std::string& name, const Record& value) {
    rows +=
        str("<tr>", table_cell(html_text(name)),
            table_cell(str("<code>",
                           html_text(value.is_string() ? value.get<std::string>() : value.dump()),
                           "</code>")),
            "</tr>");
  };
  for (const auto& [name, value] : report["machine"].items()) add(name, value);
  for (const auto& [name, value] : report["rows"].items()) add("rows: " + name, value);
  add("resampled", report["resampled"]);
  for (const Record& model : report["models"]) {
    add(model["name"], model["path"]);
    for (const Record& step : model["steps"])
      if (step.is_object() && step.contains("from")) add("  made from", step["from"]);
  }
  return html_table("", rows);
}

}  // namespace

std::string compress_page(const Record& report) {
  const auto layers = [](const Record& model) { return compressed_layers_html(model["steps"]); };
  const auto lacks = [](const Record& model) { return list_html(model["not_given"]); };
  return html_page(
      str("Smaller models of ", html_text(report["models"][0]["name"].get<std::string>())),
      str(html_section("Scores", right_table(report)), html_section("Size", size_table(report)),
          html_section("Latency", latency_table(report)), html_section("Trade-offs", plots(report)),
          html_section("Missing values", of_each(report, lacks)),
          html_section("Not measured", list_html(report["not_measured"])),
          html_section("Remaining weights by layer", of_each(report, layers)),
          html_section("Predictions that differ from the base model's",
                       of_each(report, changed_html)),
          html_section("Provenance", provenance(report))));
}

}  // namespace smelt::evaluation
