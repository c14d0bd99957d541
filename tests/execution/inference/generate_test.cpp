// Batched text generation with a model that returns the ids it is given.
#include "execution/inference/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::execution {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Ids = std::vector<std::int32_t>;

GenerateJob echo(std::int64_t tokens) {
  GenerateJob job;
  job.search.most_tokens = tokens;
  job.answers = [](std::int64_t S, const model::Search& search) {
    model::Prediction out;
    out.features = {{.name = "inputs", .row = {S}}};
    out.outputs = [T = search.most_tokens](const model::Scope& root, const model::Inputs& in) {
      const compiler::Tensor ids = compiler::slice_axis(in["inputs"], 1, 0, T);
      return std::vector{
          compiler::reshape(ids, {ids.dim(0), 1, T}),
          compiler::constant(root.graph(), -1, compiler::DType::f32, {ids.dim(0), 1})};
    };
    return out;
  };
  job.decode = [](std::span<const std::int32_t> ids) {
    std::string out;
    for (const std::int32_t id : ids) out += str(id, " ");
    return out;
  };
  job.bytes = [](auto...) { return 0.0; };
  job.hint = "lower nothing";
  return job;
}

const std::vector<Ids> kFive{{5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}};

TEST(Generator, OmitsPaddingTokensWithinAnAnswer) {
  SMELT_OPEN_CPU(client, 1);
  Generator generator(client, echo(6), {}, "echo");
  const auto said =
      generator.answer(std::vector<Ids>{{5, 0, 7, 1, 9}, {5, 0, 7}, {5, 6, 7, 8, 9, 2, 3}});
  EXPECT_EQ(said[0].front().text, "5 7 ");
  EXPECT_THAT(said[0].front().ids, ElementsAre(5, 0, 7, 1));
  EXPECT_EQ(said[1].front().text, "5 7 ");
  EXPECT_THAT(said[1].front().ids, ElementsAre(5, 0, 7));
  EXPECT_THAT(said[2].front().ids, ElementsAre(5, 6, 7, 8, 9, 2));
}

TEST(Generator, UsesSmallerBatchesIfHostMemoryIsShort) {
  SMELT_OPEN_CPU(client, 1);
  const CapturedLog log;
  GenerateJob job = echo(2);
  std::int64_t most_rows = 0;
  job.bytes = [](std::int64_t rows, auto...) { return rows > 2 ? 1e18 : 0; };
  job.answers = [&, answers = job.answers](std::int64_t S, const model::Search& search) {
    model::Prediction out = answers(S, search);
    out.outputs = [&, outputs = out.outputs](const model::Scope& root, const model::Inputs& in) {
      most_rows = std::max(most_rows, in["inputs"].dim(0));
      return outputs(root, in);
    };
    return out;
  };
  Generator generator(client, job, {}, "echo");
  const auto said = generator.answer(kFive);
  ASSERT_EQ(said.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(said[i].front().ids, kFive[i]);
  EXPECT_EQ(most_rows, 2);
  EXPECT_THAT(log.text(), HasSubstr("generate: batches of 2 texts, because 5 do not fit"));
}

TEST(Generator, RejectsAnInputThatDoesNotFitIntoMemory) {
  SMELT_OPEN_CPU(client, 1);
  GenerateJob job = echo(2);
  job.bytes = [](std::int64_t rows, auto...) { return rows > 0 ? 1e18 : 0; };
  EXPECT_THAT(
      error_of<UsageError>([&] { Generator(client, job, {}, "echo").answer(kFive); }),
      testing::AllOf(HasSubstr("generate: 1 text of 16 tokens with answers of 2 take about "),
                     HasSubstr("hint: lower nothing")));
  // The memory of other devices is unknown, but what all rows share must fit into host memory.
  job.device = "tpu";
  EXPECT_EQ(Generator(client, job, {}, "echo").answer(kFive).size(), 5u);
  job.bytes = [](auto...) { return 1e18; };
  EXPECT_THAT(error_of<UsageError>([&] { Generator(client, job, {}, "echo").answer(kFive); }),
              HasSubstr("answers of 2 take about "));
}

}  // namespace
}  // namespace smelt::execution
