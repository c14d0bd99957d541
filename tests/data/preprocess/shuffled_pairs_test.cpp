// Compares BERT's pairs in the shuffled order with an in-memory implementation, and with the hashes
// in tests/golden/shuffled.json, so that data never changes unnoticed. SMELT_UPDATE_GOLDEN=1
// rewrites that file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/json.h"
#include "base/philox.h"
#include "data/input_pipeline/description.h"
#include "data/preprocess/bert_builder.h"
#include "data/preprocess/bert_examples.h"
#include "data/preprocess/small_corpus.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/sha256.h"
#include "text/tokenizers/tokenizer_json.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

// A document with its key and its size on disk: 12 bytes per record, 16 per document, 4 per
// sentence, 2 per token.
struct TwinDocument {
  std::uint64_t key = 0, number = 0, bytes = 28;
  std::vector<std::vector<std::int32_t>> sentences;
};
using Documents = std::vector<TwinDocument>;

// Builds the leaves of step 1 in docs/reference/formats/description.md: equal key ranges, which are
// split again while they are too large.
void cut(const Documents& documents, std::uint64_t first, std::uint64_t last, std::size_t parts,
         const ShuffleSizes& sizes, std::vector<Documents>& leaves) {
  const std::vector<std::uint64_t> keys = cut_keys(first, last, parts);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t end = i + 1 < keys.size() ? keys[i + 1] - 1 : last;
    Documents inside;
    std::uint64_t bytes = 0;
    for (const TwinDocument& document : documents)
      if (document.key >= keys[i] && document.key <= end) {
        inside.push_back(document);
        bytes += document.bytes;
      }
    const std::uint64_t limit = sizes.group_bytes / 4;
    if (bytes > limit && inside.size() > 1)
      cut(inside, keys[i], end, std::clamp<std::size_t>(2 * bytes / limit, 2, sizes.fan_out), sizes,
          leaves);
    else
      leaves.push_back(inside);
  }
}

// Collects leaves into groups by the share of all bytes before them.
std::vector<Documents> make_groups(const Documents& documents, const ShuffleSizes& sizes) {
  std::vector<Documents> leaves;
  cut(documents, 0, kLastKey, sizes.document_ranges, sizes, leaves);
  std::uint64_t total = 0, before = 0;
  for (const TwinDocument& document : documents) total += document.bytes;
  std::vector<Documents> groups((total + sizes.group_bytes - 1) / sizes.group_bytes);
  for (const Documents& leaf : leaves)
    for (std::uint64_t start = before; const TwinDocument& document : leaf) {
      groups[start * groups.size() / total].push_back(document);
      before += document.bytes;
    }
  for (Documents& group : groups) std::ranges::sort(group, {}, &TwinDocument::number);
  return groups;
}

std::uint64_t key_of(std::array<std::uint32_t, 4> bits) {
  return std::uint64_t{bits[1]} << 32 | bits[0];
}

class ShuffledPairs : public testing::Test {
 protected:
  BertExamplesJob job(const std::string& output, int documents = 300) {
    io::write_file(dir_.file("in.txt"), small_text(documents));
    BertExamplesJob job;
    job.text.input = dir_.file("in.txt");
    job.vocab = golden_vocabulary();
    job.output = dir_.file(output);
    job.pairs.seq_length = 64;
    job.pairs.max_predictions = 10;
    job.pairs.dupe_factor = 3;
    return job;
  }
  static Documents read(const BertExamplesJob& job) {
    const text::BertTokenizer tokenizer = text::BertTokenizer::load(job.vocab, {});
    text::DocumentReader reader(job.text);
    Documents documents;
    for (text::Document document; reader.next(document);) {
      TwinDocument& twin = documents.emplace_back();
      twin.number = documents.size() - 1;
      twin.key = key_of(philox(random_key(static_cast<std::uint64_t>(job.seed), "document buckets"),
                               twin.number, 0));
      for (std::size_t i = 0; i < document.size(); ++i) {
        twin.sentences.push_back(tokenizer.encode(document.sentence(i)));
        twin.bytes += 4 + 2 * twin.sentences.back().size();
      }
    }
    return documents;
  }
  static std::string in_memory(const BertExamplesJob& job);

  CapturedLog log_;
  TempDir dir_;
};

std::string ShuffledPairs::in_memory(const BertExamplesJob& job) {
  const CorpusReader reader(job.vocab, {});
  const auto seed = static_cast<std::uint64_t>(job.seed);
  std::map<std::uint64_t, std::string> examples;
  BertEncoder encoder(reader.mask_vocabulary(), job.pairs);
  for (const Documents& group : make_groups(read(job), job.sizes)) {
    TokenCorpus corpus;
    for (const TwinDocument& document : group) {
      for (const auto& sentence : document.sentences) corpus.add_sentence(sentence);
      corpus.end_document();
    }
    PairDrawer<StreamRandom> drawer(corpus, reader.mask_vocabulary(), job.pairs);
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::uint64_t pass = 0; std::cmp_less(pass, job.pairs.dupe_factor); ++pass) {
        StreamRandom random(random_key(seed, "draws"), group[i].number, pass);
        PairList list;
        drawer.draw(i, random, list);
        for (std::size_t place = 0; place < list.pairs.size(); ++place)
          encoder.append(list.view(corpus, list.pairs[place]),
                         examples[key_of(philox(random_key(seed, "order of examples"),
                                                group[i].number, pass << 32 | place))]);
      }
  }
  std::string out;
  for (const auto& [key, record] : examples) out += record;
  return out;
}

TEST_F(ShuffledPairs, EqualPairsDrawnInMemory) {
  BertExamplesJob one = job("out");
  build_bert_examples(one);
  EXPECT_TRUE(io::read_file(one.output) == in_memory(one));
  one.pairs.whole_word_mask = true;
  one.pairs.next_sentence = false;
  one.overwrite = true;
  one.seed = 3;
  build_bert_examples(one);
  EXPECT_TRUE(io::read_file(one.output) == in_memory(one));
}

TEST_F(ShuffledPairs, ManyGroupsEqualPairsDrawnInMemory) {
  BertExamplesJob many = job("out");
  many.sizes = small_sizes();
  ASSERT_GT(make_groups(read(many), many.sizes).size(), 5u);
  build_bert_examples(many);
  EXPECT_TRUE(io::read_file(many.output) == in_memory(many));
  BertExamplesJob others = job("others");
  others.sizes = many.sizes;
  others.threads = 7;
  others.memory = 1 << 16;
  build_bert_examples(others);
  EXPECT_TRUE(io::read_file(others.output) == io::read_file(many.output));
}

// Returns the hashes for the settings in tests/golden/shuffled.json.
OrderedJson hashes(const OrderedJson& item, BertExamplesJob job) {
  job.seed = item["seed"];
  job.shards = item["shards"];
  job.pairs.whole_word_mask = item["whole_word_mask"];
  job.pairs.next_sentence = item["next_sentence"];
  if (item["small_sizes"]) job.sizes = small_sizes();
  build_bert_examples(job);
  OrderedJson out;
  for (const std::string& path : output_names(job.output, job.shards))
    out.push_back(sha256(io::read_file(path)));
  return out;
}

TEST_F(ShuffledPairs, EqualTheGoldenHashes) {
  const std::string path = source_path("tests/golden/shuffled.json");
  auto golden = OrderedJson::parse(io::read_file(path));
  const bool update = std::getenv("SMELT_UPDATE_GOLDEN") != nullptr;
  ASSERT_GE(golden["items"].size(), 6u);
  for (std::size_t i = 0; i < golden["items"].size(); ++i) {
    OrderedJson& item = golden["items"][i];
    const OrderedJson found = hashes(item, job(str("out", i)));
    if (update) item["sha256"] = found;
    EXPECT_EQ(item["sha256"], found) << item;
  }
  if (update) io::write_file(path, golden.dump(2) + "\n");
}

TEST_F(ShuffledPairs, DescriptionContainsTheMostFrequentMaskedToken) {
  for (const ExampleOrder order : {ExampleOrder::shuffled, ExampleOrder::original}) {
    BertExamplesJob counted = job(str("out-", name(order)));
    counted.order = order;
    const BuildSummary summary = build_bert_examples(counted);
    std::map<std::int64_t, std::uint64_t> answers;
    const std::string file = io::read_file(counted.output);
    io::RecordReader records(file);
    while (const auto record = records.next()) {
      const io::Example example(*record, "out");
      for (std::size_t i = 0; i < 10; ++i)
        if (example.reals("masked_lm_weights")[i] > 0)
          ++answers[example.integers("masked_lm_ids")[i]];
    }
    const auto most = std::ranges::max_element(answers, {}, [](const auto& a) { return a.second; });
    const auto description = find_description({counted.output});
    ASSERT_TRUE(description && description->majority_token);
    EXPECT_EQ(description->majority_token->count, most->second);
    EXPECT_EQ(answers[description->majority_token->id], most->second);
    EXPECT_EQ(description->masked_tokens, summary.masked_tokens);
  }
}

TEST_F(ShuffledPairs, WholeWordMaskingUsesTheContinuationPrefixOfTheVocabulary) {
  BertExamplesJob hashes = job("hashes");
  hashes.pairs.whole_word_mask = true;
  build_bert_examples(hashes);
  std::vector<std::string> tokens = text::Vocabulary::load(golden_vocabulary()).tokens();
  for (std::string& token : tokens)
    if (token.starts_with("##")) token.replace(0, 2, "__");
  BertExamplesJob bars = hashes;
  bars.vocab = dir_.file("tokenizer.json");
  bars.output = dir_.file("bars");
  io::write_file(bars.vocab, text::tokenizer_json(text::Vocabulary(tokens, "v", "__"), {}));
  build_bert_examples(bars);
  // The text consists of pieces, and the two vocabularies have no piece in common.
  EXPECT_TRUE(in_memory(bars) == io::read_file(bars.output));
  const MaskVocabulary mask = CorpusReader(bars.vocab, {}).mask_vocabulary();
  EXPECT_EQ(mask.continues, CorpusReader(golden_vocabulary(), {}).mask_vocabulary().continues);
  EXPECT_THAT(mask.continues, testing::Contains(true));
}

TEST_F(ShuffledPairs, OnlyTheOriginalOrderDrawsABlankLastLineOfTheVocabulary) {
  const std::string vocab = dir_.file("blank.txt");
  io::write_file(vocab, "[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n\n");
  const CapturedLog log;
  EXPECT_EQ(CorpusReader(vocab, {}).mask_vocabulary().words,
            (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_THAT(log.text(), Not(HasSubstr("vocab_size")));
  EXPECT_EQ(CorpusReader(vocab, {}, true).mask_vocabulary().words,
            (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(log.text(), HasSubstr("blank.txt: ends with a blank line, whose id 5 may"));
  EXPECT_THAT(log.text(),
              HasSubstr("vocab_size must be at least 6, although the text needs only 5"));
}

TEST_F(ShuffledPairs, WholeWordMaskingRequiresContinuationPieces) {
  BertExamplesJob words = job("out", 3);
  words.pairs.whole_word_mask = true;
  io::write_file(words.vocab = dir_.file("v.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  EXPECT_THAT(error_of([&] { build_bert_examples(words); }),
              HasSubstr("whole_word_mask needs pieces that continue a word, and "));
}

}  // namespace
}  // namespace smelt::data
