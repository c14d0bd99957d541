#include "compress/folder_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/filesystem/file.h"
#include "pipeline/objectives/pretrained_model.h"
#include "runs/golden_t5.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::compress {
namespace {

std::vector<text::TextPairIds> golden_texts(const GoldenClassify& golden) {
  const data::Batch batch = golden.batch();
  const auto rows = static_cast<std::size_t>(batch.rows);
  std::vector<text::TextPairIds> out(rows);
  const auto at = [&](std::size_t feature, std::size_t i) {
    return batch.arrays[feature].values<std::int32_t>()[i];
  };
  const std::size_t S = batch.arrays[0].values<std::int32_t>().size() / rows;
  for (std::size_t i = 0; i < rows * S; ++i) {
    text::TextPairIds& text = out[i / S];
    if (at(1, i) == 0) continue;
    text.ids.push_back(at(0, i));
    if (at(2, i) == 0) text.first = text.ids.size();
  }
  return out;
}

}  // namespace

void write_golden_folder(const std::string& name, bool is_t5, const TempDir& dir) {
  if (is_t5)
    GoldenT5(name).write_folder(dir.file("hf"));
  else
    GoldenClassify(name).write_folder(dir.file("hf"));
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 24; ++i)
    rows += is_t5
                ? str("a bad ", i % 2 == 0 ? "cab" : "ebb", "\t", i % 3 == 0 ? "bed" : "dab", "\n")
                : str("w", 8 + i % 20, i % 4 == 0 ? "" : " cat", "\t",
                      std::string("abc")[static_cast<std::size_t>(i % 3)], "\n");
  io::write_file(dir.file("rows.tsv"), rows);
}

std::vector<std::vector<float>> scores_of_folder(const GoldenClassify& golden,
                                                 const std::string& folder) {
  pipeline::LoadOptions flags;
  flags.precision = "f32_exact";
  return pipeline::PretrainedModel::of_folder(folder, flags)
      .classifier()
      .classify(golden_texts(golden));
}

std::vector<float> logits_by(const std::string& tool, const GoldenClassify& golden,
                             const std::string& folder) {
  io::TensorMap inputs;
  const data::Batch batch = golden.batch();
  for (const auto& [i, name] : {std::pair{0, "input_ids"}, {1, "input_mask"}, {2, "segment_ids"}})
    inputs[name] = {batch.arrays[static_cast<std::size_t>(i)].shape,
                    batch.arrays[static_cast<std::size_t>(i)].bytes};
  const TempDir dir;
  io::write_file(dir.file("in"), io::safetensors_bytes(inputs));
  const auto result = run_oracle(str(source_path("tools/"), tool, " ", folder, " --inputs ",
                                     dir.file("in"), " --outputs ", dir.file("out")));
  EXPECT_EQ(result.status, 0) << result.text;
  const io::SafetensorsFile out(io::read_file(dir.file("out")), "out");
  return io::tensor_values<float>(out.at("class_logits"));
}

double largest_difference(const std::vector<std::vector<float>>& scores,
                          const std::vector<float>& logits) {
  EXPECT_EQ(logits.size(), 3 * scores.size());
  double out = 0;
  // Differences of log p are differences of logits: the normalization cancels.
  for (std::size_t row = 0; row < scores.size(); ++row)
    for (std::size_t c = 1; c < 3; ++c)
      out = std::max(out, std::abs(std::log(static_cast<double>(scores[row][c]) / scores[row][0]) -
                                   (logits[3 * row + c] - logits[3 * row])));
  return out;
}

void expect_transformers_scores(const GoldenClassify& golden, const std::string& folder,
                                const std::vector<std::vector<float>>& scores) {
  EXPECT_LE(largest_difference(scores, logits_by("check_hf_folder.py", golden, folder)), 1e-5);
}

GoldenAnswers answers_of_folder(const std::string& folder) {
  execution::GenerateOptions with;
  with.search.most_tokens = 8;
  with.search.beams = 2;
  const std::vector<std::string> texts{"a bad cab", "a bed, a dab"};
  GoldenAnswers out;
  for (const auto& found : pipeline::PretrainedModel::of_folder(folder).generate(texts, with))
    out.emplace_back(found.at(0).ids, found.at(0).score);
  return out;
}

void expect_same_answers(const GoldenAnswers& is, const GoldenAnswers& was, double tolerance) {
  ASSERT_EQ(is.size(), was.size());
  for (std::size_t i = 0; i < is.size(); ++i) {
    EXPECT_EQ(is[i].first, was[i].first);
    EXPECT_NEAR(is[i].second, was[i].second, tolerance);
  }
}

}  // namespace smelt::compress
