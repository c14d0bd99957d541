// smelt bench and smelt compile: measurements, emitted programs, and rejected arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BenchTest : public testing::Test {
 protected:
  static CommandOutput run(const std::string& arguments) { return run_smelt(arguments); }
  void expect_refused(const std::string& arguments, const testing::Matcher<std::string>& message) {
    const CommandOutput output = run(str(arguments, " --emit ", dir_.file("refused.mlir")));
    EXPECT_EQ(output.status, 2) << output.text;
    EXPECT_THAT(output.text, message) << arguments;
    EXPECT_FALSE(std::filesystem::exists(dir_.file("refused.mlir")));
  }
  // Emits the training step of a small model and returns its StableHLO text.
  std::string emitted(const std::string& more, const std::string& model = "tiny") const {
    const std::string path = dir_.file("step.mlir");
    const CommandOutput output = run(str(
        "bench --model ", model, " --seq 16 --predictions 2 --batch 8 ", more, " --emit ", path));
    EXPECT_EQ(output.status, 0) << output.text;
    EXPECT_EQ(output.text, "");
    return io::read_file(path);
  }
  TempDir dir_;
};

TEST_F(BenchTest, PacksExamplesOfGivenLengths) {
  REQUIRE_PLUGIN("cpu");
  const std::string lengths = dir_.file("lengths.txt");
  io::write_file(lengths, "3\n8\n5\n");
  const std::string shape =
      "bench --model tiny --depth 1 --seq 16 --predictions 2 --batch 8 --steps 1 ";
  const Json padded = Json::parse(run(str(shape, "--lengths ", lengths)).text);
  const Json packed = Json::parse(run(str(shape, "--lengths ", lengths, " --packing")).text);
  EXPECT_NEAR(packed["loss"].get<double>(), padded["loss"].get<double>(), 1e-4);
  EXPECT_FALSE(padded.contains("packed_rows"));
  EXPECT_THAT(packed["packed_rows"].get<int>(), AllOf(testing::Ge(3), testing::Le(4)));
  EXPECT_EQ(packed["fitting_batches"].get<double>(), 1);
  io::write_file(lengths, "3\n17\n");
  expect_refused(str(shape, "--lengths ", lengths),
                 HasSubstr(str("bench: --lengths ", lengths,
                               ": line 2 is '17', expected a number "
                               "from 1 to --seq 16\n  hint: write one number of tokens per line")));
  io::write_file(lengths, "");
  expect_refused(str(shape, "--lengths ", lengths), HasSubstr("is empty"));
  io::write_file(lengths, "3\n");
  expect_refused(str("bench --model t5-small --lengths ", lengths),
                 HasSubstr("bench: --lengths: the lengths of t5 examples cannot be set"));
}

TEST_F(BenchTest, EmittedStepFollowsTheFlags) {
  const std::string cpu = emitted("--device cpu"), tpu = emitted("--device tpu --devices 4");
  EXPECT_THAT(cpu, AllOf(HasSubstr("module @step"), Not(HasSubstr("stablehlo.while")),
                         Not(HasSubstr("bf16"))));
  EXPECT_THAT(tpu, AllOf(HasSubstr("mhlo.num_partitions = 4"), HasSubstr("stablehlo.while"),
                         HasSubstr("tensor<2x128x128xf32>")));
  EXPECT_THAT(emitted("--device tpu --layers unrolled"), Not(HasSubstr("stablehlo.while")));
  EXPECT_THAT(emitted("--device cpu --precision bf16"), HasSubstr("xbf16>"));
  EXPECT_THAT(tpu, AllOf(HasSubstr("precision DEFAULT"), Not(HasSubstr("precision HIGHEST"))));
  EXPECT_THAT(emitted("--device tpu --precision f32_exact"),
              AllOf(HasSubstr("precision HIGHEST"), Not(HasSubstr("precision DEFAULT"))));
  EXPECT_NE(emitted("--device tpu --save layer"), emitted("--device tpu --save products"));
  EXPECT_EQ(emitted("--device tpu --save products"), emitted("--device tpu"));
  EXPECT_THAT(emitted("--device tpu"), HasSubstr("<8x2x16x16xf32>"));  // attention scores
  EXPECT_THAT(emitted("--device tpu --attention-rows 4"),
              AllOf(HasSubstr("<8x2x4x16xf32>"), Not(HasSubstr("<8x2x16x16xf32>"))));
  EXPECT_THAT(emitted("--device tpu"), HasSubstr("stablehlo.shift_right_logical"));
  EXPECT_THAT(emitted("--device tpu --dropout 0"), Not(HasSubstr("stablehlo.shift_right_logical")));
}

TEST_F(BenchTest, LogitsAreComputedInBlocksOfTheConfiguredSize) {
  const auto jestimator = [&](const std::string& more) {
    return emitted("--depth 1 --device tpu " + more, "jestimator-base");
  };
  const std::string all = "tensor<128x32000xf32>", block = "tensor<128x8000xf32>";  // 16, 4 MB
  EXPECT_THAT(jestimator(""), HasSubstr(all));
  EXPECT_THAT(jestimator("--logits-mb 4"), AllOf(HasSubstr(block), Not(HasSubstr(all))));
  EXPECT_EQ(jestimator("--logits-mb 0"), jestimator(""));
  EXPECT_EQ(jestimator("--logits-mb 4 --devices 4"), jestimator("--logits-mb 0 --devices 4"));
}

TEST_F(BenchTest, ReportsMemoryFiguresIfAProgramIsTooLargeForATpu) {
  REQUIRE_PLUGIN("tpu");
  const std::string path = dir_.file("large.mlir");
  run(str("bench --model large --depth 1 --device tpu --layers unrolled --batch 1024 --seq 512 ",
          "--emit ", path));
  const CommandOutput output = run(str("compile ", path, " --topology v5e:1x1"));
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.text,
              AllOf(HasSubstr("large.mlir on v5e:1x1 does not fit into the memory of a device: "),
                    HasSubstr("the total memory required"), HasSubstr("available HBM (15.75G)"),
                    HasSubstr("hint: set --save to layer (with --layers scan) or raise "
                              "--micro-batches; ")));
}

TEST_F(BenchTest, CompilesEmittedStepsForTpus) {
  REQUIRE_PLUGIN("tpu");
  emitted("--depth 1 --device tpu --devices 4");
  const CommandOutput output = run(str("compile ", dir_.file("step.mlir"),
                                       " --json --topology v5e:2x2 2>", dir_.file("messages")));
  ASSERT_EQ(output.status, 0) << output.text << io::read_file(dir_.file("messages"));
  const auto figures = Json::parse(output.text);
  EXPECT_EQ(figures["topology"], "v5e:2x2");
  EXPECT_EQ(figures["device_kind"], "TPU v5 lite");
  EXPECT_EQ(figures["devices"], 4);
  for (const char* name : {"compile_s", "flops", "bytes_accessed", "argument_bytes", "output_bytes",
                           "alias_bytes", "temporary_bytes", "code_bytes", "peak_bytes"})
    EXPECT_GT(figures.at(name).get<double>(), 0) << name;
  io::write_file(dir_.file("small.mlir"),
                 "module @small attributes {mhlo.num_partitions = 4 : i32} {\n"
                 "  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                 "    %y = stablehlo.add %x, %x : tensor<8xf32>\n"
                 "    return %y : tensor<8xf32>\n  }\n}\n");
  EXPECT_THAT(run(str("compile ", dir_.file("small.mlir"), " --topology v5e:2x2")).text,
              AllOf(HasSubstr("for v5e:2x2: 4 devices, each a TPU v5 lite\nfits      yes, "),
                    HasSubstr(" at the peak of a device's 17.2 GB"), HasSubstr("\ncompiled  in ")));
}

TEST_F(BenchTest, TimesAStepOnTheCpu) {
  REQUIRE_PLUGIN("cpu");
  const CommandOutput output = run(
      str("bench --model tiny --depth 1 --seq 16 --predictions 2 --batch 2 --steps 2 --layers scan "
          "--save layer --precision bf16 2>",
          dir_.file("messages")));
  ASSERT_EQ(output.status, 0) << output.text;
  const auto figures = Json::parse(output.text);
  for (const char* name : {"build_s", "compile_s", "start_to_first_step_s", "step_s_min",
                           "step_cpu_s_min", "step_s_median", "sequences_per_s"})
    EXPECT_GT(figures.at(name).get<double>(), 0) << name;
  EXPECT_NEAR(figures.at("loss").get<double>(), std::log(30522) + std::log(2), 0.5);
}

TEST_F(BenchTest, TimesOptimizerUpdates) {
  REQUIRE_PLUGIN("cpu");
  const CommandOutput output =
      run(str("bench --model tiny --depth 1 --updates amos,bert_adamw --steps 2 2>",
              dir_.file("messages")));
  ASSERT_EQ(output.status, 0) << output.text;
  const auto figures = Json::parse(output.text);
  for (const char* optimizer : {"amos", "bert_adamw"})
    for (const char* name : {"update_s_min", "update_s_median", "update_cpu_s_min"})
      EXPECT_GT(figures.at(optimizer).at(name).get<double>(), 0) << optimizer << " " << name;
  EXPECT_LT(figures["amos"]["slots"], 0.51 * figures["bert_adamw"]["slots"].get<double>());
  EXPECT_NE(emitted("--optimizer amos"), emitted("--optimizer bert_adamw"));
}

TEST_F(BenchTest, RejectsInvalidFlags) {
  expect_refused("bench --devices 0", HasSubstr("--devices: 0 is less than 1"));
  expect_refused("bench --batch 0", HasSubstr("--batch: 0 is less than 1"));
  expect_refused("bench --depth 0", HasSubstr("--depth: 0 is less than 1"));
  for (const char* rate : {"1", "nan", "-0.1"})
    expect_refused(str("bench --dropout ", rate),
                   HasSubstr(str("--dropout ", rate, " is not between 0 and 0.99")));
  expect_refused("bench --model huge",
                 HasSubstr("--model: 'huge' is neither a file nor one of electra-small"));
  expect_refused("bench --optimizer adam", HasSubstr("--optimizer: adam not in {"));
  expect_refused("bench --updates amos,adam", HasSubstr("--updates: adam not in {"));
  for (const char* of_a_step : {"--mesh data=2", "--optimizer amos", "--emit step.mlir"}) {
    const CommandOutput output = run(str("bench --updates lamb ", of_a_step));
    EXPECT_NE(output.status, 0);
    EXPECT_THAT(output.text,
                AllOf(HasSubstr("excludes"), HasSubstr("--updates"), HasSubstr("hint: ")));
  }
  EXPECT_THAT(run("bench --emit ''").text, HasSubstr("--emit: is empty"));
  expect_refused("bench --seq 8", HasSubstr("--predictions 20 of --seq 8: must not exceed --seq"));
  expect_refused("bench --batch 10000000000", HasSubstr("--batch: 10000000000 is more than"));
  // Rejected before any device is opened.
  EXPECT_THAT(run("bench --batch 2 --devices 1000000").text,
              HasSubstr("a batch of 2 examples does not divide over 1000000 devices"));
  expect_refused("bench --batch 6 --devices 4",
                 HasSubstr("a batch of 6 examples does not divide over 4 devices"));
  expect_refused("bench --seq 1000",
                 HasSubstr("sequence length 1000 is longer than max_position_embeddings 512"));
  expect_refused("bench --precision b16", AllOf(HasSubstr("--precision 'b16' is unknown"),
                                                HasSubstr("did you mean 'bf16'?")));
  expect_refused("bench --layers unroled", AllOf(HasSubstr("--layers 'unroled' is unknown"),
                                                 HasSubstr("did you mean 'unrolled'?")));
  expect_refused("bench --save layers", AllOf(HasSubstr("--save 'layers' is unknown"),
                                              HasSubstr("did you mean 'layer'?")));
  expect_refused("bench --device cpu --layers unrolled --save layer",
                 AllOf(HasSubstr("--save 'layer' with --layers 'unrolled'"),
                       HasSubstr("hint: set --layers to scan")));
}

TEST_F(BenchTest, CompileReportsInvalidArgumentsAndPrograms) {
  const auto refusal = [&](const std::string& arguments) {
    const CommandOutput output = run("compile " + arguments);
    EXPECT_NE(output.status, 0);
    return output.text;
  };
  const std::string program = dir_.file("p.mlir");
  io::write_file(program, "module @broken {");
  EXPECT_THAT(refusal(program), HasSubstr("--topology is required"));
  EXPECT_THAT(refusal("--topology v5e:2x2"), HasSubstr("program is required"));
  EXPECT_THAT(refusal(program + " --topology ''"), HasSubstr("--topology: is empty"));
  EXPECT_THAT(refusal(dir_.file("none.mlir") + " --topology v5e:2x2"),
              HasSubstr("none.mlir: No such file"));
  REQUIRE_PLUGIN("tpu");
  EXPECT_THAT(
      refusal(program + " --topology v99:2x2"),
      AllOf(HasSubstr("--topology v99:2x2: "), HasSubstr("hint: use libtpu's name of the slice")));
  for (const char* name :
       {"v5e:0x2", "v5e:16x32", "v5e:8x16x2", "v2:2x2x2", "v5e"})  // libtpu would end the process
    EXPECT_THAT(refusal(str(program, " --topology '", name, "'")),
                HasSubstr(str("--topology '", name, "' is not a TPU slice")));
  EXPECT_THAT(refusal(program + " --topology v5e:2x2"),
              AllOf(HasSubstr("p.mlir: PJRT_Compile: "), HasSubstr("expected operation name"),
                    HasSubstr("hint: use a file of StableHLO text")));
}

}  // namespace
}  // namespace smelt::cli
