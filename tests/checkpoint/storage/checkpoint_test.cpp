#include "checkpoint/storage/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The tensors of a checkpoint, with values that depend on the step.
class State {
 public:
  explicit State(std::int64_t step, std::size_t size = 64) : step_(step), weights_(size) {
    for (std::size_t i = 0; i < size; ++i) weights_[i] = static_cast<float>(step) + 0.5F * i;
  }
  io::TensorMap tensors() const {
    const auto count = static_cast<std::int64_t>(weights_.size());
    return {
        {"bert/w", {{compiler::DType::f32, {2, count / 2}}, std::as_bytes(std::span(weights_))}},
        {"bert/w/adam_m", {{compiler::DType::f32, {count}}, std::as_bytes(std::span(weights_))}},
        {"global_step", {{compiler::DType::s64, {}}, std::as_bytes(std::span(&step_, 1))}}};
  }
  void save(const std::string& dir, const SaveOptions& options = {}) const {
    save_checkpoint(dir, step_, tensors(), {{"position", step_ * 32}, {"seed", 7}}, options);
  }
  const std::vector<float>& weights() const { return weights_; }

 private:
  std::int64_t step_;
  std::vector<float> weights_;
};

void expect_state(const Checkpoint& checkpoint, std::int64_t step, std::size_t size = 64) {
  const State want(step, size);
  EXPECT_EQ(checkpoint.step, step);
  ASSERT_EQ(checkpoint.tensors.size(), 3);
  EXPECT_EQ(checkpoint.tensors.at("bert/w").shape, want.tensors().at("bert/w").shape);
  EXPECT_EQ(io::tensor_values<float>(checkpoint.tensors.at("bert/w")), want.weights());
  EXPECT_EQ(io::tensor_values<float>(checkpoint.tensors.at("bert/w/adam_m")), want.weights());
  EXPECT_THAT(io::tensor_values<std::int64_t>(checkpoint.tensors.at("global_step")),
              ElementsAre(step));
  EXPECT_EQ(checkpoint.state.at("position"), step * 32);
}

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
  return names;
}

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void change_byte(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 0x40));
}

TEST(Checkpoint, LoadsWhatWasSaved) {
  const TempDir dir;
  const std::string model = dir.file("model");
  EXPECT_EQ(latest_checkpoint(model), std::nullopt);
  EXPECT_FALSE(load_latest_checkpoint(model).has_value());
  State(10).save(model);
  EXPECT_EQ(latest_checkpoint(model), 10);
  expect_state(load_checkpoint(model, 10), 10);
  expect_state(*load_latest_checkpoint(model), 10);
  EXPECT_THAT(
      names_in(model + "/checkpoint-10"),
      UnorderedElementsAre("COMMIT", "manifest.json", "tensors-00000-of-00001.safetensors"));
}

TEST(Checkpoint, TheSameStateGivesTheSameBytes) {
  const TempDir dir;
  State(10).save(dir.file("a"));
  State(10).save(dir.file("b"));
  for (const std::string& name : names_in(dir.file("a/checkpoint-10")))
    EXPECT_EQ(io::read_file(dir.file("a/checkpoint-10/" + name)),
              io::read_file(dir.file("b/checkpoint-10/" + name)))
        << name;
}

TEST(Checkpoint, TheManifestListsTensorsFilesAndState) {
  const TempDir dir;
  State(10).save(dir.path());
  const auto manifest = Json::parse(io::read_file(dir.file("checkpoint-10/manifest.json")));
  EXPECT_EQ(manifest["format"], "smelt checkpoint 1");
  EXPECT_EQ(manifest["step"], 10);
  EXPECT_EQ(manifest["state"], (Json{{"position", 320}, {"seed", 7}}));
  EXPECT_EQ(manifest["tensors"]["bert/w"].dump(),
            R"({"dtype":"F32","file":"tensors-00000-of-00001.safetensors","shape":[2,32]})");
  EXPECT_EQ(manifest["files"][0]["size_bytes"],
            fs::file_size(dir.file("checkpoint-10/tensors-00000-of-00001.safetensors")));
}

TEST(Checkpoint, DistributesTensorsOverFiles) {
  const TempDir dir;
  State(10).save(dir.path(), {.max_to_keep = 5, .shard_bytes = 300});
  EXPECT_THAT(names_in(dir.file("checkpoint-10")),
              UnorderedElementsAre("COMMIT", "manifest.json", "tensors-00000-of-00002.safetensors",
                                   "tensors-00001-of-00002.safetensors"));
  expect_state(load_checkpoint(dir.path(), 10), 10);
}

TEST(Checkpoint, RotationKeepsTheNewest) {
  const TempDir dir;
  for (const std::int64_t step : {1, 2, 3, 9, 10, 11})
    State(step).save(dir.path(), {.max_to_keep = 3, .shard_bytes = 1000});
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(9, 10, 11));
  EXPECT_THAT(names_in(dir.path()),
              UnorderedElementsAre("checkpoint-9", "checkpoint-10", "checkpoint-11"));
}

TEST(Checkpoint, WritesJestimatorNamesOnRequestAndReadsBoth) {
  const TempDir dir;
  const SaveOptions theirs{.max_to_keep = 2, .names = CheckpointNames::jestimator};
  State(1).save(dir.path());
  State(2).save(dir.path(), theirs);
  EXPECT_THAT(names_in(dir.path()), UnorderedElementsAre("checkpoint-1", "checkpoint_2"));
  expect_state(load_checkpoint(dir.path(), 1), 1);
  EXPECT_EQ(load_latest_checkpoint(dir.path())->path, dir.file("checkpoint_2"));
  expect_state(load_checkpoint(dir.file("checkpoint_2")), 2);
  // Rotation and replacement handle both kinds of names.
  State(3).save(dir.path(), theirs);
  State(2).save(dir.path(), {.max_to_keep = 0});
  EXPECT_THAT(names_in(dir.path()), UnorderedElementsAre("checkpoint-2", "checkpoint_3"));
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(2, 3));
  EXPECT_THAT(error_of([&] { load_checkpoint(dir.file("model")); }),
              HasSubstr("is not named checkpoint_<step>\n  hint: give the directory"));
}

TEST(Checkpoint, KeepingZeroKeepsAll) {
  const TempDir dir;
  for (std::int64_t step = 1; step <= 7; ++step)
    State(step).save(dir.path(), {.max_to_keep = 0, .shard_bytes = 1000});
  EXPECT_EQ(checkpoint_steps(dir.path()).size(), 7);
}

TEST(Checkpoint, KeepsLaterStepsAndReplacesTheSameStep) {
  const TempDir dir;
  const SaveOptions keep_two{.max_to_keep = 2, .shard_bytes = 1000};
  for (const std::int64_t step : {10, 20, 30}) State(step).save(dir.path(), keep_two);
  State(15).save(dir.path(), keep_two);
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(15, 20, 30));
  save_checkpoint(dir.path(), 20, State(20).tensors(), {{"position", 640}, {"again", true}},
                  keep_two);
  EXPECT_THAT(checkpoint_steps(dir.path()), ElementsAre(15, 20, 30));
  EXPECT_EQ(load_checkpoint(dir.path(), 20).state.at("again"), true);
  EXPECT_EQ(names_in(dir.path()).size(), 3);
}

// An interrupted save leaves some of its files, the last one truncated, in a folder that does not
// have the name of a checkpoint. In every case the older checkpoint is loaded, and the next save
// removes the leftovers.
TEST(Checkpoint, IgnoresAndRemovesLeftoversOfInterruptedSaves) {
  const std::vector<std::string> order{"tensors-00000-of-00002.safetensors",
                                       "tensors-00001-of-00002.safetensors", "manifest.json",
                                       "COMMIT"};
  for (const char* suffix : {".partial-123", ".partial-0123456789abcdef", ".new", ".new.partial-77",
                             ".new.partial-00000000000000ff"}) {
    for (std::size_t phase = 0; phase <= order.size(); ++phase) {
      const TempDir dir;
      const SaveOptions options{.max_to_keep = 5, .shard_bytes = 300};
      State(10).save(dir.path(), options);
      State(20).save(dir.path(), options);
      for (std::size_t i = phase; i < order.size(); ++i)
        fs::remove(dir.file("checkpoint-20/" + order[i]));
      if (phase > 0) {
        const std::string cut = dir.file("checkpoint-20/" + order[phase - 1]);
        fs::resize_file(cut, fs::file_size(cut) / 2);
      }
      fs::rename(dir.file("checkpoint-20"), dir.file(str("checkpoint-20", suffix)));
      expect_state(*load_latest_checkpoint(dir.path()), 10);
      State(30).save(dir.path(), options);
      EXPECT_THAT(names_in(dir.path()), UnorderedElementsAre("checkpoint-10", "checkpoint-30"));
    }
  }
}

TEST(Checkpoint, IgnoresCheckpointWithoutCommitMarker) {
  const TempDir dir;
  State(10).save(dir.path());
  State(20).save(dir.path());
  fs::remove(dir.file("checkpoint-20/COMMIT"));
  EXPECT_EQ(latest_checkpoint(dir.path()), 10);
  const std::string message = message_of([&] { load_checkpoint(dir.path(), 20); });
  EXPECT_THAT(
      message,
      HasSubstr(
          "checkpoint-20 does not exist (it has no COMMIT marker: its save was interrupted)"));
  EXPECT_THAT(message, HasSubstr("hint: choose one of the steps 10"));
  State(20).save(dir.path());
  expect_state(load_checkpoint(dir.path(), 20), 20);
}

TEST(Checkpoint, KeepsFoldersOfOtherPrograms) {
  const TempDir dir;
  const std::vector<std::string> foreign{"checkpoint-5/model.safetensors",
                                         "checkpoint-10.bak/COMMIT",
                                         "checkpoint-010/COMMIT",
                                         "checkpoint-x/COMMIT",
                                         "logs/COMMIT",
                                         "checkpoint-10.partial-mine/x"};
  for (const std::string& name : foreign) io::write_file(dir.file(name), "x");
  EXPECT_EQ(latest_checkpoint(dir.path()), std::nullopt);
  State(10).save(dir.path(), {.max_to_keep = 1, .shard_bytes = 1000});
  State(11).save(dir.path(), {.max_to_keep = 1, .shard_bytes = 1000});
  for (const std::string& name : foreign) EXPECT_TRUE(fs::exists(dir.file(name))) << name;
  EXPECT_THAT(message_of([&] { State(5).save(dir.path()); }),
              HasSubstr("checkpoint-5 exists and is not empty"));
}

TEST(Checkpoint, ReportsExistingStepsForAMissingOne) {
  const TempDir dir;
  EXPECT_THAT(message_of([&] { load_checkpoint(dir.path(), 3); }),
              HasSubstr("there is no checkpoint in"));
  State(10).save(dir.path());
  State(20).save(dir.path());
  const std::string message = message_of([&] { load_checkpoint(dir.path(), 15); });
  EXPECT_THAT(message, HasSubstr("checkpoint-15 does not exist"));
  EXPECT_THAT(message, HasSubstr("hint: choose one of the steps 10, 20"));
}

TEST(Checkpoint, DetectsEveryChangedByte) {
  const TempDir dir;
  State(10, 8).save(dir.path());
  for (const std::string& name : names_in(dir.file("checkpoint-10"))) {
    const std::string path = dir.file("checkpoint-10/" + name);
    for (std::uintmax_t at = 0; at < fs::file_size(path); ++at) {
      change_byte(path, static_cast<std::streamoff>(at));
      EXPECT_THAT(message_of([&] { load_checkpoint(dir.path(), 10); }), HasSubstr("damaged"))
          << name << " " << at;
      change_byte(path, static_cast<std::streamoff>(at));
    }
  }
  expect_state(load_checkpoint(dir.path(), 10), 10, 8);
}

TEST(Checkpoint, DescribesEachKindOfDamage) {
  const TempDir dir;
  State(10).save(dir.path());
  const std::string shard = dir.file("checkpoint-10/tensors-00000-of-00001.safetensors");
  const auto load = [&] { load_checkpoint(dir.path(), 10); };
  change_byte(shard, 300);
  EXPECT_THAT(message_of(load),
              HasSubstr("tensors-00000-of-00001.safetensors is damaged: its crc32c is"));
  EXPECT_THAT(message_of(load), HasSubstr("hint: restore this directory from a copy"));
  fs::resize_file(shard, 100);
  EXPECT_THAT(
      message_of(load),
      HasSubstr("tensors-00000-of-00001.safetensors has 100 bytes, but the manifest lists"));
  fs::remove(shard);
  EXPECT_THAT(message_of(load), HasSubstr("tensors-00000-of-00001.safetensors is missing"));
  fs::remove(dir.file("checkpoint-10/manifest.json"));
  EXPECT_THAT(message_of(load), HasSubstr("manifest.json is missing"));
}

TEST(Checkpoint, RejectsACheckpointUnderAnotherStepsName) {
  const TempDir dir;
  State(10).save(dir.path());
  fs::rename(dir.file("checkpoint-10"), dir.file("checkpoint-99"));
  EXPECT_THAT(message_of([&] { load_checkpoint(dir.path(), 99); }),
              HasSubstr("checkpoint-99: its manifest is for step 10"));
}

TEST(Checkpoint, SkipsADamagedNewestCheckpointWithAWarning) {
  const TempDir dir;
  State(10).save(dir.path());
  State(20).save(dir.path());
  change_byte(dir.file("checkpoint-20/tensors-00000-of-00001.safetensors"), 300);
  const CapturedLog log;
  expect_state(*load_latest_checkpoint(dir.path()), 10);
  EXPECT_THAT(log.text(),
              HasSubstr("checkpoint-20: tensors-00000-of-00001.safetensors is damaged"));
  EXPECT_THAT(log.text(), HasSubstr("going back to step 10"));
  State(20).save(dir.path());  // the run reaches the step again and replaces it
  expect_state(*load_latest_checkpoint(dir.path()), 20);
  for (const char* name : {"COMMIT", "tensors-00000-of-00001.safetensors"}) {
    const std::string file = dir.file(str("checkpoint-20/", name));
    fs::remove(file);
    fs::create_directory(file);
    expect_state(*load_latest_checkpoint(dir.path()), 10);
    EXPECT_THAT(log.text(), HasSubstr(str(name, " is a folder, expected a file")));
    State(20).save(dir.path());
    expect_state(*load_latest_checkpoint(dir.path()), 20);
  }
}

TEST(Checkpoint, FailsIfAllCheckpointsAreDamaged) {
  const TempDir dir;
  State(10).save(dir.path());
  fs::remove(dir.file("checkpoint-10/manifest.json"));
  EXPECT_THAT(message_of([&] { load_latest_checkpoint(dir.path()); }),
              HasSubstr("checkpoint-10: manifest.json is missing"));
}

// If a process is killed while it saves one checkpoint after another, its latest checkpoint is
// complete.
TEST(Checkpoint, ResumesARunKilledAtAnyMoment) {
  const TempDir dir;
  std::int64_t reached = 0;
  for (int round = 0; round < 12; ++round) {
    int saved[2];
    ASSERT_EQ(::pipe(saved), 0);
    const ::pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::int64_t step = reached + 1;; ++step) {
        State(step, 4096).save(dir.path(), {.max_to_keep = 2, .shard_bytes = 5000});
        if (::write(saved[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char byte;
    for (int count = 0; count <= round % 3; ++count) ASSERT_EQ(::read(saved[0], &byte, 1), 1);
    ::usleep(500 * round);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(saved[0]);
    ::close(saved[1]);
    const CapturedLog log;
    const auto latest = load_latest_checkpoint(dir.path());
    ASSERT_TRUE(latest.has_value());
    EXPECT_GT(latest->step, reached);
    EXPECT_THAT(log.text(), IsEmpty());
    expect_state(*latest, latest->step, 4096);
    reached = latest->step;
  }
  State(reached + 1).save(dir.path(), {.max_to_keep = 1, .shard_bytes = 1000});
  EXPECT_THAT(names_in(dir.path()), ElementsAre(str("checkpoint-", reached + 1)));
}

// Limits the size of files to `bytes` during its lifetime, so that writes fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(::rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const ::rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  ::rlimit before_{};
  void (*handler_)(int);
};

TEST(Checkpoint, FailedWriteLeavesOnlyOlderCheckpoints) {
  const TempDir dir;
  State(10, 40000).save(dir.path());
  for (const ::rlim_t limit : {0, 10, 5000, 100000}) {
    const FileSizeLimit full(limit);
    EXPECT_THAT(message_of([&] { State(20, 40000).save(dir.path()); }),
                HasSubstr("File too large"));
    EXPECT_THAT(message_of([&] { State(10, 40000).save(dir.path()); }),
                HasSubstr("File too large"));
    EXPECT_THAT(names_in(dir.path()), ElementsAre("checkpoint-10")) << limit;
  }
  expect_state(load_checkpoint(dir.path(), 10), 10, 40000);
}

TEST(Checkpoint, ReportsAFullDiskAndKeepsTheOlderCheckpoint) {
  const TempDir dir;
  const std::string disk = dir.file("disk");
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=600k") != 0)
    GTEST_SKIP() << "no small disk to fill: mounting one needs root";
  State(10, 40000).save(disk);
  const std::string message = message_of([&] { State(20, 40000).save(disk); });
  EXPECT_THAT(message, HasSubstr("No space left on device"));
  EXPECT_THAT(message, HasSubstr("hint: free some space"));
  EXPECT_THAT(names_in(disk), ElementsAre("checkpoint-10"));
  expect_state(*load_latest_checkpoint(disk), 10, 40000);
  ::umount(disk.c_str());
}

}  // namespace
}  // namespace smelt::checkpoint
