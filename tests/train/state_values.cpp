#include "train/state_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

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

StateValues values_of(const ModelState& state) {
  StateValues values;
  const HostState host = state.download();
  Room room;
  for (const auto& [name, tensor] : host.tensors)
    values[name] = tensor_values<float>(whole(tensor, room));
  return values;
}

void expect_same_state(const StateValues& got, const StateValues& want, double limit) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, values] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    ASSERT_EQ(got.at(name).size(), values.size()) << name;
    if (name.find("/key/bias") != std::string::npos) continue;
    const double of_this = name.ends_with("_v") ? 2 * limit : limit;
    // Where both classes are as often, this bias' gradient is a sum that cancels to its rounding:
    // as close as that of the weights beside it, whose terms are of one size with its own.
    const std::string bias = "cls/seq_relationship/output_bias/";
    const bool cancels = name.starts_with(bias);
    const auto& scale =
        cancels ? want.at("cls/seq_relationship/output_weights/" + name.substr(bias.size()))
                : values;
    EXPECT_LE(norm_of_difference(got.at(name), values),
              of_this * norm_of(scale) * std::sqrt(double(values.size()) / double(scale.size())))
        << name;
  }
}

}  // namespace smelt
