// Existing files at the paths of outputs and their accompanying files: replaced only with
// --overwrite, and never if they belong to something else.
#include "data/preprocess/example_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <latch>
#include <set>

#include "data/preprocess/bert_examples.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ExampleFilesTest : public testing::TestWithParam<ExampleOrder> {
 protected:
  BertExamplesJob job(const std::string& output) {
    io::write_file(dir_.file("in.txt"), "The first line.\nThe second line.\n\nOne more.\n");
    BertExamplesJob job;
    job.text.input = dir_.file("in.txt");
    job.vocab = source_path("tests/golden/pretraining/vocab_uncased.txt");
    job.output = output;
    job.order = GetParam();
    job.pairs.seq_length = 32;
    return job;
  }
  std::string refusal(const BertExamplesJob& job) {
    return error_of([&] { build_bert_examples(job); });
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_P(ExampleFilesTest, NeverReplacesAFileThatIsNotAnIndexOrDescription) {
  io::write_file(dir_.file("train.json"), R"({"settings": "of another program"})");
  BertExamplesJob made = job(dir_.file("train"));
  for (const bool overwrite : {false, true}) {
    made.overwrite = overwrite;
    EXPECT_THAT(refusal(made), HasSubstr("train.json is not a description of examples"));
  }
  std::filesystem::rename(dir_.file("train.json"), dir_.file("train.index"));
  EXPECT_THAT(refusal(made), HasSubstr("train.index is not an index of records"));
  EXPECT_EQ(io::read_file(dir_.file("train.index")), R"({"settings": "of another program"})");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("train")));
}

TEST_P(ExampleFilesTest, ReplacesIndexAndDescriptionOnlyWithOverwrite) {
  BertExamplesJob made = job(dir_.file("train"));
  ASSERT_EQ(refusal(made), "no error");
  for (const char* removed : {"train", "train.index"}) {
    std::filesystem::remove(dir_.file(removed));
    const std::string left = io::read_file(dir_.file("train.json"));
    EXPECT_THAT(refusal(made), HasSubstr(" exists already, but "));
    EXPECT_EQ(io::read_file(dir_.file("train.json")), left);
  }
  made.overwrite = true;
  EXPECT_EQ(refusal(made), "no error");
}

TEST_P(ExampleFilesTest, RejectsAnotherNumberOfShardsWithTheSameName) {
  BertExamplesJob made = job(dir_.file("train.tfrecord"));
  made.shards = 3;
  ASSERT_EQ(refusal(made), "no error");
  made.shards = 2;
  made.overwrite = true;
  EXPECT_THAT(
      refusal(made),
      AllOf(HasSubstr(" holds train-00000-of-00003.tfrecord, which is not one of the 2 files "
                      "that are written, and would be read with them as train-*.tfrecord"),
            HasSubstr("hint: move it away, or choose another name")));
  made.output = dir_.file("other.tfrecord");
  EXPECT_EQ(refusal(made), "no error");
}

TEST_P(ExampleFilesTest, NeverReplacesAFolder) {
  std::filesystem::create_directory(dir_.file("train"));
  BertExamplesJob made = job(dir_.file("train"));
  made.overwrite = true;
  EXPECT_THAT(refusal(made), HasSubstr("train is a folder"));
  EXPECT_TRUE(std::filesystem::is_directory(dir_.file("train")));
}

TEST_P(ExampleFilesTest, RejectsAFileNamedTwiceAmongOutputsAndInputs) {
  const std::string twice = dir_.file("train") + "," + dir_.path() + "/./train";
  EXPECT_THAT(refusal(job(twice)), HasSubstr("/./train is given twice, also as "));
  EXPECT_THAT(refusal(job(dir_.file("train") + "," + dir_.file("train"))),
              HasSubstr("train is given twice"));
  EXPECT_THAT(refusal(job(dir_.file("train") + "," + dir_.file("train.json"))),
              HasSubstr("train.json is given twice"));
  EXPECT_THAT(refusal(job(dir_.path() + "/./in.txt")), HasSubstr("in.txt is also an input"));
}

TEST_P(ExampleFilesTest, ReplacesTheTargetOfALink) {
  std::filesystem::create_directory(dir_.file("disk"));
  io::write_file(dir_.file("disk/old"), "old");
  std::filesystem::create_symlink(dir_.file("disk/old"), dir_.file("train"));
  BertExamplesJob made = job(dir_.file("train"));
  made.overwrite = true;
  EXPECT_EQ(refusal(made), "no error");
  EXPECT_TRUE(std::filesystem::is_symlink(dir_.file("train")));
  EXPECT_EQ(refusal(job(dir_.file("plain"))), "no error");
  EXPECT_EQ(io::read_file(dir_.file("disk/old")), io::read_file(dir_.file("plain")));
}

TEST_P(ExampleFilesTest, WritesToAPipeWithoutIndexOrDescription) {
  const std::string pipe = dir_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const io::Descriptor reader(::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  for (const bool overwrite : {false, true}) {
    BertExamplesJob made = job(pipe);
    made.overwrite = overwrite;
    EXPECT_EQ(refusal(made), "no error");
    std::string read(60'000, '\0');
    const ssize_t count = ::read(reader.get(), read.data(), read.size());
    read.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    made.output = dir_.file("plain");
    EXPECT_EQ(refusal(made), "no error");
    EXPECT_TRUE(read == io::read_file(made.output)) << overwrite;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_THAT(io::list_folder(dir_.path()),
              testing::ElementsAre("in.txt", "pipe", "plain", "plain.index", "plain.json"));
}

INSTANTIATE_TEST_SUITE_P(BothOrders, ExampleFilesTest,
                         testing::Values(ExampleOrder::shuffled, ExampleOrder::original));

TEST(ExampleFiles, RejectsAnObjectNamedTwice) {
  const ExampleFiles files{.outputs = {"gs://anonymous@bucket/a?scheme=http", "gs://bucket/a"}};
  EXPECT_THAT(error_of([&] { check_apart(files, {}); }),
              HasSubstr("gs://bucket/a is given twice, also as gs://anonymous@bucket/a"));
  const ExampleFiles input{.outputs = {"gs://anonymous@bucket/in.txt"}};
  EXPECT_THAT(error_of([&] { check_apart(input, {"gs://bucket/in.txt"}); }),
              HasSubstr("is also an input"));
}

TEST(ExampleFiles, UnresolvableNamesAreDifferentFiles) {
  const TempDir dir;
  std::filesystem::create_symlink("loop", dir.file("loop"));
  const ExampleFiles files{.outputs = {dir.file("loop/a"), dir.file("loop/b")}};
  EXPECT_EQ(error_of([&] { check_apart(files, {}); }), "no error");
}

TEST(ExampleFiles, RejectsMoreThan4096OutputFiles) {
  EXPECT_EQ(output_names("train.tfrecord", 4096).back(), "train-04095-of-04096.tfrecord");
  EXPECT_THAT(error_of([] { output_names("train.tfrecord", 4097); }),
              HasSubstr("4097 output files are more than 4096"));
}

TEST(ExampleFiles, SendsObjectStoreRequestsInParallel) {
  std::latch all_at_once(16);
  for_each_file(16, "gs://bucket/train", [&](std::size_t) { all_at_once.arrive_and_wait(); });
  std::set<std::size_t> local;
  for_each_file(100, "train", [&](std::size_t i) { local.insert(i); });
  EXPECT_EQ(local.size(), 100u);
  EXPECT_THAT(error_of([] {
                for_each_file(100, "gs://bucket/train",
                              [](std::size_t i) { throw UsageError(str("file ", i)); });
              }),
              testing::StartsWith("file "));
}

TEST(ExampleOrders, AreParsedAndPrintedByName) {
  EXPECT_EQ(parse_example_order("original"), ExampleOrder::original);
  EXPECT_EQ(name(parse_example_order("shuffled")), "shuffled");
  EXPECT_THAT(error_of([] { parse_example_order("shufled"); }),
              HasSubstr("order 'shufled' is unknown\n  hint: did you mean 'shuffled'?"));
}

}  // namespace
}  // namespace smelt::data
