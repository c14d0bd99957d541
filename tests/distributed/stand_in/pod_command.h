// Commands of the real program as the processes of a pod, against one process with as many devices.
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

  // A recipe of a tiny model on a small text, "r.yaml"; `type` is bert or electra.
  void write_recipe(const std::string& type, int devices, int steps) const;
  std::string recipe() const { return dir_.file("r.yaml"); }
  // smelt with these arguments, as one of so many.
  static std::vector<std::string> smelt(const std::vector<std::string>& arguments, int processes);
  std::vector<std::string> run(const std::string& out, int processes,
                               std::vector<std::string> more = {}) const;
  void run_alone(const std::string& out, const std::string& more = "") const;
  // All files of two folders, but for those that tell when something was.
  void expect_same_files(const std::string& a, const std::string& b) const;
  // Waits until a process has said so; false where it has ended without.
  static bool waits_for(Pod& pod, int process, const std::string& text);
  static bool waits_for_file(Pod& pod, int process, const std::string& path);

  TempDir dir_;
};

}  // namespace smelt::distributed
