// A recipe of a tiny BERT on a small text, for tests of stages.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::pipeline {

class SmallRecipe : public testing::Test {
 protected:
  void SetUp() override;
  // Writes documents of three sentences, one sentence per line.
  void write_text(int documents) const;
  // Returns a recipe with two steps and the output folder "m".
  Recipe recipe(const std::vector<std::string>& settings = {}) const;
  std::map<std::string, std::string> files(const std::string& folder) const;
  // Returns the number of log lines that contain the text.
  int said(const std::string& text) const;

  CapturedLog log_;
  TempDir dir_;
};

}  // namespace smelt::pipeline
