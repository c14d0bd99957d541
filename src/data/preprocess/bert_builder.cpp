#include "data/preprocess/bert_builder.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "data/preprocess/id_codec.h"
#include "data/preprocess/require.h"

namespace smelt::data {
namespace {

constexpr std::size_t kFirstAnswer = 4;  // index of the first masking target in ExampleCounts
// maximum number of tokens of an example, because thousands of examples are in memory at once
constexpr std::int64_t kMostTokens = 1 << 16;

void check_options(const PairOptions& o, const CorpusReader& reader) {
  require(o.seq_length >= 5,
          str("seq_length ", o.seq_length, " is less than the 5 of [CLS] a [SEP] b [SEP]"),
          "the usual lengths are 128 and 512");
  require(o.seq_length <= kMostTokens,
          str("seq_length ", o.seq_length, " is more than ", kMostTokens),
          "the usual lengths are 128 and 512");
  require(o.max_predictions >= 1, str("max_predictions ", o.max_predictions, " is less than 1"),
          str("about seq_length x masked_lm_prob: ", o.seq_length, " x ", o.masked_lm_prob));
  require(o.max_predictions <= kMostTokens,
          str("max_predictions ", o.max_predictions, " is more than ", kMostTokens),
          str("about seq_length x masked_lm_prob: ", o.seq_length, " x ", o.masked_lm_prob));
  require(o.dupe_factor >= 1, str("dupe_factor ", o.dupe_factor, " is less than 1"),
          "5 and 10 are usual");
  require(o.masked_lm_prob > 0 && o.masked_lm_prob < 1,
          str("masked_lm_prob ", o.masked_lm_prob, " is not between 0 and 1"), "0.15 is usual");
  require(o.short_seq_prob >= 0 && o.short_seq_prob <= 1,
          str("short_seq_prob ", o.short_seq_prob, " is not between 0 and 1"), "0.1 is usual");
  const auto& continues = reader.mask_vocabulary().continues;
  require(!o.whole_word_mask || std::ranges::find(continues, true) != continues.end(),
          str("whole_word_mask needs pieces that continue a word, and ",
              reader.tokenizer().vocabulary().origin(), " marks none"),
          "leave whole_word_mask out: every token of this vocabulary is a whole word");
}

// The header of a masked pair in temporary files. It is followed by the tokens of A and B, and by
// the masks' positions and replacements.
struct PairHead {
  std::uint32_t a = 0, b = 0, masks = 0, random_next = 0;  // three counts and a flag
};

struct PairCodec {
  IdCodec ids, positions;

  PairCodec(const MaskVocabulary& vocabulary, const PairOptions& pairs)
      : ids(std::ssize(vocabulary.continues)), positions(pairs.seq_length) {}
};

class BertDrawer final : public ExampleDrawer {
 public:
  BertDrawer(const BertBuilder& builder, const MaskVocabulary& vocabulary, const PairOptions& pairs,
             const DocumentGroup& group, ExampleCounts& counts)
      : builder_(builder),
        group_(group),
        counts_(counts),
        codec_(vocabulary, pairs),
        drawer_(group.corpus, vocabulary, pairs) {}

  void draw(std::size_t document, std::uint64_t, StreamRandom& random,
            const ExampleSink& take) override {
    list_.clear();
    drawer_.draw(document, random, list_);
    for (const SentencePair& pair : list_.pairs) {
      const MaskedPair masked = list_.view(group_.corpus, pair);
      builder_.count(masked, counts_);
      put(masked);
      take(record_);
    }
  }

 private:
  void put(const MaskedPair& pair) {
    record_.clear();
    put_value(PairHead{.a = static_cast<std::uint32_t>(pair.a.size()),
                       .b = static_cast<std::uint32_t>(pair.b.size()),
                       .masks = static_cast<std::uint32_t>(pair.masks.size()),
                       .random_next = pair.random_next},
              record_);
    positions_.clear();
    replacements_.clear();
    for (const Mask& mask : pair.masks) {
      positions_.push_back(static_cast<std::int32_t>(mask.position));
      replacements_.push_back(mask.replacement);
    }
    codec_.ids.put(pair.a, record_);
    codec_.ids.put(pair.b, record_);
    codec_.positions.put(positions_, record_);
    codec_.ids.put(replacements_, record_);
  }

  const BertBuilder& builder_;
  const DocumentGroup& group_;
  ExampleCounts& counts_;
  PairCodec codec_;
  PairDrawer<StreamRandom> drawer_;
  PairList list_;
  std::string record_;
  std::vector<std::int32_t> positions_, replacements_;
};

class BertPairEncoder final : public ExampleEncoder {
 public:
  BertPairEncoder(const MaskVocabulary& vocabulary, const PairOptions& pairs)
      : codec_(vocabulary, pairs), encoder_(vocabulary, pairs) {}

  std::uint64_t encode(std::string_view example, std::string& out) override {
    const auto head = take_value<PairHead>(example);
    for (auto* ids : {&a_, &b_, &positions_, &replacements_}) ids->clear();
    masks_.clear();
    codec_.ids.take(example, head.a, a_);
    codec_.ids.take(example, head.b, b_);
    codec_.positions.take(example, head.masks, positions_);
    codec_.ids.take(example, head.masks, replacements_);
    for (std::size_t i = 0; i < head.masks; ++i)
      masks_.push_back({static_cast<std::uint32_t>(positions_[i]), replacements_[i]});
    const MaskedPair pair{a_, b_, head.random_next != 0, masks_};
    encoder_.append(pair, out);
    return pair.tokens();
  }

 private:
  PairCodec codec_;
  BertEncoder encoder_;
  std::vector<std::int32_t> a_, b_, positions_, replacements_;
  std::vector<Mask> masks_;
};

}  // namespace

BertBuilder::BertBuilder(const CorpusReader& reader, const PairOptions& pairs)
    : tokenizer_(reader.tokenizer()), vocabulary_(reader.mask_vocabulary()), pairs_(pairs) {
  check_options(pairs, reader);
}

OrderedJson BertBuilder::settings() const {
  OrderedJson out{
      {"seq_length", pairs_.seq_length},         {"max_predictions", pairs_.max_predictions},
      {"next_sentence", pairs_.next_sentence},   {"whole_word_mask", pairs_.whole_word_mask},
      {"masked_lm_prob", pairs_.masked_lm_prob}, {"short_seq_prob", pairs_.short_seq_prob},
      {"dupe_factor", pairs_.dupe_factor}};
  out.update(text::tokenizer_settings(tokenizer_.options()));
  return out;
}

void BertBuilder::check(const CorpusCounts& text) const {
  if (!pairs_.next_sentence || text.sentences > text.documents) return;
  throw UsageError(str("training data: none of the ", text.documents,
                       " documents has more than one sentence, so every next sentence would be "
                       "random"),
                   "write one sentence on a line and an empty line between documents; or give "
                   "--sentences prose (in a recipe: text.sentences=prose), which splits "
                   "paragraphs, or --no-next-sentence (data.next_sentence=false)");
}

void BertBuilder::warn_of_random_next(const CorpusCounts& text, const ExampleCounts& counts) const {
  constexpr double kManyDocuments = 0.2, kMostlyRandom = 0.6;
  if (!pairs_.next_sentence || counts.size() < kFirstAnswer) return;
  const double random = share(counts[3], counts[2]);
  if (share(text.one_sentence, text.documents) <= kManyDocuments || random <= kMostlyRandom) return;
  log_warning(
      "{} of the {} documents have only one sentence: {} of the next sentences are random "
      "(expected: 50 %), so next_sentence_accuracy is not meaningful\n"
      "  hint: --no-next-sentence (in a recipe: data.next_sentence=false) trains without "
      "next-sentence prediction",
      text.one_sentence, text.documents, percent(random));
}

std::unique_ptr<ExampleDrawer> BertBuilder::drawer(const DocumentGroup& group,
                                                   ExampleCounts& counts) const {
  return std::make_unique<BertDrawer>(*this, vocabulary_, pairs_, group, counts);
}

std::unique_ptr<ExampleEncoder> BertBuilder::encoder() const {
  return std::make_unique<BertPairEncoder>(vocabulary_, pairs_);
}

void BertBuilder::count(const MaskedPair& pair, ExampleCounts& counts) const {
  counts.resize(kFirstAnswer + vocabulary_.words.size());
  counts[0] += pair.masks.size();
  counts[1] += pair.a.size() + pair.b.size();
  ++counts[2];
  counts[3] += pair.random_next ? 1 : 0;
  for (const Mask& mask : pair.masks)
    ++counts[kFirstAnswer + static_cast<std::size_t>(pair.answer(mask))];
}

OrderedJson BertBuilder::facts(const ExampleCounts& counts) const {
  if (counts.empty()) return {{"masked_tokens", 0}};
  const auto first = counts.begin() + kFirstAnswer, most = std::max_element(first, counts.end());
  return {{"masked_tokens", counts[0]},
          {"majority_token", {{"id", most - first}, {"count", *most}}}};
}

}  // namespace smelt::data
