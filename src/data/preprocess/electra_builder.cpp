#include "data/preprocess/electra_builder.h"

#include <algorithm>

#include "data/preprocess/id_codec.h"
#include "data/preprocess/require.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"

namespace smelt::data {
namespace {

constexpr std::int64_t kLeastLength = 5, kMostLength = 1 << 16;

class ElectraDrawer final : public ExampleDrawer {
 public:
  ElectraDrawer(const ElectraBuilder& builder, const DocumentGroup& group, ExampleCounts& counts)
      : builder_(builder), group_(group), counts_(counts), segments_(builder.seq_length()) {}

  void draw(std::size_t document, std::uint64_t, StreamRandom& random,
            const ExampleSink& take) override {
    const auto put = [&] {
      builder_.pack(segments_.draw(random), counts_, record_);
      take(record_);
    };
    segments_.draw_target(random);
    const auto [first, last] = group_.corpus.documents()[document];
    for (std::uint64_t sentence = first; sentence < last; ++sentence)
      if (segments_.add(group_.corpus.ids(group_.corpus.tokens(sentence, sentence + 1)))) put();
    if (segments_.has_text()) put();
  }

 private:
  const ElectraBuilder& builder_;
  const DocumentGroup& group_;
  ExampleCounts& counts_;
  SegmentDrawer<StreamRandom> segments_;
  std::string record_;
};

// Encodes tf.Examples with the features of google-research/electra's build_pretraining_dataset.py
// in the same order.
class ElectraEncoder final : public ExampleEncoder {
 public:
  ElectraEncoder(const text::Vocabulary& vocabulary, std::int64_t seq_length)
      : codec_(vocabulary.size()),
        cls_(vocabulary.id("[CLS]")),
        sep_(vocabulary.id("[SEP]")),
        length_(static_cast<std::size_t>(seq_length)) {}

  std::uint64_t encode(std::string_view example, std::string& out) override {
    const auto a = take_value<std::uint32_t>(example), b = take_value<std::uint32_t>(example);
    input_ids_.assign(1, cls_);
    codec_.take(example, a, input_ids_);
    input_ids_.push_back(sep_);
    segment_ids_.assign(input_ids_.size(), 0);
    if (b > 0) {
      codec_.take(example, b, input_ids_);
      input_ids_.push_back(sep_);
      segment_ids_.resize(input_ids_.size(), 1);
    }
    const std::size_t tokens = input_ids_.size();
    input_mask_.assign(tokens, 1);
    for (auto* values : {&input_ids_, &input_mask_, &segment_ids_}) values->resize(length_);
    example_.integers("input_ids", input_ids_);
    example_.integers("input_mask", input_mask_);
    example_.integers("segment_ids", segment_ids_);
    io::append_record(out, example_.take());
    return tokens;
  }

 private:
  IdCodec codec_;
  std::int32_t cls_, sep_;
  std::size_t length_;
  // The current example; reused to avoid allocations.
  io::ExampleWriter example_;
  std::vector<std::int32_t> input_ids_, input_mask_, segment_ids_;
};

}  // namespace

ElectraBuilder::ElectraBuilder(const text::BertTokenizer& tokenizer, const ElectraOptions& options)
    : tokenizer_(tokenizer), options_(options) {
  tokenizer.vocabulary().check_special_tokens();
  require(options.seq_length >= kLeastLength,
          str("seq_length ", options.seq_length, " is less than the ", kLeastLength,
              " of [CLS] a [SEP] b [SEP]"),
          "the usual lengths are 128 and 512");
  require(options.seq_length <= kMostLength,
          str("seq_length ", options.seq_length, " is more than ", kMostLength),
          "the usual lengths are 128 and 512");
}

OrderedJson ElectraBuilder::settings() const {
  OrderedJson out{{"seq_length", options_.seq_length},
                  {"blanks_separate_docs", options_.blanks_separate_docs}};
  out.update(text::tokenizer_settings(tokenizer_.options()));
  return out;
}

std::unique_ptr<ExampleDrawer> ElectraBuilder::drawer(const DocumentGroup& group,
                                                      ExampleCounts& counts) const {
  return std::make_unique<ElectraDrawer>(*this, group, counts);
}

std::unique_ptr<ExampleEncoder> ElectraBuilder::encoder() const {
  return std::make_unique<ElectraEncoder>(tokenizer_.vocabulary(), options_.seq_length);
}

void ElectraBuilder::pack(const Segments& segments, ExampleCounts& counts, std::string& out) const {
  counts.resize(2 + static_cast<std::size_t>(tokenizer_.size()));
  counts[0] += segments.tokens();
  counts[1] += segments.b.empty() ? 1 : 0;
  for (const auto& part : {segments.a, segments.b})
    for (const std::int32_t id : part) ++counts[2 + static_cast<std::size_t>(id)];
  const IdCodec codec(tokenizer_.size());
  out.clear();
  put_value(static_cast<std::uint32_t>(segments.a.size()), out);
  put_value(static_cast<std::uint32_t>(segments.b.size()), out);
  codec.put(segments.a, out);
  codec.put(segments.b, out);
}

OrderedJson ElectraBuilder::facts(const ExampleCounts& counts) const {
  if (counts.empty()) return {{"example_tokens", 0}, {"one_segment_examples", 0}};
  const auto first = counts.begin() + 2, most = std::max_element(first, counts.end());
  return {{"example_tokens", counts[0]},
          {"one_segment_examples", counts[1]},
          {"majority_token", {{"id", most - first}, {"count", *most}}}};
}

}  // namespace smelt::data
