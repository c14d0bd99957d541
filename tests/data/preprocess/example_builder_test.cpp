// The shuffled order with a builder for tests, with sizes that need many groups, ranges and passes.
// Compares it with an in-memory implementation for different numbers of threads and shards, memory
// sizes and interruptions, and checks its memory limit.
#include "data/preprocess/example_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/philox.h"
#include "data/input_pipeline/description.h"
#include "data/preprocess/runs_builder.h"
#include "data/preprocess/shuffled_order.h"
#include "data/preprocess/small_corpus.h"
#include "fuzz/memory.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ExampleBuilderTest : public testing::Test {
 protected:
  void SetUp() override { io::write_file(dir_.file("in.txt"), small_text(600)); }

  ExampleJob job(const std::string& output, std::int64_t shards = 1) {
    ExampleJob job;
    job.text.input = dir_.file("in.txt");
    job.vocab = golden_vocabulary();
    job.output = dir_.file(output);
    job.shards = shards;
    job.threads = 2;
    job.memory = 64 << 10;
    job.sizes = small_sizes();
    return job;
  }
  ExampleSummary build(const ExampleJob& job, std::int64_t length = 9) {
    return build_in_shuffled_order(CheckedJob(job), tokenizer_, RunsBuilder(length));
  }
  // Returns the concatenated output files of the job.
  std::string bytes(const ExampleJob& job) {
    build(job);
    return joined(job);
  }
  static std::string joined(const ExampleJob& job) {
    std::string out;
    for (const std::string& path : output_names(job.output, job.shards)) out += io::read_file(path);
    return out;
  }
  std::string in_memory(const ExampleJob& job, std::int64_t length);
  void stop_while_writing(const ExampleJob& job, std::uint64_t examples = 0);
  pid_t start(const ExampleJob& job);

  CapturedLog log_;
  TempDir dir_;
  const text::BertTokenizer tokenizer_ = text::BertTokenizer::load(golden_vocabulary(), {});
};

// Draws from every document separately and keeps all examples in a map.
std::string ExampleBuilderTest::in_memory(const ExampleJob& job, std::int64_t length) {
  text::DocumentReader reader(job.text);
  const RunsBuilder builder(length);
  const auto seed = static_cast<std::uint64_t>(job.seed);
  const auto encoder = builder.encoder();
  std::map<std::uint64_t, std::string> records;
  text::Document document;
  for (std::uint64_t number = 0; reader.next(document); ++number) {
    DocumentGroup group;
    for (std::size_t i = 0; i < document.size(); ++i)
      group.corpus.add_sentence(tokenizer_.encode(document.sentence(i)));
    group.corpus.end_document();
    ExampleCounts counts;
    const auto drawer = builder.drawer(group, counts);
    for (std::uint64_t pass = 0; pass < builder.passes(); ++pass) {
      StreamRandom random(random_key(seed, "draws"), number, pass);
      std::uint64_t place = 0;
      drawer->draw(0, pass, random, [&](std::string_view example) {
        const auto bits =
            philox(random_key(seed, "order of examples"), number, pass << 32 | place++);
        encoder->encode(example, records[std::uint64_t{bits[1]} << 32 | bits[0]]);
      });
    }
  }
  std::string out;
  for (const auto& [key, record] : records) out += record;
  return out;
}

// Simulates a kill: fails after `examples` examples are encoded by one thread.
void ExampleBuilderTest::stop_while_writing(const ExampleJob& job, std::uint64_t examples) {
  struct Stopping : RunsBuilder {
    explicit Stopping(std::uint64_t examples) : RunsBuilder(9), left(examples) {}
    std::unique_ptr<ExampleEncoder> encoder() const override {
      struct Encoder : ExampleEncoder {
        std::uint64_t encode(std::string_view example, std::string& out) override {
          if ((*left)-- == 0) throw SystemError("stopped");
          return inner->encode(example, out);
        }
        std::unique_ptr<ExampleEncoder> inner;
        std::uint64_t* left;
      };
      auto encoder = std::make_unique<Encoder>();
      encoder->inner = RunsBuilder::encoder();
      encoder->left = &left;
      return encoder;
    }
    mutable std::uint64_t left;
  };
  ExampleJob slow = job;
  slow.threads = 1;
  EXPECT_EQ(
      error_of([&] { build_in_shuffled_order(CheckedJob(slow), tokenizer_, Stopping(examples)); }),
      "stopped");
}

TEST_F(ExampleBuilderTest, MatchesShufflingInMemory) {
  EXPECT_TRUE(bytes(job("one")) == in_memory(job("one"), 9));
  ExampleJob other = job("other", 5);
  other.seed = 4;
  EXPECT_TRUE(bytes(other) == in_memory(other, 9));
}

TEST_F(ExampleBuilderTest, ThreadsMemoryAndShardsDoNotChangeTheBytes) {
  const std::string whole = bytes(job("whole"));
  for (const int threads : {1, 3, 16})
    for (const int memory : {16 << 10, 1 << 20}) {
      const std::string name = str("of-", threads, "-", memory);
      ExampleJob other = job(name, threads);
      other.threads = threads;
      other.memory = memory;
      other.sizes.range_bytes = threads == 3 ? 1 << 20 : 700;
      EXPECT_TRUE(bytes(other) == whole) << name;
    }
}

TEST_F(ExampleBuilderTest, TestDataNeedsSeveralPasses) {
  stop_while_writing(job("out"));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir_.file("out.work")))
    names.insert(entry.path().filename());
  EXPECT_THAT(names, testing::Contains("examples-4"));
  // range 1 was split completely
  EXPECT_THAT(names, testing::Not(testing::Contains("examples-1")));
}

TEST_F(ExampleBuilderTest, TheDescriptionContainsTheBuildersSettings) {
  const ExampleSummary summary = build(job("out"));
  const auto json = Json::parse(io::read_file(dir_.file("out.json")));
  EXPECT_EQ(json["kind"], "runs");
  EXPECT_EQ(json["run_length"], 9);
  EXPECT_EQ(json["drawn_tokens"], 2 * summary.text.tokens);
  EXPECT_EQ(json["examples"], summary.examples);
  EXPECT_EQ(json["text"]["documents"], 600);
  EXPECT_EQ(find_description({dir_.file("out")})->majority_token, std::nullopt);
}

// Runs the job in a separate process, which exits with 0 on success.
pid_t ExampleBuilderTest::start(const ExampleJob& job) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  try {
    build(job);
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

TEST_F(ExampleBuilderTest, ResumesToTheSameBytesAfterAnyKill) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string whole = bytes(job("whole", 4));
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  std::mt19937 random(std::random_device{}());
  for (int kills = 0; kills < 20; ++kills) {
    const ExampleJob killed = job(str("killed", kills), 4);
    const pid_t pid = start(killed);
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<long>(0, longest.count())(random)));
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    const std::string outcome = error_of([&] { build(killed); });
    if (!fs::exists(output_names(killed.output, 4)[0] + ".json"))
      ADD_FAILURE() << kills << ": " << outcome;
    EXPECT_TRUE(joined(killed) == whole) << kills;
    EXPECT_FALSE(fs::exists(output_names(killed.output, 4)[0] + ".work")) << kills;
  }
}

// Counts the groups that are drawn from and kills the process at the group of this number.
struct GroupsBuilder : RunsBuilder {
  explicit GroupsBuilder(int kill_at = 1 << 30) : RunsBuilder(9), kill_at(kill_at) {}
  std::unique_ptr<ExampleDrawer> drawer(const DocumentGroup& group,
                                        ExampleCounts& counts) const override {
    if (groups++ == kill_at) ::raise(SIGKILL);
    return RunsBuilder::drawer(group, counts);
  }
  int kill_at;
  mutable int groups = 0;
};

TEST_F(ExampleBuilderTest, ResumesWithTheNextGroup) {
  const auto alone = [&](const std::string& name) {
    ExampleJob one = job(name, 4);
    one.threads = 1;
    one.sizes.least_chunk = 16;  // each group is saved
    return one;
  };
  const auto build_with = [&](const ExampleJob& job, const GroupsBuilder& builder) {
    build_in_shuffled_order(CheckedJob(job), tokenizer_, builder);
  };
  const GroupsBuilder all;
  build_with(alone("whole"), all);
  ASSERT_GT(all.groups, 10);
  const ExampleJob killed = alone("killed");
  for (const int drawn : {3, 5}) {  // two processes are killed, each at the group of this number
    const pid_t pid = ::fork();
    if (pid == 0) {
      build_with(killed, GroupsBuilder(drawn));
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  fs::rename(dir_.file("in.txt"), dir_.file("moved.txt"));
  io::write_file(dir_.file("in.txt"), "");
  EXPECT_THAT(error_of([&] { build_with(killed, GroupsBuilder()); }),
              HasSubstr("contains an interrupted run whose examples were drawn with "));
  fs::rename(dir_.file("moved.txt"), dir_.file("in.txt"));
  const GroupsBuilder rest;
  build_with(killed, rest);
  EXPECT_EQ(rest.groups, all.groups - 3 - 5);
  EXPECT_TRUE(joined(killed) == joined(alone("whole")));
  const auto facts = [&](const std::string& name) {
    auto json = Json::parse(io::read_file(dir_.file(name + "-00000-of-00004.json")));
    json.erase("files");
    return json;
  };
  EXPECT_EQ(facts("killed"), facts("whole"));
}

TEST_F(ExampleBuilderTest, OtherSettingsDoNotDiscardAnInterruptedRun) {
  const ExampleJob stopped = job("out");
  stop_while_writing(stopped);
  for (const bool overwrite : {false, true}) {
    ExampleJob other = stopped;
    other.overwrite = overwrite;
    EXPECT_THAT(error_of([&] { build(other, 10); }),
                HasSubstr("out.work: contains an interrupted run whose examples were drawn with "
                          "settings/run_length 9, not 10\n"
                          "  hint: run the same command as before, remove the folder, or "
                          "name another with --work"));
  }
  ExampleJob wrong = stopped;
  wrong.text.max_lines = -1;
  EXPECT_NE(error_of([&] { build(wrong); }), "no error");
  EXPECT_EQ(error_of([&] { build(stopped); }), "no error");
  EXPECT_THAT(log_.text(), HasSubstr("resuming an interrupted run"));
  EXPECT_TRUE(joined(stopped) == in_memory(stopped, 9));
}

TEST_F(ExampleBuilderTest, OverwriteReplacesAnInterruptedRunInAReservedFolder) {
  ExampleJob own = job("own/r");
  own.shards = 2;
  own.shard_names = ShardNames::original;
  own.own_folder = true;
  own.description = false;
  stop_while_writing(own);
  io::write_file(dir_.file("own/r-1-of-2.partial-0123456789abcdef"), "half");
  EXPECT_THAT(error_of([&] { build(own, 10); }),
              HasSubstr("r-0-of-2.work: contains an interrupted run whose examples were drawn with "
                        "settings/run_length 9, not 10\n"
                        "  hint: run the same command as before, or use --overwrite"));
  own.overwrite = true;
  EXPECT_EQ(error_of([&] { build(own, 10); }), "no error");
  EXPECT_EQ(io::list_folder(dir_.file("own")), (std::vector<std::string>{"r-0-of-2", "r-1-of-2"}));
}

TEST_F(ExampleBuilderTest, ThrowsForFewerInputsOrOutputs) {
  ExampleJob stopped = job("out");
  stopped.output += "," + dir_.file("second");
  io::write_file(dir_.file("more.txt"), "One more line.\n");
  stopped.text.input += "," + dir_.file("more.txt");
  stop_while_writing(stopped);
  ExampleJob fewer = stopped;
  fewer.output = dir_.file("out");
  EXPECT_THAT(error_of([&] { build(fewer); }),
              HasSubstr(str("drawn with outputs/1 \"", dir_.file("second"), "\", not none")));
  fewer = stopped;
  fewer.text.input = dir_.file("in.txt");
  EXPECT_THAT(error_of([&] { build(fewer); }),
              HasSubstr(str("drawn with text/files/1 \"", dir_.file("more.txt"), "\", not none")));
  EXPECT_EQ(error_of([&] { build(stopped); }), "no error");
}

TEST_F(ExampleBuilderTest, RewritesOutputsThatTheInterruptedRunDidNotWrite) {
  ExampleJob stopped = job("out", 3);
  const std::vector<std::string> shards = output_names(stopped.output, 3);
  stop_while_writing(stopped, build(job("whole")).examples / 2);
  ASSERT_TRUE(fs::exists(shards[0]) && !fs::exists(shards[2]));
  const std::string whole = io::read_file(shards[0]);
  for (const std::string& other : {std::string("short"), std::string(whole.size(), 'x')}) {
    io::write_file(shards[0], other);
    EXPECT_THAT(error_of([&] { build(stopped); }), HasSubstr("out-00000-of-00003 exists already"));
    EXPECT_EQ(io::read_file(shards[0]), other);
  }
  io::write_file(shards[2], "foreign");
  stopped.overwrite = true;
  build(stopped);
  EXPECT_THAT(log_.text(), HasSubstr("0 of 3 files are complete"));
  EXPECT_TRUE(joined(stopped) == in_memory(stopped, 9));
}

TEST_F(ExampleBuilderTest, KeepsCompleteFilesOfAnInterruptedRun) {
  const ExampleJob stopped = job("out", 3);
  stop_while_writing(stopped, build(job("whole")).examples / 2);
  const auto written = fs::last_write_time(output_names(stopped.output, 3)[0]);
  build(stopped);
  EXPECT_EQ(fs::last_write_time(output_names(stopped.output, 3)[0]), written);
  EXPECT_THAT(log_.text(), HasSubstr("1 of 3 files are complete"));
  EXPECT_TRUE(joined(stopped) == in_memory(stopped, 9));
}

TEST_F(ExampleBuilderTest, RewritesAFileOfAnInterruptedRunWithoutItsIndex) {
  const ExampleJob stopped = job("out", 3);
  stop_while_writing(stopped, build(job("whole")).examples / 2);
  const std::string index = output_names(stopped.output, 3)[0] + ".index";
  const std::string written = io::read_file(index);
  fs::remove(index);
  build(stopped);
  EXPECT_THAT(log_.text(), HasSubstr("0 of 3 files are complete"));
  EXPECT_TRUE(io::read_file(index) == written);
  EXPECT_TRUE(joined(stopped) == in_memory(stopped, 9));
}

// The maximum in memory: the requested memory, a group three times (from disk, as a corpus, as a
// list), the lists of ranges three times, and fixed buffers of readers, files and prefetched lines.
// The whole larger text would need more.
TEST_F(ExampleBuilderTest, MemoryIsBoundedForAnyTextSizeAndThreads) {
  constexpr std::size_t kMemory = 512 << 10, kFixed = 4 << 20;
  for (const int documents : {2000, 8000}) {
    io::write_file(dir_.file("in.txt"), small_text(documents));
    for (const int threads : {1, 24}) {
      ExampleJob bounded = job(str("out", documents, threads), 16);
      bounded.threads = threads;
      bounded.memory = kMemory;
      bounded.sizes.group_bytes = 64 << 10;
      bounded.sizes.document_ranges = 4;
      bounded.sizes.fan_out = 32;
      bounded.sizes.range_bytes = bounded.sizes.encoded_bytes = 16 << 10;
      watch_memory();
      const ExampleSummary summary = build(bounded, 40);
      const std::size_t peak = peak_allocated();
      const std::size_t spilled = summary.text.tokens * sizeof(std::int32_t) * 2;
      const std::size_t ranges = spilled / bounded.sizes.range_bytes * 2;
      ASSERT_GT(spilled, 2 << 20);
      EXPECT_LT(peak,
                kMemory + 4 * bounded.sizes.group_bytes + 3 * ranges * sizeof(SpillRange) + kFixed);
    }
  }
}

}  // namespace
}  // namespace smelt::data
