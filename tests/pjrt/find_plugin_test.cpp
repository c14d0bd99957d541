// The folders that are searched for plugins, and the error messages if none is found.
#include "pjrt/find_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/environment.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(FindPlugin, SearchesTheInstallThenTheSetupFolderThenVenvs) {
  const TempDir dir;
  const ScopedVariable data("XDG_DATA_HOME", dir.file("data"));
  fs::create_directories(dir.file("tree/.venv/lib/python3.11/site-packages"));
  fs::create_directories(dir.file("tree/.venv/lib/python3.12/site-packages"));
  fs::create_directories(dir.file(".venv/lib/python3.10/site-packages"));
  fs::create_directories(dir.file("tree/bin"));
  EXPECT_THAT(plugin_folders(dir.file("tree/bin"), "tpu"),
              ElementsAre(dir.file("tree/lib/smelt"), dir.file("data/smelt/tpu"),
                          dir.file("tree/.venv/lib/python3.12/site-packages"),
                          dir.file("tree/.venv/lib/python3.11/site-packages"),
                          dir.file(".venv/lib/python3.10/site-packages")));
}

TEST(FindPlugin, SearchesTheSitePackagesOfTheProgram) {
  const ScopedVariable home("HOME"), data("XDG_DATA_HOME");
  EXPECT_THAT(plugin_folders("/venv/lib/python3.12/site-packages/smelt/bin", "tpu"),
              ElementsAre("/venv/lib/python3.12/site-packages/smelt/lib/smelt",
                          "/venv/lib/python3.12/site-packages"));
}

TEST(FindPlugin, FindsThePluginInTheSetupFolder) {
  const TempDir dir;
  const ScopedVariable data("XDG_DATA_HOME", dir.path());
  const ScopedVariable variable("SMELT_GPU_PLUGIN");
  const fs::path file = dir.file("smelt/gpu/jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
  EXPECT_EQ(find_plugin("gpu"), file);
}

TEST(FindPlugin, SetupFolderFollowsTheXdgSpecification) {
  const ScopedVariable home("HOME", "/home/someone");
  {
    const ScopedVariable data("XDG_DATA_HOME", "relative/is/ignored");
    EXPECT_EQ(setup_folder("gpu"), "/home/someone/.local/share/smelt/gpu");
  }
  const ScopedVariable data("XDG_DATA_HOME", "/big/disk");
  EXPECT_EQ(setup_folder("tpu"), "/big/disk/smelt/tpu");
}

TEST(FindPlugin, HasNoSetupFolderWithoutAHome) {
  const ScopedVariable home("HOME"), data("XDG_DATA_HOME");
  EXPECT_EQ(setup_folder("gpu"), std::nullopt);
  EXPECT_THAT(plugin_folders("/nowhere/bin", "gpu"), ElementsAre("/nowhere/lib/smelt"));
}

TEST(FindPlugin, ErrorNamesTheFileTheSearchedFoldersAndTheCommand) {
  const TempDir dir;
  const ScopedVariable data("XDG_DATA_HOME", dir.path());
  const ScopedVariable variable("SMELT_GPU_PLUGIN");
  EXPECT_THAT(
      error_of<UsageError>([] { find_plugin("gpu"); }),
      AllOf(StartsWith("device gpu: its plugin jax_plugins/xla_cuda13/xla_cuda_plugin.so is "
                       "not installed; looked in "),
            HasSubstr("/lib/smelt, " + dir.file("smelt/gpu")),
            HasSubstr("every .venv at or above /"), HasSubstr("hint: run smelt setup gpu")));
}

TEST(FindPlugin, PrefersTheEnvironmentVariable) {
  const ScopedVariable variable("SMELT_GPU_PLUGIN", SMELT_FAKE_PLUGIN);
  EXPECT_EQ(find_plugin("gpu"), SMELT_FAKE_PLUGIN);
}

TEST(FindPlugin, RejectsAVariableThatNamesNoFile) {
  const ScopedVariable variable("SMELT_CPU_PLUGIN", "/no/such.so");
  EXPECT_THAT(error_of<UsageError>([] { find_plugin("cpu"); }),
              AllOf(StartsWith("SMELT_CPU_PLUGIN: there is no file '/no/such.so'"),
                    HasSubstr("hint: correct the variable")));
}

TEST(FindPlugin, SuggestsAKnownDevice) {
  EXPECT_THAT(error_of<UsageError>([] { find_plugin("tpux"); }),
              AllOf(StartsWith("device: 'tpux' is unknown"), HasSubstr("did you mean 'tpu'?")));
}

}  // namespace
}  // namespace smelt::pjrt
