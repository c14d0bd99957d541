#include "runs/state_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "checkpoint/storage/checkpoint.h"

namespace smelt {
namespace {

double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> differences;
  for (std::size_t i = 0; i < b.size(); ++i) differences.push_back(a[i] - b[i]);
  return norm_of(differences);
}

}  // namespace

StateValues values_of(const execution::ModelState& state) {
  StateValues values;
  const execution::HostState host = state.download();
  checkpoint::Scratch scratch;
  for (const auto& [name, tensor] : host.tensors)
    values[name] = io::tensor_values<float>(checkpoint::whole(tensor, scratch));
  return values;
}

std::string stored_values(const std::string& model_dir, std::int64_t step) {
  std::string all;
  for (const auto& [name, tensor] : checkpoint::load_checkpoint(model_dir, step).tensors)
    all +=
        name + std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return all;
}

void expect_same_state(const StateValues& got, const StateValues& want, double limit) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, values] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    ASSERT_EQ(got.at(name).size(), values.size()) << name;
    if (name.find("/key/bias") != std::string::npos) continue;
    const double of_this = name.ends_with("_v") ? 2 * limit : limit;
    double scale = norm_of(values);
    // If both classes are equally frequent, this bias's gradient is a sum that cancels to rounding
    // errors. The scale of the difference is therefore taken from the weights next to the bias,
    // whose terms have the same magnitude.
    const std::string bias = "cls/seq_relationship/output_bias/";
    if (name.starts_with(bias)) {
      const auto& weights =
          want.at("cls/seq_relationship/output_weights/" + name.substr(bias.size()));
      const auto share = static_cast<double>(values.size()) / static_cast<double>(weights.size());
      scale = std::max(scale, norm_of(weights) * std::sqrt(share));
    }
    EXPECT_LE(norm_of_difference(got.at(name), values), of_this * scale) << name;
  }
}

}  // namespace smelt
