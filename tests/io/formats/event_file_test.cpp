#include "io/formats/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/hex.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

std::string small_file() {
  std::string out;
  append_event_version(out, 1600000000.5);
  append_run_start(out, 1600000000.75, 4);
  const std::vector<Scalar> scalars{{"train/train_loss", 6.25F}, {"params/a/b (3, 4)", 0.5F}};
  append_scalars(out, 1600000001, 5, scalars);
  return out;
}

// TensorFlow 2.21's TFRecordWriter wrote these bytes, from its own Event messages with the same
// values.
TEST(EventFile, HasTheSameBytesAsTensorFlow) {
  EXPECT_EQ(small_file(), from_hex("1800000000000000a37f4b22090000200084d7d7411a0d627261696e2e45766"
                                   "56e743a32e202d05d0f00000000000000"
                                   "6d532b09090000300084d7d74110043a0208012ef4873f40000000000000002"
                                   "817f495090000400084d7d74110052a33"
                                   "0a170a10747261696e2f747261696e5f6c6f7373150000c8400a180a1170617"
                                   "2616d732f612f622028332c2034291500"
                                   "00003ff79fda68"));
}

TEST(EventFile, IsReadByTensorFlow) {
  REQUIRE_ORACLE();
  const TempDir dir;
  write_file(dir.file("events.out.tfevents.1600000000.smelt.4"), small_file());
  const auto result =
      run_oracle(str(source_path("tests/io/formats/read_events.py"), " ", dir.path()));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(
      result.text,
      testing::EndsWith("1600000000.5 step 0 version brain.Event:2\n"
                        "1600000000.75 step 4 start\n"
                        "1600000001.0 step 5 train/train_loss 6.25, params/a/b (3, 4) 0.5\n"));
}

TEST(EventFile, TensorBoardReadsHistogramsTextsAndHyperparameters) {
  REQUIRE_ORACLE();
  std::string out;
  append_event_version(out, 1600000000);
  append_hyperparameters(out, 1600000000, {{"train.steps", 100}, {"lower", true}, {"out", "a"}});
  const std::vector<float> values{-0.5F, 0, 0, 0.25F, 1};
  append_histograms(out, 1600000001, 3,
                    std::vector<NamedHistogram>{{"weights/w", histogram_of(values)}});
  append_texts(out, 1600000001, 3, std::vector<NamedText>{{"filled/0", "the [MASK] : cat 50 %"}});
  append_scalars(out, 1600000001, 3, std::vector<Scalar>{{"run/loss", 2.5F}});
  const TempDir dir;
  write_file(dir.file("events.out.tfevents.1600000000.smelt.0"), out);
  const auto result =
      run_oracle(str(source_path("tests/io/formats/read_tensorboard.py"), " ", dir.path()));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_THAT(result.text,
              testing::EndsWith("step 0 hparams {'lower': True, 'out': 'a', 'train.steps': 100.0}\n"
                                "step 3 text filled/0: the [MASK] : cat 50 %\n"
                                "step 3 scalars run/loss: 2.5\n"
                                "step 3 histograms weights/w: 5 from -0.5 to 1\n"));
}

// Compares each bucket with a count of the values between its limits.
TEST(EventFile, HistogramCountsEachFiniteValueOnce) {
  std::vector<float> values;
  for (int i = 0; i < 400; ++i)
    values.push_back(std::ldexp(std::sin(static_cast<float>(i)), i % 60 - 40));
  values.insert(values.end(), {0.0F, -0.0F, 1e30F, -1e30F, NAN, INFINITY});
  const Histogram h = histogram_of(values);
  EXPECT_EQ(h.count, 404);
  EXPECT_EQ(h.max, 1e30F);
  ASSERT_EQ(h.limits.size(), h.counts.size());
  for (std::size_t b = 0; b < h.limits.size(); ++b) {
    const double low = b == 0 ? -HUGE_VAL : h.limits[b - 1];
    EXPECT_GT(h.limits[b], low);
    const auto within = std::ranges::count_if(values, [&](double x) {
      return std::isfinite(x) &&
             (x >= 0 ? x >= low && x < h.limits[b] : x > low && x <= h.limits[b]);
    });
    EXPECT_EQ(h.counts[b], static_cast<double>(within)) << low << " to " << h.limits[b];
  }
  EXPECT_TRUE(histogram_of({}).limits.empty());
}

}  // namespace
}  // namespace smelt::io
