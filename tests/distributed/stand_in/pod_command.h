// Runs commands of the real program in the processes of a pod, and in one process with as many
// devices for comparison.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/str.h"
#include "distributed/stand_in/pod_run.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::distributed {

class PodCommand : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("cpu"); }

  // Writes the recipe "r.yaml", which trains a tiny model on a small text. `type` is bert or
  // electra.
  void write_recipe(const std::string& type, int devices, int steps) const;
  std::string recipe() const { return dir_.file("r.yaml"); }
  // Returns the command line of smelt with these arguments, for a run over `processes` processes.
  static std::vector<std::string> smelt(const std::vector<std::string>& arguments, int processes);
  std::vector<std::string> run(const std::string& out, int processes,
                               std::vector<std::string> more = {}) const;
  void run_alone(const std::string& out, const std::string& more = "") const;
  // Expects that two folders contain the same files.
  void expect_same_files(const std::string& a, const std::string& b) const;
  // Waits until the process has printed the text. Returns false if it ends before.
  static bool waits_for(Pod& pod, int process, const std::string& text);
  static bool waits_for_file(Pod& pod, int process, const std::string& path);

  TempDir dir_;
};

}  // namespace smelt::distributed
