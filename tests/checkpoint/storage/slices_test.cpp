// Checkpoints with sliced tensors: loading, and the rejection of damaged ones.
#include "checkpoint/storage/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <functional>

#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

using testing::HasSubstr;

using Values = std::vector<std::int32_t>;

// Returns the coordinates of all elements of a box; the last dimension varies fastest.
std::vector<compiler::Dims> places_of(const compiler::Dims& begin, const compiler::Dims& dims) {
  std::vector<compiler::Dims> out(1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::vector<compiler::Dims> longer;
    for (const compiler::Dims& place : out)
      for (std::int64_t at = 0; at < dims[i]; ++at) {
        longer.push_back(place);
        longer.back().push_back(begin[i] + at);
      }
    out = longer;
  }
  return out;
}

// Returns the test value of an element, which encodes the tensor's number and the coordinates.
std::int32_t value_at(const compiler::Dims& place, std::int32_t tensor) {
  std::int32_t value = tensor;
  for (const std::int64_t at : place) value = 20 * value + static_cast<std::int32_t>(at);
  return value;
}

Values values_of(const compiler::Dims& begin, const compiler::Dims& dims, std::int32_t tensor) {
  Values out;
  for (const compiler::Dims& place : places_of(begin, dims)) out.push_back(value_at(place, tensor));
  return out;
}

// Tensors that are split into `parts` slices along each dimension.
class Cut {
 public:
  void add(const std::string& name, const compiler::Dims& dims, const compiler::Dims& parts,
           std::int32_t number) {
    SlicedTensor& out = tensors_[name];
    out.shape = {compiler::DType::s32, dims};
    compiler::Dims size = dims;
    for (std::size_t i = 0; i < dims.size(); ++i) size[i] /= parts[i];
    for (compiler::Dims begin : places_of(compiler::Dims(dims.size()), parts)) {
      for (std::size_t i = 0; i < dims.size(); ++i) begin[i] *= size[i];
      memory_.push_back(smelt::checkpoint::values_of(begin, size, number));
      out.slices.push_back(
          {begin, {{compiler::DType::s32, size}, std::as_bytes(std::span(memory_.back()))}});
    }
  }
  SlicedTensors& tensors() { return tensors_; }

 private:
  SlicedTensors tensors_;
  std::deque<Values> memory_;
};

// Returns "w" in 2 x 3 slices, "b" in four slices, and "z" without slices.
Cut three_tensors(std::int32_t number = 7) {
  Cut out;
  out.add("w", {8, 6}, {2, 3}, number);
  out.add("b", {12}, {4}, number + 1);
  out.add("z", {2, 3}, {1, 1}, number + 2);
  return out;
}

void expect_three_tensors(const Checkpoint& checkpoint, std::int32_t number = 7) {
  ASSERT_EQ(checkpoint.tensors.size(), 3);
  const auto expect = [&](const char* name, const compiler::Dims& dims, std::int32_t tensor) {
    const io::TensorView& view = checkpoint.tensors.at(name);
    EXPECT_EQ(view.shape, (compiler::Shape{compiler::DType::s32, dims})) << name;
    EXPECT_EQ(io::tensor_values<std::int32_t>(view),
              values_of(compiler::Dims(dims.size()), dims, tensor))
        << name;
  };
  expect("w", {8, 6}, number);
  expect("b", {12}, number + 1);
  expect("z", {2, 3}, number + 2);
}

class SlicedCheckpointTest : public testing::Test {
 protected:
  void save(std::int64_t step, std::int32_t number = 7) const {
    save_sliced_checkpoint(dir_.path(), step, three_tensors(number).tensors(), {{"seed", step}},
                           {.shard_bytes = 100});
  }
  std::string file(const std::string& name) const { return dir_.file("checkpoint-10/" + name); }
  Json manifest() const { return Json::parse(io::read_file(file("manifest.json"))); }
  // Changes the manifest of a saved checkpoint and writes the commit marker that fits it. Returns
  // the error of loading the checkpoint.
  std::string refusal_of(const std::function<void(Json&)>& change) {
    if (saved_.is_null()) {
      save(10);
      saved_ = manifest();
    }
    Json changed = saved_;
    change(changed);
    const std::string text = changed.dump();
    put("manifest.json", text);
    put("COMMIT", commit_text(text));
    const std::string said = error_of<DamagedCheckpoint>([&] { load_checkpoint(dir_.path(), 10); });
    EXPECT_THAT(said, HasSubstr("checkpoint: " + dir_.file("checkpoint-10") + ": "));
    EXPECT_THAT(said, HasSubstr("\n  hint: restore this directory from a copy, or remove it"));
    return said;
  }
  std::string refusal_of_w(const std::function<void(Json& slices)>& change) {
    return refusal_of([&](Json& m) { change(m["tensors"]["w"]["slices"]); });
  }

  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
  }

  TempDir dir_;
  Json saved_;  // the manifest before it is changed
};

TEST_F(SlicedCheckpointTest, LoadsSlicesWholeOrAsSaved) {
  save(10);
  expect_three_tensors(load_checkpoint(dir_.path(), 10));
  expect_three_tensors(load_checkpoint(dir_.file("checkpoint-10")));
  expect_three_tensors(*load_latest_checkpoint(dir_.path()));
  const SlicedCheckpoint sliced = load_sliced_checkpoint(dir_.path(), 10);
  EXPECT_EQ(sliced.state, (Json{{"seed", 10}}));
  Cut want = three_tensors();
  ASSERT_EQ(sliced.tensors.size(), 3);
  for (const auto& [name, tensor] : want.tensors()) {
    const SlicedTensor& got = sliced.tensors.at(name);
    EXPECT_EQ(got.shape, tensor.shape);
    ASSERT_EQ(got.slices.size(), tensor.slices.size()) << name;
    for (std::size_t i = 0; i < got.slices.size(); ++i) {
      EXPECT_EQ(got.slices[i].begin, tensor.slices[i].begin) << name;
      EXPECT_EQ(io::tensor_values<std::int32_t>(got.slices[i].part),
                io::tensor_values<std::int32_t>(tensor.slices[i].part))
          << name;
    }
  }
}

TEST_F(SlicedCheckpointTest, ManifestListsTheFileOfEachSlice) {
  save(10);
  const Json m = manifest();
  EXPECT_EQ(m["format"], "smelt checkpoint 2");
  EXPECT_EQ(m["files"].size(), 3);
  EXPECT_EQ(m["tensors"]["z"].dump(),
            R"({"dtype":"I32","file":"tensors-00002-of-00003.safetensors","shape":[2,3]})");
  EXPECT_EQ(m["tensors"]["b"]["shape"].dump(), "[12]");
  ASSERT_EQ(m["tensors"]["b"]["slices"].size(), 4);
  EXPECT_EQ(m["tensors"]["b"]["slices"][3].dump(),
            R"({"begin":[9],"file":"tensors-00000-of-00003.safetensors",)"
            R"("name":"b[9:12]","shape":[3]})");
  EXPECT_EQ(m["tensors"]["w"]["slices"][4]["name"], "w[4:8,2:4]");
}

TEST_F(SlicedCheckpointTest, BytesDoNotDependOnTheOrderOfSlices) {
  save(10);
  Cut other = three_tensors();
  for (auto& [name, tensor] : other.tensors()) std::ranges::reverse(tensor.slices);
  save_sliced_checkpoint(dir_.file("other"), 10, other.tensors(), {{"seed", 10}},
                         {.shard_bytes = 100});
  for (const std::string& name : io::list_folder(dir_.file("checkpoint-10")))
    EXPECT_EQ(io::read_file(file(name)), io::read_file(dir_.file("other/checkpoint-10/" + name)))
        << name;
}

TEST_F(SlicedCheckpointTest, WithoutSlicesUsesTheEarlierFormat) {
  save(10);
  const Checkpoint checkpoint = load_checkpoint(dir_.path(), 10);
  save_checkpoint(dir_.file("a"), 10, checkpoint.tensors, checkpoint.state);
  save_sliced_checkpoint(dir_.file("b"), 10, slices_of(checkpoint.tensors), checkpoint.state);
  for (const std::string& name : io::list_folder(dir_.file("a/checkpoint-10")))
    EXPECT_EQ(io::read_file(dir_.file("a/checkpoint-10/" + name)),
              io::read_file(dir_.file("b/checkpoint-10/" + name)))
        << name;
  EXPECT_THAT(io::read_file(dir_.file("b/checkpoint-10/manifest.json")),
              HasSubstr(R"("format": "smelt checkpoint 1")"));
}

TEST(Slices, CopiesAnyPartLikeTheReference) {
  const std::vector<std::pair<compiler::Dims, std::vector<compiler::Dims>>> cases{
      {{}, {{}}},
      {{12}, {{1}, {3}, {4}, {12}}},
      {{6, 4}, {{1, 1}, {2, 1}, {1, 4}, {3, 2}, {6, 4}}},
      {{4, 6, 2}, {{1, 1, 1}, {4, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 3, 2}}},
      {{2, 3, 2, 4}, {{1, 1, 1, 1}, {1, 3, 1, 2}, {2, 1, 2, 4}}}};
  for (const auto& [dims, ways] : cases)
    for (const compiler::Dims& from : ways)
      for (const compiler::Dims& to : ways) {
        SCOPED_TRACE(str(compiler::dims_text(dims), " from ", compiler::dims_text(from), " to ",
                         compiler::dims_text(to)));
        Cut given, wanted;
        given.add("t", dims, from, 1);
        wanted.add("t", dims, to, 1);
        const SlicedTensor& tensor = given.tensors()["t"];
        for (const auto& [begin, part, put] : wanted.tensors()["t"].slices) {
          Scratch scratch;
          const auto got = part_of(tensor.slices, begin, part.shape, scratch);
          ASSERT_EQ(io::tensor_values<std::int32_t>({part.shape, got}),
                    values_of(begin, part.shape.dims, 1));
        }
      }
}

TEST(Slices, ReturnsAStoredSliceWithoutCopying) {
  Cut cut = three_tensors();
  const SlicedTensor &w = cut.tensors()["w"], &z = cut.tensors()["z"];
  Scratch scratch;
  const TensorSlice& some = w.slices[3];
  EXPECT_EQ(part_of(w.slices, some.begin, some.part.shape, scratch).data(), some.part.data.data());
  EXPECT_EQ(whole(z, scratch).data.data(), z.slices.front().part.data.data());
  EXPECT_EQ(io::tensor_values<std::int32_t>(whole(w, scratch)), values_of({0, 0}, {8, 6}, 7));
}

// ---- rejected checkpoints ----

TEST_F(SlicedCheckpointTest, RejectsSlicesThatDoNotCoverTheTensor) {
  const std::string of_w = "manifest.json: tensor 'w' [8,6]: ";
  // Slices 0, 1 and 2 are the upper row.
  for (const auto& [gone, hole] : std::vector<std::pair<std::size_t, std::string>>{
           {0, "[0,0]"}, {1, "[0,2]"}, {2, "[0,4]"}, {3, "[4,0]"}, {4, "[4,2]"}, {5, "[4,4]"}})
    EXPECT_THAT(refusal_of_w([&](Json& s) { s.erase(gone); }),
                HasSubstr(of_w + "no slice holds " + hole));
  EXPECT_THAT(refusal_of_w([](Json& s) { s.elements().resize(3); }),
              HasSubstr(of_w + "no slice holds [4,0]"));
  EXPECT_THAT(refusal_of_w([](Json& s) { s = Json::array(); }),
              HasSubstr(of_w + "no slice holds [0,0]"));
  EXPECT_THAT(refusal_of([](Json& m) { m["tensors"]["w"]["shape"] = {9, 6}; }),
              HasSubstr("tensor 'w' [9,6]: no slice holds [8,0]"));
  EXPECT_THAT(refusal_of([](Json& m) { m["tensors"]["b"]["slices"].erase(1); }),
              HasSubstr("tensor 'b' [12]: no slice holds [3]"));
}

TEST_F(SlicedCheckpointTest, RejectsOverlappingSlices) {
  const std::string of_w = "manifest.json: tensor 'w' [8,6]: its slices ";
  EXPECT_THAT(refusal_of_w([](Json& s) { s[1]["begin"] = {0, 1}; }),
              HasSubstr(of_w + "[0:4,0:2] and [0:4,1:3] overlap"));
  EXPECT_THAT(refusal_of_w([](Json& s) { s[1]["begin"] = {0, 0}; }),
              HasSubstr(of_w + "[0:4,0:2] and [0:4,0:2] overlap"));
  EXPECT_THAT(refusal_of_w([](Json& s) {
                for (std::size_t i = 3; i < 6; ++i) s[i]["begin"][0] = 3;
              }),
              HasSubstr(of_w + "[0:4,0:2] and [3:7,0:2] overlap"));
}

TEST_F(SlicedCheckpointTest, RejectsSlicesThatAreNotAGrid) {
  Cut cut = three_tensors();
  Cut other;
  other.add("w", {8, 6}, {1, 3}, 7);
  cut.tensors()["w"].slices[1] = other.tensors()["w"].slices[1];
  save_sliced_checkpoint(dir_.path(), 10, cut.tensors(), {});
  EXPECT_THAT(error_of<DamagedCheckpoint>([&] { load_checkpoint(dir_.path(), 10); }),
              HasSubstr("tensor 'w' [8,6]: its slices [0:4,0:2] and [0:8,2:4] have the same "
                        "begin but different ends"));
}

TEST_F(SlicedCheckpointTest, RejectsSlicesOutOfBounds) {
  const std::string of_w = "manifest.json: tensor 'w' [8,6]: its slice ";
  EXPECT_THAT(refusal_of_w([](Json& s) { s[5]["begin"] = {5, 4}; }),
              HasSubstr(of_w + "[5:9,4:6] is out of bounds"));
  EXPECT_THAT(refusal_of_w([](Json& s) { s[5]["begin"] = {9, 4}; }),
              HasSubstr(of_w + "[9:13,4:6] is out of bounds"));
  EXPECT_THAT(refusal_of_w([](Json& s) { s[0]["shape"] = {4, 7}; }),
              HasSubstr(of_w + "[0:4,0:7] is out of bounds"));
  EXPECT_THAT(refusal_of_w([](Json& s) {
                s[5]["begin"] = {4, 9223372036854775807};
                s[5]["shape"] = {4, 9223372036854775807};
              }),
              HasSubstr(of_w + "[4:8,9223372036854775807:18446744073709551614] is out of bounds"));
  EXPECT_THAT(refusal_of_w([](Json& s) { s[0]["shape"] = {4, 0}; }),
              HasSubstr(of_w + "[0:4,0:0] is empty"));
}

TEST_F(SlicedCheckpointTest, RejectsSlicesMissingFromTheirFile) {
  const std::string of_w = "manifest.json: tensor 'w' [8,6]: its slice ";
  EXPECT_THAT(refusal_of_w([](Json& s) { s[0]["name"] = "w[0:4,0:3]"; }),
              HasSubstr(of_w + "[0:4,0:2] is missing: tensors-00000-of-00003.safetensors has no "
                               "'w[0:4,0:3]'"));
  EXPECT_THAT(refusal_of_w([](Json& s) {
                s[1]["name"] = s[0]["name"];  // the file has only one of them
                s[1]["file"] = s[0]["file"];
              }),
              HasSubstr(of_w + "[0:4,2:4] is missing: tensors-00000-of-00003.safetensors has no "
                               "'w[0:4,0:2]'"));
  EXPECT_THAT(refusal_of_w([](Json& s) { s[0]["file"] = "../x"; }),
              HasSubstr(of_w + "[0:4,0:2] is missing: there is no file '../x'"));
  EXPECT_THAT(
      refusal_of_w([](Json& s) { s[0]["shape"] = {4, 1}; }),
      HasSubstr(of_w + "[0:4,0:1] is I32 [4,2] in tensors-00000-of-00003.safetensors, but the "
                       "manifest lists I32 [4,1]"));
  EXPECT_THAT(
      refusal_of([](Json& m) { m["tensors"]["w"]["dtype"] = "F32"; }),
      HasSubstr(of_w + "[0:4,0:2] is I32 [4,2] in tensors-00000-of-00003.safetensors, but the "
                       "manifest lists F32 [4,2]"));
  EXPECT_THAT(refusal_of([](Json& m) { m["tensors"]["z"]["shape"] = {3, 2}; }),
              HasSubstr("tensor 'z' [3,2]: it is I32 [2,3] in tensors-00002-of-"
                        "00003.safetensors, but the manifest lists I32 [3,2]"));
  EXPECT_THAT(refusal_of([](Json& m) { m["tensors"].erase("w"); }),
              HasSubstr("manifest.json does not list 'w[0:4,0:2]' of tensors-00000-of-00003."));
}

// A manifest may contain any values. Invalid ones must give an error message and must not be used
// in computations.
TEST_F(SlicedCheckpointTest, RejectsAnInvalidManifest) {
  const std::string not_numbers =
      "tensor 'w' [8,6]: the begin or shape of a slice is not 2 non-negative ";
  for (const Json& wrong :
       {Json(), Json(3), Json("x"), Json::array({0}), Json::array({0, -1}), Json::array({0, 0.5}),
        Json::array({0, 0, 0}), Json::array({0, 18446744073709551615U}), Json::array({0, "2"})}) {
    SCOPED_TRACE(wrong.dump());
    EXPECT_THAT(refusal_of_w([&](Json& s) { s[0]["begin"] = wrong; }), HasSubstr(not_numbers));
    EXPECT_THAT(refusal_of_w([&](Json& s) { s[0]["shape"] = wrong; }), HasSubstr(not_numbers));
  }
  EXPECT_THAT(refusal_of_w([&](Json& s) { s[0] = 3; }), HasSubstr(not_numbers));
  EXPECT_THAT(refusal_of_w([&](Json& s) { s = 3; }),
              HasSubstr("tensor 'w' has a field \"slices\" that is not a list"));
  for (const Json& wrong : {Json(), Json(3), Json::object(), Json{{"shape", {8, 6}}},
                            Json{{"dtype", "I32"}, {"shape", {8, -6}}}})
    EXPECT_THAT(refusal_of([&](Json& m) { m["tensors"]["w"] = wrong; }),
                HasSubstr("tensor 'w' has no shape or no dtype"));
  for (const Json& wrong : {Json(), Json::array(), Json::object()})
    EXPECT_THAT(refusal_of([&](Json& m) { m["tensors"] = wrong; }),
                HasSubstr("manifest.json does not list "));
  EXPECT_THAT(refusal_of([](Json& m) { m.erase("tensors"); }),
              HasSubstr("manifest.json does not list "));
  // 2^62 rows of 6: the number of elements does not fit in 64 bits.
  EXPECT_THAT(refusal_of([](Json& m) { m["tensors"]["w"]["shape"] = {1LL << 62, 6}; }),
              HasSubstr("no slice holds [8,0]"));
}

TEST_F(SlicedCheckpointTest, SkipsACheckpointWithAMissingSlice) {
  save(5, 3);
  refusal_of_w([](Json& s) { s.erase(4); });
  const CapturedLog log;
  expect_three_tensors(*load_latest_checkpoint(dir_.path()), 3);
  EXPECT_THAT(log.text(), HasSubstr("tensor 'w' [8,6]: no slice holds [4,2]"));
  EXPECT_THAT(log.text(), HasSubstr("going back to step 5"));
}

TEST_F(SlicedCheckpointTest, DetectsEveryChangedByte) {
  save(10);
  for (const std::string& name : io::list_folder(dir_.file("checkpoint-10"))) {
    const std::string before = io::read_file(file(name));
    for (std::size_t at = 0; at < before.size(); at += 7) {
      std::string changed = before;
      changed[at] ^= 0x40;
      put(name, changed);
      EXPECT_THAT(error_of([&] { load_checkpoint(dir_.path(), 10); }), HasSubstr("damaged"))
          << name << " " << at;
    }
    put(name, before);
  }
  expect_three_tensors(load_checkpoint(dir_.path(), 10));
}

// If a process is killed while it saves checkpoints, its latest checkpoint is complete.
TEST_F(SlicedCheckpointTest, ResumesARunKilledAtAnyMoment) {
  std::int64_t reached = 0;
  for (int round = 0; round < 5; ++round) {
    int saved[2];
    ASSERT_EQ(::pipe(saved), 0);
    const ::pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::int64_t step = reached + 1;; ++step) {
        save(step, static_cast<std::int32_t>(step % 1000));
        if (::write(saved[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char byte;
    ASSERT_EQ(::read(saved[0], &byte, 1), 1);
    ::usleep(700 * round);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(saved[0]);
    ::close(saved[1]);
    const auto latest = load_latest_checkpoint(dir_.path());
    ASSERT_TRUE(latest.has_value());
    EXPECT_GT(latest->step, reached);
    expect_three_tensors(*latest, static_cast<std::int32_t>(latest->step % 1000));
    reached = latest->step;
  }
}

}  // namespace
}  // namespace smelt::checkpoint
