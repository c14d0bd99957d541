#include "recipe/predictions.h"

#include "base/error.h"
#include "text/lines.h"

namespace smelt {

ReadPredictions read_predictions(const std::string& path) {
  ReadPredictions out;
  LineReader lines(path);
  for (std::string line; lines.next(line);) {
    const auto row = nlohmann::json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("prediction") || !row.contains("label"))
      throw UsageError(str(path, ":", lines.number(), ": no prediction with its label"),
                       "remove the file: the evaluation writes it again");
    out.said.push_back(row["prediction"]);
    out.is.push_back(row["label"]);
  }
  return out;
}

}  // namespace smelt
