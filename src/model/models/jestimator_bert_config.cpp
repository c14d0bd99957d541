#include "model/models/jestimator_bert_config.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"
#include "model/nn/layers.h"

namespace smelt::model {
namespace {

using Where = std::function<std::string(const std::string& field)>;

void check_word(const Where& where, const char* name, const std::string& value,
                const std::vector<std::string>& known) {
  if (std::ranges::find(known, value) == known.end())
    throw UsageError(str(where(name), ": ", name, " is '", value, "'"), did_you_mean(value, known));
}

void check_number(const Where& where, const char* name, double value, double limit,
                  const char* range, const char* hint) {
  if (!(value >= 0 && value < limit))
    throw UsageError(str(where(name), ": ", name, " is ", value, ", must be ", range), hint);
}

}  // namespace

void check_jestimator_bert_config(const JestimatorBertConfig& c, const Where& where) {
  check_word(where, "variant", c.variant, {"bert", "rope", "bert_rpe"});
  visit_fields(c, [&](const char* name, const auto& value, const char*) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>)
      if (value <= 0)
        throw UsageError(str(where(name), ": ", name, " is ", value, ", must be at least 1"),
                         str("set ", name));
  });
  if (c.hidden_size % c.num_heads != 0)
    throw UsageError(
        str(where("hidden_size"), ": hidden_size ", c.hidden_size,
            " is not a multiple of num_heads ", c.num_heads),
        "choose a number of heads that divides hidden_size, for example hidden_size / 64");
  if (c.is_rope() && c.hidden_size / c.num_heads % 2 != 0)
    throw UsageError(
        str(where("hidden_size"), ": hidden_size ", c.hidden_size, " over num_heads ", c.num_heads,
            " gives heads of size ", c.hidden_size / c.num_heads, ", must be even for rope"),
        "choose heads of even size");
  check_word(where, "mlp_act", c.mlp_act, activation_names());
  for (const auto& [name, rate] : {std::pair{"hidden_dropout_rate", c.hidden_dropout_rate},
                                   {"attention_dropout_rate", c.attention_dropout_rate}})
    check_number(where, name, rate, 1, "in [0, 1)", "0.1 is usual");
  for (const auto& [name, number] :
       {std::pair{"initializer_range", c.initializer_range}, {"layer_norm_eps", c.layer_norm_eps}})
    check_number(where, name, number, HUGE_VAL, "a finite number of at least 0",
                 "0.02 and 1e-12 are usual");
}

}  // namespace smelt::model
