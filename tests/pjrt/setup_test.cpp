// smelt setup with the real pip in its own virtual environment, on generated wheels and without
// network access.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>

#include "base/json.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"
#include "pjrt/plugin_setup.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/sha256.h"

namespace smelt::pjrt {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class SetupTest : public testing::Test {
 protected:
  // Creates a wheel with one file, "<name>/text", that contains its version.
  Wheel wheel(const std::string& name, const std::string& version) const {
    const std::string info = str(name, "-", version, ".dist-info"),
                      tree = dir_.file(name + version);
    io::write_file(str(tree, "/", name, "/text"), version);
    io::write_file(str(tree, "/", info, "/METADATA"),
                   str("Metadata-Version: 2.1\nName: ", name, "\nVersion: ", version, "\n"));
    io::write_file(
        str(tree, "/", info, "/WHEEL"),
        "Wheel-Version: 1.0\nGenerator: smelt\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    io::write_file(str(tree, "/", info, "/RECORD"), "");
    const std::string file = dir_.file(str("index/", name, "-", version, "-py3-none-any.whl"));
    fs::create_directories(dir_.file("index"));
    EXPECT_EQ(
        run_command(str("cd ", tree, " && python3 -m zipfile -c ", file, " ", name, " ", info))
            .status,
        0);
    return {.name = name,
            .version = version,
            .requirement =
                str(name, "==", version, " --hash=sha256:", sha256(io::read_file(file)), "\n"),
            .download_bytes = 1000,
            .unpacked_bytes = 1000};
  }

  PluginSetup setup(std::vector<Wheel> wheels) const {
    return {std::move(wheels), dir_.file("data/gpu")};
  }
  std::string installed_text(const std::string& name) const {
    return io::read_file(dir_.file(str("data/gpu/", name, "/text")));
  }

  TempDir dir_;
  ScopedVariable index_{"PIP_NO_INDEX", "1"};
  ScopedVariable links_{"PIP_FIND_LINKS", dir_.file("index")};
};

TEST_F(SetupTest, InstallsAtomicallyAndReplacesAnOlderVersion) {
  const PluginSetup first = setup({wheel("alpha", "1.0"), wheel("beta", "2.0")});
  EXPECT_FALSE(first.installed());
  first.install();
  EXPECT_TRUE(first.installed());
  EXPECT_EQ(installed_text("alpha"), "1.0");
  EXPECT_EQ(installed_text("beta"), "2.0");

  const PluginSetup second = setup({wheel("alpha", "1.1")});
  EXPECT_FALSE(second.installed());
  second.install();
  EXPECT_TRUE(second.installed());
  EXPECT_EQ(installed_text("alpha"), "1.1");
  EXPECT_FALSE(fs::exists(dir_.file("data/gpu/beta")));
  EXPECT_FALSE(fs::exists(dir_.file("data/gpu.partial")));
}

TEST_F(SetupTest, RejectsAWheelWithAWrongHashAndReusesDownloads) {
  const Wheel good = wheel("alpha", "1.0"), right = wheel("beta", "2.0");
  Wheel wrong = right;
  wrong.requirement = str("beta==2.0 --hash=sha256:", std::string(64, '0'), "\n");
  // The leftovers of a process that was killed while unpacking do not count as installed either.
  io::write_file(dir_.file("data/gpu.partial/packages/alpha/text"), "half");
  EXPECT_THAT(error_of<SystemError>([&] { setup({good, wrong}).install(); }),
              AllOf(StartsWith("setup: pip could not download beta 2.0"),
                    HasSubstr("hint: check the network and run smelt setup again")));
  EXPECT_FALSE(fs::exists(dir_.file("data/gpu")));

  fs::remove(dir_.file("index/alpha-1.0-py3-none-any.whl"));
  const ScopedVariable links("PIP_FIND_LINKS",
                             str(dir_.file("index"), " ", dir_.file("data/gpu.partial/wheels")));
  setup({good, right}).install();
  EXPECT_EQ(installed_text("alpha"), "1.0");
}

TEST_F(SetupTest, DoesNotTouchAForeignFolder) {
  io::write_file(dir_.file("data/gpu/mine"), "precious");
  EXPECT_THAT(error_of<UsageError>([&] { setup({wheel("alpha", "1.0")}).install(); }),
              AllOf(StartsWith("setup: " + dir_.file("data/gpu")),
                    HasSubstr("exists but was not created by smelt setup"),
                    HasSubstr("hint: move or delete it")));
  EXPECT_EQ(io::read_file(dir_.file("data/gpu/mine")), "precious");
}

TEST_F(SetupTest, ChecksTheDiskSpaceFirst) {
  Wheel huge = wheel("alpha", "1.0");
  huge.unpacked_bytes = std::int64_t{1} << 60;
  EXPECT_THAT(error_of<SystemError>([&] { setup({huge}).install(); }),
              AllOf(HasSubstr("data/gpu needs 1152.9 PB of disk space, available are "),
                    HasSubstr("hint: free some space, or set XDG_DATA_HOME")));
}

TEST_F(SetupTest, RequiresPython) {
  const PluginSetup wanted = setup({wheel("alpha", "1.0")});
  const ScopedVariable path("PATH", dir_.path());
  EXPECT_THAT(
      error_of<UsageError>([&] { wanted.install(); }),
      AllOf(StartsWith("setup: found no python3 with the modules venv and ensurepip in PATH"),
            HasSubstr("hint: apt-get install python3 python3-venv")));
}

TEST_F(SetupTest, RejectsASecondSetupAtTheSameTime) {
  io::write_file(dir_.file("data/gpu.lock"), "");
  const io::Descriptor held(::open(dir_.file("data/gpu.lock").c_str(), O_RDWR));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  EXPECT_THAT(
      error_of<UsageError>([&] { setup({wheel("alpha", "1.0")}).install(); }),
      AllOf(StartsWith("setup: another smelt setup is running: " + dir_.file("data/gpu.lock")),
            HasSubstr("hint: wait until it ends")));
  EXPECT_FALSE(fs::exists(dir_.file("data/gpu.partial")));
}

TEST_F(SetupTest, RecreatesABrokenVirtualEnvironment) {
  const std::string python = dir_.file("data/gpu.partial/python");
  io::write_file(python + "/.whole", "");
  fs::create_directories(python + "/bin");
  fs::create_symlink(dir_.file("gone"), python + "/bin/python");
  const PluginSetup wanted = setup({wheel("alpha", "1.0")});
  wanted.install();
  EXPECT_TRUE(wanted.installed());
}

CommandOutput smelt_setup(const std::string& environment, const std::string& arguments) {
  return run_command(str(environment, " ", smelt_program(), " setup ", arguments));
}

TEST(SetupCommand, DryRunPrintsThePlanAndWritesNothing) {
  const TempDir dir;
  const CommandOutput output = smelt_setup("XDG_DATA_HOME=" + dir.path(), "gpu --dry-run --json");
  const auto plan = Json::parse(output.text);
  EXPECT_EQ(plan["folder"], dir.file("smelt/gpu"));
  EXPECT_EQ(plan["installed"], false);
  EXPECT_EQ(plan["packages"][0]["name"], "jax-cuda13-pjrt");
  std::int64_t sum = 0;
  for (const auto& package : plan["packages"]) sum += package["download_bytes"].get<std::int64_t>();
  EXPECT_EQ(plan["download_bytes"], sum);
  EXPECT_GT(sum, 2'000'000'000);
  EXPECT_TRUE(fs::is_empty(dir.path()));

  const CommandOutput lines = smelt_setup("XDG_DATA_HOME=" + dir.path(), "tpu --dry-run");
  EXPECT_THAT(lines.text, AllOf(HasSubstr("libtpu 0."), HasSubstr("to download: 20"),
                                HasSubstr("folder:      " + dir.file("smelt/tpu"))));
}

TEST(SetupCommand, ReportsAnInstalledPlugin) {
  const TempDir dir;
  const ScopedVariable data("XDG_DATA_HOME", dir.path());
  std::string wheels;
  for (const Wheel& wheel : plugin_wheels("tpu")) wheels += wheel.requirement;
  io::write_file(dir.file("smelt/tpu/.wheels"), wheels);
  const CommandOutput output = smelt_setup("", "tpu");
  EXPECT_EQ(output.status, 0);
  EXPECT_THAT(output.text, StartsWith("already installed: " + dir.file("smelt/tpu")));
}

TEST(SetupCommand, RejectsWrongUse) {
  const CommandOutput cpu = smelt_setup("", "cpu");
  EXPECT_EQ(cpu.status, 2);
  EXPECT_THAT(cpu.text,
              AllOf(HasSubstr("setup: the plugin of device cpu is installed by scripts/build"),
                    HasSubstr("hint: use --device cpu without smelt setup")));
  const CommandOutput homeless = smelt_setup("env -u HOME -u XDG_DATA_HOME", "gpu --dry-run");
  EXPECT_EQ(homeless.status, 2);
  EXPECT_THAT(homeless.text, AllOf(HasSubstr("neither XDG_DATA_HOME nor HOME is set to a folder"),
                                   HasSubstr("hint: set XDG_DATA_HOME")));
}

}  // namespace
}  // namespace smelt::pjrt
