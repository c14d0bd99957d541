// Conversion of token windows to inputs and targets, alone and in batches of token stores.
#include "data/input_pipeline/text_to_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "data/input_pipeline/window_source.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kEnd = 1, kSentinel = 9999, kFirstToken = 10;
constexpr std::int64_t kSentinels = 100;

TextToText of_objective(TextObjective objective, std::int64_t inputs, std::int64_t targets = 0) {
  return {.objective = objective,
          .inputs_length = inputs,
          .targets_length = targets,
          .end = kEnd,
          .sentinel = kSentinel,
          .sentinels = kSentinels};
}

struct Made {
  Ids inputs, targets;  // without padding
};

Ids without_padding(const Ids& ids) {
  const auto last = std::find_if(ids.rbegin(), ids.rend(), [](auto id) { return id != 0; });
  EXPECT_EQ(std::count(ids.begin(), last.base(), 0), 0);
  return {ids.begin(), last.base()};
}

Made made_of_window(const TextToText& o, const Ids& window, const io::WindowKey& key) {
  const TextLengths lengths = text_lengths(o, "");
  Ids inputs(static_cast<std::size_t>(lengths.inputs)),
      targets(static_cast<std::size_t>(lengths.targets));
  std::vector<std::span<std::int32_t>> arrays{inputs, targets};
  text_to_text(o).make(window, key, arrays);
  return {without_padding(inputs), without_padding(targets)};
}

bool is_sentinel(std::int32_t id) { return id > kSentinel - kSentinels; }

// Restores the text: each sentinel in the inputs is replaced by the target tokens after it. Spans
// without a sentinel of their own have `span` tokens each.
Ids interleaved(const Made& made, std::size_t span) {
  std::map<std::int32_t, Ids> behind;
  std::int32_t sentinel = kSentinel;
  for (const std::int32_t id : made.targets)
    if (is_sentinel(id))
      sentinel = id;
    else if (id != kEnd)
      behind[sentinel].push_back(id);
  Ids out, joined;
  for (const std::int32_t id : made.inputs) {
    if (id == kEnd) continue;
    if (!is_sentinel(id)) {
      EXPECT_TRUE(joined.empty());
      out.push_back(id);
      continue;
    }
    if (joined.empty()) joined = behind.contains(id) ? behind[id] : Ids{};
    const std::size_t count = std::min(span, joined.size());
    out.insert(out.end(), joined.begin(), joined.begin() + static_cast<std::ptrdiff_t>(count));
    joined.erase(joined.begin(), joined.begin() + static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_TRUE(joined.empty());
  return out;
}

Ids text_of(std::size_t tokens) {
  Ids out(tokens);
  std::iota(out.begin(), out.end(), kFirstToken);
  return out;
}

TEST(TextToText, SpanCorruptionHasTheLengthsOfT5) {
  const TextLengths got = text_lengths(of_objective(TextObjective::span_corruption, 512), "");
  EXPECT_EQ(got.tokens, 568);
  EXPECT_EQ(got.inputs, 512);
  EXPECT_EQ(got.targets, 114);
  const Made made =
      made_of_window(of_objective(TextObjective::span_corruption, 512), text_of(568), {1, 2});
  EXPECT_EQ(made.inputs.size(), 512u);  // neither is padded
  EXPECT_EQ(made.targets.size(), 114u);
  EXPECT_EQ(made.inputs.back(), kEnd);
  EXPECT_EQ(made.targets.back(), kEnd);
}

TEST(TextToText, InputsAndTargetsInterleaveBackToTheText) {
  for (const auto objective : {TextObjective::span_corruption, TextObjective::iid_denoise_text}) {
    const TextToText o = of_objective(objective, 64);
    const auto whole = static_cast<std::size_t>(text_lengths(o, "").tokens);
    const std::size_t span = objective == TextObjective::iid_denoise_text ? 3 : whole;
    for (std::uint64_t place = 0; place < 400; ++place) {
      const Ids text = text_of(place % 3 == 0 ? whole : 1 + place % whole);
      const Made made = made_of_window(o, text, {5, place});
      ASSERT_EQ(interleaved(made, span), text) << word_of(objective, kTextObjectives) << place;
      EXPECT_EQ(made.targets.back(), kEnd);
      // ttt gives its sources no end.
      EXPECT_EQ(made.inputs.back() == kEnd, objective == TextObjective::span_corruption);
    }
  }
}

TEST(TextToText, PrefixAndTargetsConcatenateToTheText) {
  const TextToText o = of_objective(TextObjective::prefix_lm, 16);
  EXPECT_EQ(text_lengths(o, "").tokens, 15);
  std::map<std::size_t, int> prefixes;
  for (std::uint64_t place = 0; place < 2800; ++place) {
    Made made = made_of_window(o, text_of(15), {5, place});
    ASSERT_EQ(made.inputs.back(), kEnd);
    ASSERT_EQ(made.targets.back(), kEnd);
    made.inputs.pop_back();
    made.targets.pop_back();
    ++prefixes[made.inputs.size()];
    made.inputs.insert(made.inputs.end(), made.targets.begin(), made.targets.end());
    ASSERT_EQ(made.inputs, text_of(15));
  }
  ASSERT_EQ(prefixes.size(), 14u);  // 1 to 14 tokens
  for (const auto& [size, count] : prefixes) EXPECT_NEAR(count, 200, 70) << size;
}

TEST(TextToText, LanguageModelingPutsTheWholeTextInTheTargets) {
  const Made made = made_of_window(of_objective(TextObjective::lm, 512, 8), text_of(8), {1, 1});
  EXPECT_THAT(made.inputs, ElementsAre(kEnd));
  EXPECT_EQ(made.targets, text_of(8));
}

TEST(TextToText, NoiseDependsOnlyOnTheKey) {
  const TextToText o = of_objective(TextObjective::span_corruption, 64);
  const auto inputs = [&](const io::WindowKey& key) {
    return made_of_window(o, text_of(70), key).inputs;
  };
  EXPECT_EQ(inputs({1, 2}), inputs({1, 2}));
  EXPECT_NE(inputs({1, 2}), inputs({1, 3}));
  EXPECT_NE(inputs({1, 2}), inputs({2, 2}));
}

TEST(TextToText, LogsNoiseThatDoesNotFitInTheTargets) {
  const CapturedLog log;
  TextToText o = of_objective(TextObjective::iid_denoise_text, 64, 12);
  o.noise_density = 0.5;
  const io::WindowTransform transform = text_to_text(o);
  for (std::uint64_t place = 0; place < 100; ++place) {
    Ids inputs(64), targets(12);
    std::vector<std::span<std::int32_t>> arrays{inputs, targets};
    transform.make(text_of(64), {1, place}, arrays);
    EXPECT_EQ(interleaved({without_padding(inputs), without_padding(targets)}, 3), text_of(64));
  }
  EXPECT_THAT(log.text(),
              HasSubstr("data: in 1 window(s) the noise did not fit in data.targets_length 12 or "
                        "in the sentinels; the rest of the noise was left as text"));
  for (const char* told : {"data: in 10 window(s)", "data: in 100 window(s)"})
    EXPECT_THAT(log.text(), HasSubstr(told));
  EXPECT_THAT(log.text(), Not(HasSubstr("data: in 2 window(s)")));
}

TEST(TextToText, RejectsConflictingSettings) {
  const auto refusal = [](const TextToText& o) {
    return error_of<UsageError>([&] { text_lengths(o, "r.yaml: "); });
  };
  TextToText o = of_objective(TextObjective::span_corruption, 512);
  o.targets_length = 100;
  EXPECT_EQ(refusal(o),
            "r.yaml: targets become 114 tokens long, data.targets_length is 100\n"
            "  hint: raise data.targets_length to 114 or lower data.noise_density");
  o = of_objective(TextObjective::span_corruption, 512);
  o.sentinels = 0;
  EXPECT_EQ(refusal(o),
            "r.yaml: windows of 568 tokens have 28 spans of noise, but the vocabulary has only 0 "
            "sentinels\n  hint: raise data.extra_ids or data.mean_noise_span_length, or lower "
            "data.noise_density");
  o = of_objective(TextObjective::span_corruption, 512);
  o.noise_density = 0.9999999;
  o.mean_noise_span_length = 1e9;
  EXPECT_THAT(refusal(o), HasSubstr("data.noise_density 1 leaves almost no text in the inputs"));
  o = of_objective(TextObjective::iid_denoise_text, 512);
  o.sentinels = 0;
  EXPECT_EQ(refusal(o), "r.yaml: the vocabulary has no sentinels\n  hint: raise data.extra_ids");
  o.sentinels = 100;
  o.mean_noise_span_length = 2.5;
  EXPECT_THAT(
      refusal(o),
      HasSubstr("data.mean_noise_span_length is 2.5, must be an integer for iid_denoise_text"));
  o.mean_noise_span_length = 0.5;
  EXPECT_THAT(refusal(o), HasSubstr("data.mean_noise_span_length is 0.5, must be at least 1"));
  o = of_objective(TextObjective::span_corruption, 2);
  EXPECT_THAT(refusal(o), HasSubstr("data.inputs_length is 2, must be at least 4"));
  o.noise_density = 1;
  EXPECT_THAT(refusal(o), HasSubstr("data.noise_density is 1, must be above 0 and below 1"));
  EXPECT_THAT(refusal(of_objective(TextObjective::lm, 512)),
              HasSubstr("data.targets_length is 0, but plain text needs a positive target length"));
  EXPECT_THAT(refusal(of_objective(TextObjective::prefix_lm, 512, 114)),
              HasSubstr("targets become 512 tokens long, data.targets_length is 114"));
}

// ---- in batches ----

class CorruptedStores : public testing::Test {
 protected:
  // Writes documents of these lengths, with consecutive tokens from kFirstToken on.
  std::string store(const std::vector<std::size_t>& documents, std::size_t behind = 0) const {
    std::string bytes;
    io::TokenStoreWriter store({}, 4, [&](std::string_view more) { bytes += more; });
    std::int32_t next = kFirstToken;
    const auto add = [&](std::size_t count) {
      Ids ids(count);
      std::iota(ids.begin(), ids.end(), next);
      next += static_cast<std::int32_t>(count);
      store.add(ids);
    };
    for (const std::size_t document : documents) {
      add(document);
      store.end_document();
    }
    add(behind);
    store.finish();
    io::write_file(dir_.file("f.tokens"), bytes);
    return dir_.file("f.tokens");
  }
  WindowSource open(const std::string& path, const TextToText& o, std::uint64_t seed = 1) const {
    const TextLengths lengths = text_lengths(o, "");
    const auto ids = [](const char* name, std::int64_t length) {
      return io::Feature{name, compiler::DType::s32, {length}, kSentinel + 1, "vocab_size"};
    };
    return WindowSource(
        {.input = path,
         .features = {ids("inputs", lengths.inputs), ids("targets", lengths.targets)},
         .seed = seed,
         .windows = text_to_text(o)},
        {path});
  }
  TempDir dir_;
};

// Rows, without their padding.
std::vector<Made> rows_of_batch(const Batch& batch) {
  std::vector<Made> out;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const auto of_row = [&](const HostArray& array) {
      const auto count = static_cast<std::size_t>(array.shape.dims[1]);
      const auto ids =
          array.values<std::int32_t>().subspan(static_cast<std::size_t>(row) * count, count);
      return without_padding({ids.begin(), ids.end()});
    };
    out.push_back({of_row(batch.arrays[0]), of_row(batch.arrays[1])});
  }
  return out;
}

TEST_F(CorruptedStores, EachEpochContainsEveryTokenOnceWithNewNoise) {
  const TextToText o = of_objective(TextObjective::span_corruption, 64);
  const WindowSource source = open(store({3000, 200, 4001}), o);
  std::vector<Ids> epochs;
  std::vector<std::size_t> sentinels;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    Ids tokens;
    for (std::uint64_t i = 0; i < source.epoch_size(); ++i)
      for (const Made& row : rows_of_batch(source.batch(epoch * source.epoch_size() + i, 1)))
        for (const std::int32_t id : interleaved(row, 1000)) tokens.push_back(id);
    EXPECT_EQ(tokens.size(), source.epoch_size() * 70);
    std::ranges::sort(tokens);
    EXPECT_EQ(std::ranges::adjacent_find(tokens), tokens.end());
    epochs.push_back(tokens);
  }
  EXPECT_THAT(epochs[0], Not(ElementsAreArray(epochs[1])));  // other skips
}

TEST_F(CorruptedStores, BatchDependsOnTheSeedButNotOnTheNumberOfHosts) {
  const TextToText o = of_objective(TextObjective::span_corruption, 64);
  const std::string path = store({9000});
  const WindowSource source = open(path, o);
  const auto inputs = [](const Batch& batch) { return batch.arrays[0].bytes; };
  std::vector<std::byte> of_hosts;
  for (std::int64_t host = 0; host < 4; ++host) {
    const auto part = inputs(source.batch(7, 8, {.host = host, .hosts = 4}));
    of_hosts.insert(of_hosts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(of_hosts, inputs(source.batch(7, 8)));
  EXPECT_EQ(inputs(open(path, o).batch(7, 8)), inputs(source.batch(7, 8)));  // resumed
  EXPECT_NE(inputs(open(path, o, 2).batch(7, 8)), inputs(source.batch(7, 8)));
  // The noise of held-out data does not depend on the seed.
  EXPECT_EQ(inputs(open(path, o, 2).batch_in_order(7, 8)), inputs(source.batch_in_order(7, 8)));
}

TEST_F(CorruptedStores, SplitsEachDocumentSeparately) {
  TextToText o = of_objective(TextObjective::prefix_lm, 11);
  o.across_documents = false;
  const WindowSource source = open(store({25, 10, 1, 7}, 12), o);
  EXPECT_EQ(source.size(), 3u + 1 + 1 + 1 + 2);
  EXPECT_EQ(source.epoch_size(), source.size());
  const auto text_of_row = [](Made row) {
    if (row.targets.empty()) row.targets.push_back(kEnd);
    row.inputs.pop_back();
    row.targets.pop_back();
    row.inputs.insert(row.inputs.end(), row.targets.begin(), row.targets.end());
    return std::pair(row.inputs.front() - kFirstToken, row.inputs.size());
  };
  std::vector<std::pair<std::int32_t, std::size_t>> windows;
  for (const Made& row : rows_of_batch(source.batch_in_order(0, 8)))
    windows.push_back(text_of_row(row));
  const decltype(windows) want{{0, 10}, {10, 10}, {20, 5},  {25, 10},
                               {35, 1}, {36, 7},  {43, 10}, {53, 2}};
  EXPECT_EQ(windows, want);
  windows.clear();
  for (const Made& row : rows_of_batch(source.batch(0, 8))) windows.push_back(text_of_row(row));
  EXPECT_THAT(windows, testing::UnorderedElementsAreArray(want));
}

TEST_F(CorruptedStores, ThrowsIfDocumentEndsAreNotStored) {
  TextToText o = of_objective(TextObjective::prefix_lm, 11);
  o.across_documents = false;
  const std::string path = store({}, 30);
  EXPECT_EQ(error_of<UsageError>([&] { open(path, o); }),
            path +
                ": does not store where documents end\n  hint: set data.documents to packed, or "
                "make a token store of the text with smelt data tokens");
}

TEST_F(CorruptedStores, LayoutIncludesTheWindowTransform) {
  TextToText o = of_objective(TextObjective::span_corruption, 64);
  const std::string path = store({900});
  const auto before = open(path, o).layout();
  o.mean_noise_span_length = 4;
  EXPECT_EQ(before["window"]["mean_noise_span_length"], 3);
  EXPECT_NE(open(path, o).layout()["window"], before["window"]);
}

}  // namespace
}  // namespace smelt::data
