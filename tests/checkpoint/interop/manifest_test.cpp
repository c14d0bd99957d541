// Manifests with a correct checksum but wrong fields, and loading without optimizer slots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

using testing::AllOf;
using testing::HasSubstr;

class ManifestTest : public testing::Test {
 protected:
  void SetUp() override {
    const io::TensorView two{{compiler::DType::f32, {2}}, std::as_bytes(std::span(values_))};
    for (const int step : {1, 2})
      save_checkpoint(dir_.path(), step, {{"w", two}, {"w/adam_m", two}, {"ema/w", two}},
                      {{"seed", 7}});
  }
  std::string file(std::string_view name) const { return dir_.file(str("checkpoint-2/", name)); }
  void change(const std::function<void(Json&)>& how) const {
    Json manifest = Json::parse(io::read_file(file(kManifestFile)));
    how(manifest);
    io::write_file(file(kManifestFile), manifest.dump());
    io::write_file(file(kCommitFile), commit_text(manifest.dump()));
  }

  TempDir dir_;
  std::array<float, 2> values_{1, 2};
};

TEST_F(ManifestTest, ReportsMissingOrMistypedFieldsAsDamage) {
  const std::string before = io::read_file(file(kManifestFile));
  const CapturedLog log;
  for (const std::string patch :
       {R"({"files": null})", R"({"state": null})", R"({"step": null})", R"({"files": [3]})",
        R"({"format": 2})", R"({"files": [{"name": 3}]})"}) {
    SCOPED_TRACE(patch);
    change([&](Json& m) { m.merge_patch(Json::parse(patch)); });
    EXPECT_THAT(error_of<DamagedCheckpoint>([&] { load_checkpoint(dir_.path(), 2); }),
                HasSubstr("checkpoint-2: manifest.json has an invalid field: "));
    EXPECT_EQ(load_latest_checkpoint(dir_.path())->step, 1);
    io::write_file(file(kManifestFile), before);
  }
  change([](Json& m) { m = Json::array(); });
  EXPECT_THAT(error_of<DamagedCheckpoint>([&] { checkpoint_state(dir_.file("checkpoint-2")); }),
              HasSubstr("manifest.json has an invalid field: "));
}

TEST_F(ManifestTest, RequiresExactlyTheListedTensors) {
  const std::string before = io::read_file(file(kManifestFile));
  const auto refusal = [&](const std::function<void(Json&)>& how) {
    change(how);
    const std::string said = error_of<DamagedCheckpoint>([&] { load_checkpoint(dir_.path(), 2); });
    io::write_file(file(kManifestFile), before);
    return said;
  };
  EXPECT_THAT(refusal([](Json& m) { m["tensors"].erase("w"); }),
              HasSubstr("manifest.json does not list tensor 'w', which a file contains"));
  EXPECT_THAT(refusal([](Json& m) { m["tensors"]["b"] = m["tensors"]["w"]; }),
              HasSubstr("tensor 'b' is missing"));
  EXPECT_THAT(refusal([](Json& m) { m["files"].push_back(m["files"][0]); }),
              HasSubstr("manifest.json lists tensors-00000-of-00001.safetensors twice"));
}

TEST_F(ManifestTest, DetectsTruncatedAndMissingFilesWithoutReadingTensors) {
  const CapturedLog log;
  const std::string name = "tensors-00000-of-00001.safetensors";
  EXPECT_EQ(load_latest_state(dir_.path())->step, 2);
  io::write_file(file(name), io::read_file(file(name)).substr(1));
  EXPECT_EQ(load_latest_state(dir_.path())->step, 1);
  io::remove_file(file(name));
  EXPECT_EQ(load_latest_state(dir_.path())->step, 1);
  EXPECT_THAT(log.text(), AllOf(HasSubstr(name + " has "), HasSubstr(name + " is missing")));
}

TEST_F(ManifestTest, ParametersExcludeSlotsAndAverages) {
  const Checkpoint taken = parameters_of(load_sliced_checkpoint(dir_.path(), 2));
  EXPECT_EQ(taken.step, 2);
  ASSERT_EQ(taken.tensors.size(), 1u);
  EXPECT_EQ(taken.tensors.begin()->first, "w");
  EXPECT_EQ(taken.tensors.at("w").data.size(), sizeof values_);
}

}  // namespace
}  // namespace smelt::checkpoint
