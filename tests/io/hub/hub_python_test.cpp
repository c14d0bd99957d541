// The cache of smelt and that of Hugging Face's own client are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "io/hub/hub_files.h"
#include "support/fake_hub.h"
#include "support/oracle.h"

namespace smelt::io {
namespace {

using testing::IsEmpty;

class HubPythonTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    hub_.add("models/org/name", "config.json", "{}");
    hub_.add("models/org/name", "dir/vocab.txt", "[PAD]\n");
    hub_.add("models/org/name", "model.safetensors", std::string(3000, 'x'));
  }
  std::string python(const std::string& arguments) {
    const CommandOutput out = run_command(
        str(oracle_python(), " ", source_path("tests/io/hub/hub_client.py"), " ", arguments));
    EXPECT_EQ(out.status, 0) << out.text;
    return out.text;
  }
  FakeHub hub_;
};

TEST_F(HubPythonTest, PythonReadsOfflineWhatSmeltDownloaded) {
  read_file("hf://org/name/config.json");
  read_file("hf://org/name/dir/vocab.txt");
  read_file("hf://org/name/model.safetensors");
  hub_.forget_requests();
  EXPECT_EQ(python("offline org/name dir/vocab.txt"), "[PAD]\n");
  EXPECT_EQ(python("scan"), "org/name 3 0\n");
  EXPECT_THAT(hub_.requests(), IsEmpty());
  EXPECT_EQ(python("snapshot org/name"),
            "config.json 2\nmodel.safetensors 3000\ndir/vocab.txt 6\n");
  EXPECT_EQ(hub_.count("cdn"), 0) << "Python downloads nothing again";
}

TEST_F(HubPythonTest, SmeltReadsWhatPythonDownloaded) {
  python("snapshot org/name");
  EXPECT_EQ(hub_.count("cdn GET"), 1);
  {
    const ScopedVariable offline("HF_HUB_OFFLINE", "1");
    hub_.forget_requests();
    EXPECT_EQ(read_file("hf://org/name/dir/vocab.txt"), "[PAD]\n");
    EXPECT_EQ(read_file("hf://org/name/model.safetensors"), std::string(3000, 'x'));
    EXPECT_THAT(hub_.requests(), IsEmpty());
  }
  forget_hub_commits();
  EXPECT_EQ(read_file("hf://org/name/model.safetensors"), std::string(3000, 'x'));
  EXPECT_EQ(hub_.count("cdn") + hub_.count("/resolve/"), 0);
}

}  // namespace
}  // namespace smelt::io
