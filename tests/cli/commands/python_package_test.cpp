// The Python package smelt_lm, with the program and the library of this build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/inference_folders.h"
#include "support/bert_records.h"
#include "support/command.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

// Runs the unit tests that the name selects: a module of tests/python, or a class or test in it.
void expect_tests_pass(const std::string& name) {
  REQUIRE_PLUGIN("cpu");
  REQUIRE_ORACLE();
  const TempDir dir;
  write_inference_folders(dir.path());
  write_test_examples(dir.file("a-0.tfrecord"), 0, 7);
  write_test_examples(dir.file("a-1.tfrecord"), 7, 6);
  const CommandOutput output =
      run_command(str("cd ", source_path("tests/python"), " && SMELT=", smelt_program(),
                      " SMELT_TEST_DATA=", dir.path(), " PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=",
                      source_path("python"), " ", oracle_python(), " -m unittest -q ", name));
  EXPECT_EQ(output.status, 0) << output.text;
}

TEST(PythonPackage, Tokenizer) { expect_tests_pass("test_tokenizer"); }
TEST(PythonPackage, Batches) { expect_tests_pass("test_batches"); }
TEST(PythonPackage, Model) { expect_tests_pass("test_model"); }
TEST(PythonPackage, Leaks) { expect_tests_pass("test_leaks.Tokenizers"); }
TEST(PythonPackage, LeaksOfModels) { expect_tests_pass("test_leaks.Models"); }
TEST(PythonPackage, Run) { expect_tests_pass("test_run.Runs"); }
TEST(PythonPackage, StoppedRun) { expect_tests_pass("test_run.Stops"); }
TEST(PythonPackage, Loggers) { expect_tests_pass("test_run.Loggers"); }
TEST(PythonPackage, Hub) { expect_tests_pass("test_hub"); }
TEST(PythonPackage, Package) { expect_tests_pass("test_package"); }

}  // namespace
}  // namespace smelt::cli
