// What a fine-tuned model that is named by its folder says of labelled rows, and how long it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/preprocess/labelled_rows.h"
#include "pipeline/compress_checks.h"
#include "pipeline/pretrained_model.h"

namespace smelt {

// {"text", "pair", "label", "prediction", "probabilities"} of a classifier's numbers for a row, as
// far as it has them; of token_labels the words instead, as words_json() has them.
OrderedJson asked_row_json(const LabelledRow& row, bool has_label, const Labels& labels,
                           const std::vector<float>& numbers);

struct AskedRows {
  LabelledFiles files = {};         // columns that are empty are called as the problem has them
  std::int64_t seq_length = 512;    // of a T5: tokens of a text
  std::int64_t target_length = 64;  // of a T5: of an answer
  std::optional<std::string> prefix = {};  // of a T5; else its own
  std::string what = "--input";            // in messages
};

// A classifier, a tagger, a finder of answers, or a T5 that answers greedily.
class AskedModel {
 public:
  struct Options {
    LoadOptions stored = {};
    std::int64_t batch_size = 32;    // most rows at a time
    std::int64_t answer_tokens = 0;  // of a T5: exactly so many; 0: as it ends
    AskedRows rows = {};             // its lengths and prefix
  };
  // Throws UsageError as PretrainedModel does, also for a model that is none of these.
  AskedModel(const std::string& command, const std::string& path, const Options& options);

  bool is_t5() const { return generator_.has_value(); }
  const Labels& labels() const;  // not of a T5
  // Of the scores that it is told by: "accuracy", "squad-f1", … (evaluation/metrics/named.h).
  std::string metric() const;
  // A JSON object for each row, {"text", "label", "prediction", …}, in their order.
  std::vector<OrderedJson> say(const AskedRows& rows);
  // Seconds for so many texts of so many tokens, from ids to numbers on the host, with the padding
  // that they are given. The first call compiles.
  double seconds(std::int64_t texts, std::int64_t tokens);
  std::int64_t most_tokens() const;

 private:
  std::vector<OrderedJson> say_classes(const LabelledFiles& files, const std::string& what);
  std::vector<OrderedJson> say_answers(const LabelledFiles& files, const std::string& what);
  std::vector<OrderedJson> say_texts(const LabelledFiles& files, const std::string& what);

  Options options_;
  std::optional<Classifier> classifier_;
  std::optional<Generator> generator_;
};

}  // namespace smelt
