#include "pipeline/compression/compress_choice.h"

#include "base/error.h"
#include "compress/source_folder.h"
#include "io/filesystem/file.h"
#include "pipeline/compression/compress_scores.h"

namespace smelt::pipeline {
namespace {

// Returns every second row, beginning with index `first`.
SaidRows half_of(const SaidRows& rows, std::size_t first) {
  SaidRows out;
  for (std::size_t i = first; i < rows.size(); i += 2) out.push_back(rows[i]);
  return out;
}

compress::FolderScore score_folder(const ChoiceRows& with, const std::string& folder) {
  ComparedModel model("compress", folder,
                      {.stored = {.vocab = {}, .device = with.device},
                       .batch_size = with.batch_size,
                       .answer_tokens = 0,
                       .rows = with.rows});
  const std::string metric = with.metric.empty() ? model.metric() : with.metric;
  const SaidRows predictions = model.predict(with.rows);
  if (predictions.size() < 2)
    throw UsageError(
        str("compress: ", with.rows.files.input, " has only one row, expected at least two: ",
            "one half selects the matrices and the other half measures the result"),
        "name a file with more rows");
  const double sign = metric == "mse" ? -1 : 1;
  return {sign * score_of(half_of(predictions, 0), metric),
          sign * score_of(half_of(predictions, 1), metric)};
}

}  // namespace

compress::DropLimit drop_limit(const ChoiceRows& with, double points, bool forced) {
  const double share = with.metric == "bleu" || with.metric == "mse" ? 1 : 100;
  const std::string& input = with.rows.files.input;
  return {
      .score = [with](const std::string& folder) { return score_folder(with, folder); },
      .most = points / share,
      .forced = forced,
      .rows = {{"input", input},
               {"input_crc32c", compress::crc32c_of_files(io::expand_files(input, with.rows.what))},
               {"metric", with.metric}}};
}

}  // namespace smelt::pipeline
