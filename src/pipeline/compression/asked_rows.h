// Inference with the fine-tuned model in a folder: predictions for labelled rows, and latency.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/preprocess/labelled_rows.h"
#include "pipeline/objectives/compress_checks.h"
#include "pipeline/objectives/pretrained_model.h"

namespace smelt::pipeline {

// Returns {"text", "pair", "label", "prediction", "probabilities"} for a row. `numbers` are the
// outputs of a classifier for it. Fields without a value are left out. For token_labels, the fields
// of words_json() replace the text.
OrderedJson row_prediction_json(const data::LabelledRow& row, bool has_label,
                                const io::Labels& labels, const std::vector<float>& numbers);

// Labelled rows to predict.
struct RowsToPredict {
  data::LabelledFiles files = {};          // an empty column name means the problem's default
  std::int64_t seq_length = 512;           // T5: maximum tokens of a text
  std::int64_t target_length = 64;         // T5: maximum tokens of an answer
  std::optional<std::string> prefix = {};  // T5: text before each input; nullopt: the model's own
  std::string what = "--input";            // name of the input in messages
};

// A model loaded for inference on labelled rows: a classifier (also for token labels and question
// answering), or a T5 with greedy decoding.
class ComparedModel {
 public:
  struct Options {
    LoadOptions stored = {};
    std::int64_t batch_size = 32;  // maximum rows per batch
    // T5: exact number of tokens to generate; 0: until the end token.
    std::int64_t answer_tokens = 0;
    RowsToPredict rows = {};  // only its lengths and prefix are used
  };
  // Throws UsageError in the same cases as PretrainedModel, and if the model supports neither
  // classification nor generation.
  ComparedModel(const std::string& command, const std::string& path, const Options& options);

  bool is_t5() const { return generator_.has_value(); }
  const io::Labels& labels() const;  // not for a T5
  // Returns the name of the default metric: "accuracy", "squad-f1", … (evaluation/metrics/named.h).
  std::string metric() const;
  // Returns a JSON object for each row in order: {"text", "label", "prediction", …}.
  std::vector<OrderedJson> predict(const RowsToPredict& rows);
  // Returns the seconds that a batch of `texts` texts of `tokens` tokens takes, from token ids to
  // outputs on the host, including padding. The first call compiles.
  double seconds(std::int64_t texts, std::int64_t tokens);
  // Returns the maximum number of tokens of a text.
  std::int64_t most_tokens() const;

 private:
  std::vector<OrderedJson> predict_classes(const data::LabelledFiles& files,
                                           const std::string& what);
  std::vector<OrderedJson> predict_answers(const data::LabelledFiles& files,
                                           const std::string& what);
  std::vector<OrderedJson> generate_texts(const data::LabelledFiles& files,
                                          const std::string& what);

  Options options_;
  std::optional<execution::Classifier> classifier_;
  std::optional<execution::Generator> generator_;
};

}  // namespace smelt::pipeline
