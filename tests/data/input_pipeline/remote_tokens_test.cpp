// Tokens on an object store are read like local ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/example_source.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/token_store.h"
#include "support/bert_records.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"
#include "support/snapshots.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

TEST(RemoteTokens, BatchesMatchLocalFiles) {
  REQUIRE_ORACLE();
  const GcsEmulator emulator;
  const TempDir dir;
  for (int file = 0; file < 3; ++file) {
    const TestSnapshot snapshot = dealt_out(file * 1000, 400, 2);
    write_test_snapshot(dir.file(str("books-", file)), snapshot);
    write_test_snapshot(emulator.path(str("data/books-", file)), snapshot);
    std::string bytes;
    io::TokenStoreWriter store({}, 2, [&](std::string_view more) { bytes += more; });
    for (std::int32_t id = 0; id < 400; ++id) store.add(std::vector{file * 1000 + id});
    store.finish();
    io::write_file(emulator.path(str("data/", file, ".tokens")), bytes);
  }
  const auto open = [](const std::string& input) {
    return open_examples(
        {.input = input, .features = {{"targets", compiler::DType::s32, {5}, 3000, "vocab_size"}}});
  };
  const auto local = open(dir.file("books-?"));
  for (const std::string name : {"data/books-?", "data/?.tokens"}) {
    const auto remote = open(emulator.path(name));
    EXPECT_EQ(remote->files().size(), 3u);
    for (std::uint64_t step = 0; step < 10; ++step) {
      EXPECT_EQ(values_of(remote->batch(step, 16)), values_of(local->batch(step, 16)));
      EXPECT_EQ(values_of(remote->batch_in_order(step, 16)),
                values_of(local->batch_in_order(step, 16)));
    }
  }
  EXPECT_EQ(open(emulator.path("data/books-1"))->files().size(), 1u);
  EXPECT_THAT(error_of<UsageError>([&] { open(emulator.path("data/films-?")); }),
              HasSubstr("no file matches"));
}

}  // namespace
}  // namespace smelt::data
