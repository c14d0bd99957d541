// Compares the sums of the inputs of matmuls with direct computations from the rows' tokens.
#include "compress/input_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/str.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/folder_scores.h"
#include "compress/product_inputs.h"
#include "compress/prune_data.h"
#include "io/filesystem/file.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::compress {
namespace {

using testing::ElementsAre;

using Row = std::vector<double>;

class InputSumsOfRows : public testing::Test {
 protected:
  void write(const std::string& name, bool is_t5) {
    write_golden_folder(name, is_t5, dir_);
    source_ = open_source_folder(dir_.file("hf"));
  }
  // Texts and targets are padded to the same length, so that shapes do not reveal which of the two
  // padding masks was used.
  std::vector<InputSums> sums_of(const std::vector<std::string>& modules) const {
    PruneData data{.seq_length = 12, .target_length = 12, .batch_size = 8};
    data.rows.input = dir_.file("rows.tsv");
    std::vector<std::string> parameters;
    for (const std::string& module : modules) parameters.push_back(kernel_of(module));
    std::vector<InputSums> out;
    PruneRows(source_, data).each_input(parameters, [&](InputSums sums) {
      out.push_back(std::move(sums));
    });
    return out;
  }
  std::vector<float> values(const std::string& name) const {
    return checkpoint::read_values<float>(
        checkpoint::as_dtype(source_.tensors.at(name), compiler::DType::f32));
  }
  // Returns the rows of the table.
  std::vector<Row> table(const std::string& name) const {
    const std::vector<float> all = values(name);
    const auto columns = static_cast<std::size_t>(source_.tensors.at(name).shape.dims.at(1));
    std::vector<Row> out(all.size() / columns);
    for (std::size_t i = 0; i < all.size(); ++i) out[i / columns].push_back(all[i]);
    return out;
  }
  // Returns a column of rows.tsv, without the header.
  std::vector<std::string> column(std::size_t at) const {
    std::istringstream lines(io::read_file(dir_.file("rows.tsv")));
    std::vector<std::string> out;
    for (std::string line; std::getline(lines, line);) out.emplace_back(split(line, '\t').at(at));
    out.erase(out.begin());
    return out;
  }
  static void expect_sums(const InputSums& is, const std::vector<Row>& rows) {
    EXPECT_EQ(is.rows, rows.size());
    const std::size_t C = rows.front().size();
    Row sums(C * C);
    for (const Row& x : rows)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += x[i / C] * x[i % C];
    ASSERT_EQ(is.sums.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(is.sums[i], sums[i], 1e-5 * std::ranges::max(sums)) << i / C << " " << i % C;
  }
  SourceFolder source_;
  TempDir dir_;
};

double mean_square(const Row& x) {
  double out = 0;
  for (const double v : x) out += v * v / static_cast<double>(x.size());
  return out;
}

TEST_F(InputSumsOfRows, MatchADirectComputationForBert) {
  REQUIRE_PLUGIN("cpu");
  write("bert", false);
  const std::string scope = "bert.embeddings.";
  const auto words = table(scope + "word_embeddings.weight"),
             places = table(scope + "position_embeddings.weight"),
             kinds = table(scope + "token_type_embeddings.weight");
  const auto gamma = values(scope + "LayerNorm.weight"), beta = values(scope + "LayerNorm.bias");
  std::vector<Row> rows;
  for (const std::string& text : column(0)) {
    std::vector<std::size_t> ids{2};  // [CLS]
    for (const std::string_view word : split(text, ' '))
      ids.push_back(word == "cat" ? 5 : std::stoul(std::string(word.substr(1))));
    ids.push_back(3);  // [SEP]
    for (std::size_t at = 0; at < ids.size(); ++at) {
      Row x = words[ids[at]];
      double mean = 0;
      for (std::size_t c = 0; c < x.size(); ++c)
        mean += (x[c] += places[at][c] + kinds[0][c]) / static_cast<double>(x.size());
      for (double& v : x) v -= mean;
      const double deviation = std::sqrt(mean_square(x) + 1e-12);
      for (std::size_t c = 0; c < x.size(); ++c) x[c] = x[c] / deviation * gamma[c] + beta[c];
      rows.push_back(std::move(x));
    }
  }
  const std::string self = "bert.encoder.layer.0.attention.self.";
  const auto sums = sums_of({self + "query", self + "value"});
  ASSERT_EQ(sums.size(), 1);
  EXPECT_THAT(sums[0].parameters,
              ElementsAre(kernel_of(self + "query"), kernel_of(self + "value")));
  expect_sums(sums[0], rows);
}

TEST_F(InputSumsOfRows, MatchADirectComputationForBothStacksOfT5) {
  REQUIRE_PLUGIN("cpu");
  write("small", true);
  const std::string vocab = dir_.file("hf/spiece.model"), first = ".block.0.layer.0.";
  const auto tokenizer = text::load_tokenizer(vocab, {});
  const auto words = table("shared.weight");
  const auto normed = [&](std::int32_t id, const std::vector<float>& weight) {
    Row x = words[static_cast<std::size_t>(id)];
    const double size = std::sqrt(mean_square(x) + 1e-6);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] *= weight[c] / size;
    return x;
  };
  const auto rows_of = [&](const std::string& stack, std::size_t at) {
    const auto weight = values(stack + first + "layer_norm.weight");
    std::vector<Row> out;
    for (const std::string& text : column(at)) {
      std::vector<std::int32_t> ids;
      tokenizer->encode(text, ids);
      if (stack == "encoder")
        ids.push_back(text::id_of_piece(*tokenizer, vocab, "</s>"));
      else  // the decoder's input: shifted right, beginning with 0
        ids.insert(ids.begin(), 0);
      for (const std::int32_t id : ids) out.push_back(normed(id, weight));
    }
    return out;
  };
  const auto sums =
      sums_of({"encoder" + first + "SelfAttention.q", "decoder" + first + "SelfAttention.q",
               "decoder.block.0.layer.1.EncDecAttention.k"});
  ASSERT_EQ(sums.size(), 3);
  const std::vector<Row> of_encoder = rows_of("encoder", 0);
  expect_sums(sums[0], of_encoder);
  expect_sums(sums[1], rows_of("decoder", 1));
  EXPECT_NE(sums[1].rows, sums[0].rows);
  // Divided by the norm's weights, the outputs of a norm have a mean square of 1.
  const auto weight = values("encoder.final_layer_norm.weight");
  double squares = 0;
  for (std::size_t c = 0; c < weight.size(); ++c)
    squares += sums[2].sums[c * weight.size() + c] / (weight[c] * weight[c]);
  EXPECT_EQ(sums[2].rows, of_encoder.size());
  const auto numbers = static_cast<double>(of_encoder.size() * weight.size());
  EXPECT_NEAR(squares, numbers, 1e-4 * numbers);
}

}  // namespace
}  // namespace smelt::compress
