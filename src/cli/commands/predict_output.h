// Flags and output of `smelt predict`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/labelled_rows.h"
#include "execution/inference/classify.h"
#include "io/filesystem/file.h"

namespace smelt::cli {

struct PredictFlags {
  execution::ClassifyOptions options;
  std::vector<std::string> texts, pairs;
  std::string input, format = "auto", header = "names", out;
  data::LabelledFiles columns = {};  // an empty column name: the default of the problem
  bool json = false, glue = false, overwrite = false;
};

// Writes lines to standard output, or to the --out file, which appears when commit() is called.
class PredictionOutput {
 public:
  // Throws UsageError if the --out file exists, unless it is to be overwritten.
  explicit PredictionOutput(const PredictFlags& flags);

  bool is_json() const { return flags_.json || file_; }
  void line(const std::string& text);
  void line(const OrderedJson& object);
  void flush();  // flushes standard output
  void commit();
  // Throws Stopped if a signal has been raised; the message has the number done.
  void check_signal(std::uint64_t done, const char* what) const;

 private:
  const PredictFlags& flags_;
  std::optional<io::OutputFile> file_;
};

// Number of batches that are read from a file at a time.
inline constexpr std::int64_t kBatchesAtOnce = 64;

// Answers questions about contexts: --text with --pair, the rows of --input, or JSON lines from
// standard input. Throws UsageError if no question is given, or if --text is given without --pair.
void predict_answers(execution::Classifier classifier, const PredictFlags& flags);

}  // namespace smelt::cli
