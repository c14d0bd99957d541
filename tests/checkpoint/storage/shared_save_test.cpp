// A checkpoint that several processes write together; here threads stand in for them.
#include "checkpoint/storage/shared_save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

OwnedSlice slice(const std::string& tensor, std::int64_t of, std::int64_t begin, std::int64_t size,
                 std::vector<int> holders) {
  return {tensor, {compiler::DType::f32, {of}}, {begin}, {size}, std::move(holders)};
}

std::vector<std::vector<std::string>> names_of(std::span<const OwnedSlice> slices,
                                               std::span<const PlannedFile> files, int writer) {
  std::vector<std::vector<std::string>> out;
  for (const PlannedFile& file : files) {
    if (file.writer != writer) continue;
    auto& names = out.emplace_back();
    for (const std::size_t i : file.slices) names.push_back(slices[i].name());
  }
  return out;
}

TEST(FilePlan, AssignsFilesToTheLeastLoadedHolder) {
  const std::vector<OwnedSlice> held{slice("d", 4, 0, 4, {0, 1, 2}), slice("a", 4, 0, 4, {0, 1, 2}),
                                     slice("b", 4, 0, 4, {0, 1, 2}), slice("c", 8, 0, 8, {0, 1, 2}),
                                     slice("w", 4, 0, 2, {0, 1}),    slice("w", 4, 2, 2, {2})};
  const auto files = plan_files(held, 16);
  EXPECT_EQ(files.size(), 6u);
  // Files are assigned in the order of their holders: w[0:2] to 0, then a, b, c and d, which all
  // three hold, each to the least loaded, then w[2:4] to its only holder, 2.
  EXPECT_THAT(names_of(held, files, 0), ElementsAre(ElementsAre("w[0:2]"), ElementsAre("c")));
  EXPECT_THAT(names_of(held, files, 1), ElementsAre(ElementsAre("a"), ElementsAre("d")));
  EXPECT_THAT(names_of(held, files, 2), ElementsAre(ElementsAre("b"), ElementsAre("w[2:4]")));
}

TEST(FilePlan, SmallSlicesShareFilesOnlyWithTheSameHolders) {
  const std::vector<OwnedSlice> held{slice("a", 1, 0, 1, {0, 1}), slice("b", 1, 0, 1, {0}),
                                     slice("c", 1, 0, 1, {0, 1})};
  const auto files = plan_files(held, 1000);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_THAT(files[0].slices, ElementsAre(1));
  EXPECT_THAT(files[1].slices, ElementsAre(0, 2));
}

// An all-gather between threads, in place of the processes' coordination server.
class MeetingPlace {
 public:
  explicit MeetingPlace(std::size_t size) : size_(size) {}

  std::vector<std::string> gather(std::size_t rank, const std::string& key,
                                  const std::string& payload) {
    std::unique_lock lock(mutex_);
    auto& given = given_[key];
    EXPECT_TRUE(given.emplace(rank, payload).second) << key << " twice";
    changed_.notify_all();
    changed_.wait(lock, [&] { return given.size() == size_ || gone_; });
    if (given.size() < size_) throw SystemError("host 2 is gone");
    std::vector<std::string> out;
    for (const auto& [of, text] : given) out.push_back(text);
    return out;
  }
  // Loses a rank once all others wait for it at `key`.
  void lose_one(const std::string& key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return given_[key].size() + 1 == size_; });
    gone_ = true;
    changed_.notify_all();
  }

 private:
  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::map<std::size_t, std::string>> given_;
  bool gone_ = false;
};

class SharedSaving : public testing::Test {
 protected:
  using Wrap = std::function<Gather(int rank, Gather gather)>;

  SharedSaving() {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i);
    for (const char* name : {"a", "b", "c"}) whole(name);
  }

  std::span<const std::byte> bytes(std::int64_t begin, std::int64_t size) const {
    return std::as_bytes(std::span(values_).subspan(static_cast<std::size_t>(begin),
                                                    static_cast<std::size_t>(size)));
  }
  void whole(const std::string& name) { held_.push_back(slice(name, 64, 0, 64, {0, 1, 2})); }
  void split_over_processes() {
    for (int process = 0; process < 3; ++process)
      held_.push_back(slice("w", 48, 16 * process, 16, {process}));
  }
  SlicedTensors of(int process) const {
    SlicedTensors out;
    for (const OwnedSlice& s : held_) {
      if (std::ranges::find(s.holders, process) == s.holders.end()) continue;
      SlicedTensor& tensor = out[s.tensor];
      tensor.shape = s.whole;
      tensor.slices.push_back(
          {s.begin, {{compiler::DType::f32, s.dims}, bytes(s.begin[0], s.dims[0])}});
    }
    return out;
  }

  // Saves on three threads and returns the error of each rank. Rank r writes the slices of process
  // 2 - r, so that the two numberings differ.
  std::vector<std::string> save(std::int64_t step, const Wrap& wrap = {}) {
    MeetingPlace place(3);
    return save(step, wrap, place);
  }
  std::vector<std::string> save(std::int64_t step, const Wrap& wrap, MeetingPlace& place) {
    std::vector<std::string> said(3);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        SaveShare share{.process = 2 - rank, .leads = rank == 0, .key = str("save/", step)};
        share.seen_seconds = 0;
        share.gather = [&place, rank](const std::string& key, const std::string& payload) {
          return place.gather(static_cast<std::size_t>(rank), key, payload);
        };
        if (wrap) share.gather = wrap(rank, share.gather);
        said[static_cast<std::size_t>(rank)] = error_of([&] {
          save_shared_checkpoint(dir_.file("model"), step, of(2 - rank), held_, {{"x", 1}}, share,
                                 {.shard_bytes = 256});
        });
      });
    threads.clear();
    return said;
  }
  std::vector<std::string> there() const { return io::list_folder(dir_.file("model")); }

  TempDir dir_;
  std::vector<float> values_ = std::vector<float>(64);
  std::vector<OwnedSlice> held_;
};

TEST_F(SharedSaving, ReplicatedStateGivesTheFilesOfOneProcess) {
  EXPECT_THAT(save(3), Each("no error"));
  save_sliced_checkpoint(dir_.file("alone"), 3, of(0), {{"x", 1}}, {.shard_bytes = 256});
  const std::string together = dir_.file("model/checkpoint-3"),
                    alone = dir_.file("alone/checkpoint-3");
  EXPECT_EQ(io::list_folder(together), io::list_folder(alone));
  EXPECT_EQ(io::list_folder(alone).size(), 5u);  // three with tensors, the manifest and COMMIT
  for (const std::string& name : io::list_folder(alone))
    EXPECT_EQ(io::read_file(together + "/" + name), io::read_file(alone + "/" + name)) << name;
}

TEST_F(SharedSaving, LoadsShardedStateWhole) {
  split_over_processes();
  EXPECT_THAT(save(3), Each("no error"));
  const Checkpoint read = load_checkpoint(dir_.file("model"), 3);
  EXPECT_THAT(io::tensor_values<float>(read.tensors.at("w")),
              testing::ElementsAreArray(std::span(values_).first(48)));
  EXPECT_THAT(io::tensor_values<float>(read.tensors.at("b")), testing::ElementsAreArray(values_));
}

TEST_F(SharedSaving, FailureOfOneProcessFailsAllAndLeavesNothing) {
  EXPECT_THAT(save(3), Each("no error"));
  split_over_processes();
  const std::string file = dir_.file("no folder");
  io::write_file(file, "");
  const auto blind = [&](int rank, Gather gather) -> Gather {
    if (rank != 1) return gather;
    return [&file, gather](const std::string& key, const std::string& payload) {
      auto all = gather(key, payload);
      if (key.ends_with("/begin")) all[0] = str(R"({"folder": ")", file, R"(/below"})");
      return all;
    };
  };
  EXPECT_THAT(save(4, blind), Each(AllOf(testing::StartsWith("host 1: "), HasSubstr(file),
                                         HasSubstr("Not a directory"))));
  EXPECT_THAT(there(), ElementsAre("checkpoint-3"));
  EXPECT_THAT(save(5), Each("no error"));
  EXPECT_THAT(there(), testing::UnorderedElementsAre("checkpoint-3", "checkpoint-5"));
}

TEST_F(SharedSaving, DoesNotPublishFilesInvisibleToRank0) {
  const std::string elsewhere = dir_.file("elsewhere");
  io::write_file(elsewhere + "/.here", "");
  const auto astray = [&](int rank, Gather gather) -> Gather {
    if (rank != 1) return gather;
    return [&elsewhere, gather](const std::string& key, const std::string& payload) {
      auto all = gather(key, payload);
      if (key.ends_with("/begin")) all[0] = str(R"({"folder": ")", elsewhere, R"("})");
      return all;
    };
  };
  EXPECT_THAT(save(4, astray),
              Each(AllOf(testing::StartsWith("host 1 wrote "),
                         HasSubstr("bytes; host 0 sees no such file there\n  hint: use a folder "
                                   "that all hosts share"))));
  EXPECT_THAT(there(), IsEmpty());
}

TEST_F(SharedSaving, FailsOnAllRanksIfRank0CannotWrite) {
  io::write_file(dir_.file("model"), "a file");
  const auto said = save(3);
  EXPECT_THAT(said, Each(said[0]));
  EXPECT_THAT(said[0], HasSubstr("model"));
}

TEST_F(SharedSaving, FailsIfAProcessIsGone) {
  MeetingPlace place(3);
  const auto dies = [&](int rank, Gather gather) -> Gather {
    if (rank != 2) return gather;
    return [&place, gather](const std::string& key, const std::string& payload) {
      if (!key.ends_with("/written")) return gather(key, payload);
      place.lose_one(key);
      throw SystemError("killed");
    };
  };
  EXPECT_THAT(save(3, dies, place), ElementsAre("host 2 is gone", "host 2 is gone", "killed"));
  EXPECT_THAT(there(), IsEmpty());
}

TEST_F(SharedSaving, Rank0FailureIsThrownOnAllRanks) {
  MeetingPlace place(2);
  std::vector<std::string> said(2);
  std::vector<std::jthread> threads;
  int done = 0;
  for (std::size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const SaveShare share{.leads = rank == 1,
                            .key = "links",
                            .gather = [&](const std::string& key, const std::string& payload) {
                              return place.gather(rank, key, payload);
                            }};
      said[rank] = error_of([&] {
        run_on_rank0(share, [&] {
          ++done;
          throw SystemError("no room for links");
        });
      });
    });
  threads.clear();
  EXPECT_EQ(done, 1);
  EXPECT_THAT(said, Each("no room for links"));
}

}  // namespace
}  // namespace smelt::checkpoint
