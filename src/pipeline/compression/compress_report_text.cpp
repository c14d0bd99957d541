#include <cmath>

#include "base/number_format.h"
#include "base/plural.h"
#include "pipeline/compression/compress_report.h"

namespace smelt::pipeline {
namespace {

double number_of_json(const OrderedJson& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}

std::string sizes_of(const OrderedJson& report, const OrderedJson& model) {
  const double bytes = number_of_json(model["bytes"]),
               base = number_of_json(report["models"][0]["bytes"]);
  std::string out = str(rounded(bytes / 1e6, 2), " MB (", rounded(bytes / base, 3), ")");
  if (model.contains("load_seconds"))
    out += str(", loaded in ", rounded(number_of_json(model["load_seconds"]), 3), " s");
  return out;
}

std::string times_of(const OrderedJson& model) {
  std::vector<std::string> out;
  for (const OrderedJson& one : model["latency"])
    out.push_back(str(one["batch"].dump(), " x ", one["length"].dump(), " ",
                      rounded(number_of_json(one["p50_ms"]), 1), " ms",
                      one.contains("speed_up")
                          ? str(" (", rounded(number_of_json(one["speed_up"]["value"]), 2), "x)")
                          : ""));
  return join(out, ", ");
}

std::string score_text(const OrderedJson& report, const OrderedJson& model) {
  const std::string metric = report["metrics"][0];
  const OrderedJson& own = model["scores"][metric];
  std::string out = str(metric, " ", rounded(number_of_json(own["value"]), 4), " [",
                        rounded(number_of_json(own["low"]), 4), ", ",
                        rounded(number_of_json(own["high"]), 4), "]");
  if (!model.contains("against_base")) return out;
  const OrderedJson& d = model["against_base"][metric];
  return str(out, ", difference from the base ", rounded(number_of_json(d["difference"]), 4), " [",
             rounded(number_of_json(d["low"]), 4), ", ", rounded(number_of_json(d["high"]), 4),
             "]");
}

}  // namespace

std::string compress_report_text(const OrderedJson& report) {
  std::string out;
  for (const OrderedJson& model : report["models"]) {
    out += str(model["name"].get<std::string>(), "\n  ", score_text(report, model), "\n  ",
               sizes_of(report, model), "; ", times_of(model), "\n");
    for (const OrderedJson& note : model["not_given"])
      out += str("  - ", note.get<std::string>(), "\n");
  }
  return out + str("load average of the machine before: ",
                   rounded(number_of_json(report["machine"]["load_before"]), 2), "\n");
}

}  // namespace smelt::pipeline
