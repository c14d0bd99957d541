// The C interface: from a C program that links libsmelt.so, and against the C++ functions below it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <smelt.h>

#include <cstring>
#include <thread>

#include "base/log.h"
#include "data/input_pipeline/example_source.h"
#include "io/filesystem/file.h"
#include "support/bert_records.h"
#include "support/command.h"
#include "support/paths.h"

namespace smelt::c_api {
namespace {

using testing::HasSubstr;

constexpr const char* kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\ndog\n##s\n";

#ifdef SMELT_C_PROGRAM  // not built with sanitizers
TEST(CInterface, WorksFromACProgram) {
  const TempDir dir;
  io::write_file(dir.file("vocab.txt"), kVocabulary);
  write_test_examples(dir.file("x.tfrecord"), 0, 13);
  const CommandOutput output =
      run_command(str(SMELT_C_PROGRAM, " ", dir.file("vocab.txt"), " ", dir.file("x.tfrecord")));
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(output.text, "");  // the library prints nothing
}

TEST(CInterface, ExportsOnlyItsFunctionsAndNeedsNoJemalloc) {
  const CommandOutput symbols =
      run_command(str("nm -D --defined-only ", SMELT_C_LIBRARY, " | grep -v ' T smelt_'"));
  EXPECT_EQ(symbols.text, "");
  const CommandOutput needed = run_command(str("readelf -d ", SMELT_C_LIBRARY));
  EXPECT_THAT(needed.text, HasSubstr("libsentencepiece.so"));
  EXPECT_THAT(needed.text, testing::Not(HasSubstr("jemalloc")));
}
#endif

TEST(CInterface, GivesTheBatchesOfTraining) {
  const TempDir dir;
  write_test_examples(dir.file("a-0.tfrecord"), 0, 7);
  write_test_examples(dir.file("a-1.tfrecord"), 7, 13);
  const std::string input = dir.file("a-*.tfrecord");
  const auto source = data::open_examples({.input = input, .features = test_features(), .seed = 1});
  smelt_batches* batches = nullptr;
  const Json options{{"input", input},
                     {"seed", 1},
                     {"features",
                      {"input_ids", "input_mask", "segment_ids", "masked_lm_positions",
                       "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"}}};
  ASSERT_EQ(smelt_batches_open(options.dump().c_str(), &batches), SMELT_OK) << smelt_error_text();
  for (std::uint64_t step = 0; step < 9; ++step) {
    smelt_arrays* arrays = nullptr;
    ASSERT_EQ(smelt_batch(batches, step, 6, nullptr, &arrays), SMELT_OK) << smelt_error_text();
    const data::Batch want = source->batch(step, 6);
    for (std::size_t i = 0; i < want.arrays.size(); ++i) {
      const smelt_array* got = smelt_arrays_at(arrays, static_cast<std::int64_t>(i));
      ASSERT_NE(got, nullptr);
      EXPECT_EQ(got->name, test_features()[i].name);
      EXPECT_EQ(std::memcmp(got->data, want.arrays[i].bytes.data(), want.arrays[i].bytes.size()), 0)
          << got->name << " of step " << step;
    }
    EXPECT_EQ(smelt_arrays_at(arrays, std::ssize(want.arrays)), nullptr);
    smelt_arrays_free(arrays);
  }
  smelt_batches_free(batches);
}

TEST(CInterface, KeepsTheErrorOfEachThread) {
  smelt_tokenizer* none = nullptr;
  EXPECT_EQ(smelt_tokenizer_open("first", nullptr, &none), SMELT_USAGE);
  std::thread([&] {
    EXPECT_STREQ(smelt_error_text(), "");
    EXPECT_EQ(smelt_tokenizer_open("second", nullptr, &none), SMELT_USAGE);
    EXPECT_THAT(smelt_error_text(), HasSubstr("second"));
  }).join();
  EXPECT_THAT(smelt_error_text(), HasSubstr("first"));
}

TEST(CInterface, PassesLogMessagesToTheReceiver) {
  std::string got;
  smelt_on_log(
      [](void* context, int level, const char* text, std::size_t bytes) {
        *static_cast<std::string*>(context) += str(level, " ", std::string(text, bytes), "\n");
      },
      &got);
  log_warning("{} texts", 3);
  log_info("an info");
  log_debug("a detail");
  smelt_on_log(nullptr, nullptr);
  log_warning("dropped");
  EXPECT_EQ(got, "2 3 texts\n1 an info\n");
}

// Many threads and parts must not change the order or the values of the rows.
TEST(CInterface, EncodesTheSameOnAnyNumberOfThreads) {
  const TempDir dir;
  io::write_file(dir.file("vocab.txt"), kVocabulary);
  smelt_tokenizer* tokenizer = nullptr;
  ASSERT_EQ(smelt_tokenizer_open(dir.path().c_str(), nullptr, &tokenizer), SMELT_OK);
  std::string text;
  std::vector<std::int64_t> starts{0};
  for (int i = 0; i < 20001; ++i) {
    for (int word = 0; word < i % 7; ++word) text += word % 2 == 0 ? "cat " : "dogs ";
    starts.push_back(std::ssize(text));
  }
  std::vector<std::vector<std::int32_t>> got;
  for (const int threads : {1, 2, 5}) {
    smelt_arrays* arrays = nullptr;
    ASSERT_EQ(smelt_encode(tokenizer, text.c_str(), starts.data(), std::ssize(starts) - 1,
                           str("{\"threads\": ", threads, "}").c_str(), nullptr, &arrays),
              SMELT_OK);
    const smelt_array *ids = smelt_arrays_at(arrays, 0), *rows = smelt_arrays_at(arrays, 1);
    ASSERT_EQ(rows->shape[0], std::ssize(starts));
    const auto* values = static_cast<const std::int32_t*>(ids->data);
    got.emplace_back(values, values + ids->shape[0]);
    const auto* row = static_cast<const std::int64_t*>(rows->data);
    got.back().insert(got.back().end(), row, row + rows->shape[0]);
    smelt_arrays_free(arrays);
  }
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[0], got[2]);
  EXPECT_GT(got[0].size(), 60000u);
  smelt_tokenizer_free(tokenizer);
}

}  // namespace
}  // namespace smelt::c_api
