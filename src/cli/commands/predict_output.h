// Flags of `smelt predict`, and where its lines go.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/labelled_rows.h"
#include "execution/inference/classify.h"
#include "io/filesystem/file.h"

namespace smelt {

struct PredictFlags {
  ClassifyOptions options;
  std::vector<std::string> texts, pairs;
  std::string input, format = "auto", header = "names", out;
  LabelledFiles columns = {};  // an empty name: by the problem
  bool json = false, glue = false;
};

// Lines on standard output, or in --out, which appears with commit().
class PredictionOutput {
 public:
  // UsageError where --out is there already.
  explicit PredictionOutput(const PredictFlags& flags);

  bool is_json() const { return flags_.json || file_; }
  void line(const std::string& text);
  void line(const OrderedJson& object);
  void flush();  // of standard output
  void commit();
  // Stopped where a signal has been raised, after so many.
  void check_signal(std::uint64_t done, const char* what) const;

 private:
  const PredictFlags& flags_;
  std::optional<OutputFile> file_;
};

// What is asked of a file in batches: how many rows are taken at once.
inline constexpr std::int64_t kBatchesAtOnce = 64;

// Answers to --text in --pair, or of the questions of --input, or of standard input as lines of
// JSON. Throws UsageError if there is none of them.
void predict_answers(Classifier classifier, const PredictFlags& flags);

}  // namespace smelt
