#include "pipeline/objectives/show_example.h"

#include <map>

#include "base/json.h"
#include "base/str.h"
#include "data/input_pipeline/inspect.h"

namespace smelt::pipeline {
namespace {

constexpr std::string_view kRight = "\033[1;32m", kShown = "\033[31m", kKept = "\033[33m",
                           kDim = "\033[2m", kPlain = "\033[0m";

class ExampleText {
 public:
  ExampleText(const text::Vocabulary* vocabulary, bool colour)
      : vocabulary_(vocabulary), colour_(colour) {}

  std::string token(std::int64_t id) const {
    return names(id) ? vocabulary_->token(static_cast<std::int32_t>(id)) : str(id);
  }
  // Returns the length of the prefix, such as "##", that marks the token as the continuation of a
  // word; 0 if the token begins a word.
  std::size_t continuing_mark(std::int64_t id) const {
    if (!names(id) || !vocabulary_->continues_word(static_cast<std::int32_t>(id))) return 0;
    const std::size_t size = vocabulary_->continuing_prefix().size();
    return token(id).size() > size ? size : 0;
  }
  std::string paint(std::string_view colour, std::string_view text) const {
    return colour_ ? str(colour, text, kPlain) : std::string(text);
  }
  std::string prediction(const std::string& right, const std::string& shown) const {
    if (right == shown) return str("{", paint(kKept, right), " =}");
    return str("{", paint(kRight, right), " < ", paint(kShown, shown), "}");
  }

 private:
  bool names(std::int64_t id) const {
    return vocabulary_ != nullptr && id >= 0 && id < vocabulary_->size();
  }

  const text::Vocabulary* vocabulary_;
  bool colour_;
};

// Formats a list of values as text. Long lists are truncated.
template <class Values>
std::string first_of(const Values& values) {
  constexpr std::size_t kMost = 16;
  std::string out;
  for (std::size_t i = 0; i < values.size() && i < kMost; ++i) out += str(" ", values[i]);
  return values.size() <= kMost ? out : str(out, " … (", values.size(), ")");
}

std::vector<std::string> quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    out.push_back(Json(text).dump(-1, ' ', false, JsonInvalidUtf8::replace));
  return out;
}

}  // namespace

std::string example_legend(bool colour) {
  const ExampleText text(nullptr, colour);
  return str("examples, {to predict < shown}: ", text.prediction("right", "wrong"), ", ",
             text.prediction("kept", "kept"), "\n");
}

std::string show_example(const std::string& place, const data::BertRow& example,
                         const text::Vocabulary* vocabulary, bool colour) {
  const ExampleText text(vocabulary, colour);
  std::map<std::int32_t, std::int32_t> answers;
  for (std::size_t i = 0; i < example.masked_lm_ids.size(); ++i)
    if (example.masked_lm_weights[i] > 0)
      answers[example.masked_lm_positions[i]] = example.masked_lm_ids[i];
  std::string out = text.paint(
      kDim, str(place, ", B ", example.next_sentence_label == 0 ? "follows A" : "is random"));
  std::int32_t segment = -1;
  for (std::size_t i = 0; i < example.input_ids.size() && example.input_mask[i] != 0; ++i) {
    const bool begins = example.segment_ids[i] != segment;
    segment = example.segment_ids[i];
    if (begins) out += str("\n  ", static_cast<char>('A' + segment % 26), ":");
    const auto answer = answers.find(static_cast<std::int32_t>(i));
    const std::int32_t shown = example.input_ids[i],
                       right = answer == answers.end() ? shown : answer->second;
    const std::size_t mark = begins ? 0 : text.continuing_mark(right);
    if (mark == 0) out += " ";
    if (answer != answers.end())
      out += text.prediction(text.token(right), text.token(shown));
    else
      out += text.token(right).substr(mark);
  }
  return out + "\n";
}

static std::string words_of(std::vector<std::int64_t> ids, const text::Vocabulary& vocabulary) {
  while (!ids.empty() && ids.back() == 0) ids.pop_back();
  const ExampleText text(&vocabulary, false);
  std::string out;
  for (const std::int64_t id : ids) {
    const std::size_t mark = text.continuing_mark(id);
    out += str(mark == 0 ? " " : "", text.token(id).substr(mark));
  }
  return out;
}

static std::string pieces_of(std::vector<std::int64_t> ids, const text::Tokenizer& pieces) {
  while (!ids.empty() && ids.back() == 0) ids.pop_back();
  std::string out;
  for (const std::int64_t id : ids)
    out += " " + (id >= 0 && id < pieces.size() ? pieces.token(static_cast<std::int32_t>(id))
                                                : str("<", id, ">"));  // an added sentinel
  return out;
}

std::string show_features(const std::string& place, const io::Example& example,
                          const text::Vocabulary* vocabulary, const text::Tokenizer* pieces) {
  std::string out = place + "\n";
  for (const io::ExampleFeature& feature : example.features()) {
    out += str("  ", feature.name, ":");
    const bool words = vocabulary != nullptr && feature.name == data::kTokenIds;
    const bool ids = feature.name == "inputs" || feature.name == "targets";
    if (feature.kind == io::ExampleKind::integers)
      out += words                      ? words_of(example.integers(feature.name), *vocabulary)
             : ids && pieces != nullptr ? pieces_of(example.integers(feature.name), *pieces)
                                        : first_of(example.integers(feature.name));
    if (feature.kind == io::ExampleKind::reals) out += first_of(example.reals(feature.name));
    if (feature.kind == io::ExampleKind::bytes)
      out += first_of(quoted(example.bytes(feature.name)));
    out += "\n";
  }
  return out;
}

}  // namespace smelt::pipeline
