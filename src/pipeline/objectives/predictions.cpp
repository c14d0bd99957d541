#include "pipeline/objectives/predictions.h"

#include "base/error.h"
#include "text/readers/lines.h"

namespace smelt::pipeline {

ReadPredictions read_predictions(const std::string& path, const std::string& field) {
  ReadPredictions out;
  text::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    const auto row = Json::parse_or_discard(line);
    if (!row.is_object() || !row.contains(field) || !row.contains("label"))
      throw UsageError(
          str(path, ":", lines.number(), ": missing ", field, " or label"),
          "delete the file and evaluate again; only text classifiers have probabilities");
    out.of_words = out.of_words || row.contains("words");
    out.predictions.push_back(row[field]);
    out.labels.push_back(row["label"]);
  }
  return out;
}

}  // namespace smelt::pipeline
