// The number of bytes that one of several hosts reads, as counted by the operating system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "data/input_pipeline/record_source.h"
#include "io/filesystem/file.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

// Returns the bytes read by this process so far.
std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  while (io >> name >> bytes && name != "rchar:") {
  }
  return bytes;
}

// 80 records of 600 kB, each a separate block: five per stripe.
class HostShareTest : public testing::Test {
 protected:
  static constexpr std::int64_t kRecords = 80, kBatch = 16;

  HostShareTest() {
    const std::vector<std::string> image{std::string(600000, 'x')};
    std::string bytes;
    for (std::int32_t number = 0; number < kRecords; ++number) {
      io::ExampleWriter writer;
      writer.integers("number", std::vector<std::int32_t>{number});
      writer.bytes("image", image);
      io::append_record(bytes, writer.take());
    }
    io::write_file(dir_.file("r"), bytes);
    size_ = bytes.size();
  }
  RecordSource open() const {
    return RecordSource(
        {.input = dir_.file("r"),
         .features = {{"number", compiler::DType::s32, {}, kRecords, "numbers below"}},
         .seed = 1});
  }

  TempDir dir_;
  std::uint64_t size_ = 0;
};

TEST_F(HostShareTest, AHostReadsOnlyItsShare) {
  for (const std::int64_t hosts : {1, 2, 4, 8, 16}) {
    std::vector<std::int32_t> seen;
    for (std::int64_t host = 0; host < hosts; ++host) {
      const RecordSource source = open();
      const std::uint64_t before = bytes_read();
      for (std::uint64_t step = 0; step < kRecords / kBatch; ++step) {
        const Batch batch = source.batch(step, kBatch, {host, hosts});
        std::ranges::copy(batch.arrays[0].values<std::int32_t>(), std::back_inserter(seen));
      }
      const double share = static_cast<double>(bytes_read() - before) / static_cast<double>(size_);
      EXPECT_NEAR(share * static_cast<double>(hosts), 1, 0.02) << host << " of " << hosts;
    }
    std::ranges::sort(seen);
    std::vector<std::int32_t> every(kRecords);
    std::iota(every.begin(), every.end(), 0);
    EXPECT_EQ(seen, every) << "an epoch, by " << hosts << " hosts";
  }
}

}  // namespace
}  // namespace smelt::data
