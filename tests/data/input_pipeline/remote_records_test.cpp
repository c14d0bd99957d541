// Records on an object store are read like local ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/input_pipeline/inspect.h"
#include "data/input_pipeline/prefetch.h"
#include "data/input_pipeline/record_index_file.h"
#include "data/input_pipeline/record_source.h"
#include "data/input_pipeline/record_tokens.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/bert_records.h"
#include "support/captured_log.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RemoteRecords : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_ = std::make_unique<GcsEmulator>();
    for (int file = 0; file < 3; ++file) {
      write_test_examples(local(file), file * 10, 10);
      io::write_file(remote(file), io::read_file(local(file)));
    }
  }
  std::string local(int file) const { return dir_.file(str("r-", file, ".tfrecord")); }
  std::string remote(int file) const { return emulator_->path(str("data/r-", file, ".tfrecord")); }
  static RecordOptions options(const std::string& input) {
    return {.input = input, .features = test_features(), .seed = 1};
  }
  RecordSource open_remote() const { return RecordSource(options(emulator_->path("data/r-*"))); }
  RecordSource open_local() const { return RecordSource(options(dir_.file("r-*"))); }

  TempDir dir_;
  std::unique_ptr<GcsEmulator> emulator_;
};

TEST_F(RemoteRecords, BatchesMatchLocalFilesWithAndWithoutIndexes) {
  const RecordSource here = open_local();
  for (const bool indexed : {false, true}) {
    for (int file = 0; indexed && file < 3; ++file) EXPECT_EQ(index_records(remote(file)), 10u);
    const CapturedLog log;
    const RecordSource there = open_remote();
    EXPECT_EQ(
        log.text().find("has no index file (.index): the whole file is read") != std::string::npos,
        !indexed)
        << log.text();
    EXPECT_EQ(there.index().files().size(), 3u);  // indexes are not listed
    EXPECT_EQ(there.index().tokens(0).has_value(), indexed);
    Prefetch prefetch(there, 6, 0);
    for (std::uint64_t step = 0; step < 7; ++step) {
      EXPECT_EQ(values_of(prefetch.next()), values_of(here.batch(step, 6))) << step;
      EXPECT_EQ(values_of(there.batch_in_order(step, 6)), values_of(here.batch_in_order(step, 6)))
          << step;
    }
  }
}

TEST_F(RemoteRecords, InspectionReadsTheRemoteDescription) {
  io::write_file(io::append_to_path(remote(0), ".json"),
                 R"({"files": ["r-0.tfrecord", "r-1.tfrecord", "r-2.tfrecord"], "examples": 31})");
  const RecordStatistics s = inspect_records({.input = emulator_->path("data/r-*")});
  EXPECT_EQ(s.records, 30u);
  EXPECT_EQ(s.bad_records, 0u);
  EXPECT_THAT(s.contradictions, ElementsAre("examples 31 in the description, 30 found"));
}

TEST_F(RemoteRecords, NamesADeletedObject) {
  const RecordIndex index({remote(0), remote(1)});
  io::remove_file(remote(1));
  const RecordIndex whole({local(0)});
  EXPECT_EQ(index.read(0), whole.read(0));
  EXPECT_EQ(index.read(9), whole.read(9));
  try {
    (void)index.read(10);
    FAIL() << "the object is still read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("data/r-1.tfrecord"));
  }
}

}  // namespace
}  // namespace smelt::data
