#include "model/models/t5_config.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt::model {

void check_t5_config(const T5Config& c,
                     const std::function<std::string(const std::string& field)>& where) {
  const auto require = [&](const char* field, bool fine, const auto& value, const char* range,
                           const char* hint) {
    if (!fine)
      throw UsageError(str(where(field), ": ", field, " is ", value, ", must be ", range), hint);
  };
  visit_fields(c, [&](const char* name, const auto& value, const char*) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) {
      const std::int64_t minimum = &value == &c.num_decoder_layers ? 0 : 1;
      require(name, value >= minimum, value, minimum == 0 ? "at least 0" : "at least 1",
              "the defaults are those of T5-small");
    }
  });
  require("relative_attention_num_buckets", c.relative_attention_num_buckets % 4 == 0,
          c.relative_attention_num_buckets, "a multiple of 4", "T5 uses 32");
  require("relative_attention_max_distance",
          c.relative_attention_max_distance > c.relative_attention_num_buckets / 2,
          c.relative_attention_max_distance, "more than half the buckets", "T5 uses 128");
  require("dropout_rate", c.dropout_rate >= 0 && c.dropout_rate < 1, c.dropout_rate, "in [0, 1)",
          "T5 uses 0.1");
  for (const auto& [name, number] : {std::pair{"layer_norm_epsilon", c.layer_norm_epsilon},
                                     {"initializer_factor", c.initializer_factor}})
    require(name, number >= 0 && std::isfinite(number), number, "a finite number of at least 0",
            "T5 uses 1e-6 and 1");
  const std::vector<std::string> known{"relu", "gated-gelu"};
  if (std::ranges::find(known, c.feed_forward_proj) == known.end())
    throw UsageError(
        str(where("feed_forward_proj"), ": feed_forward_proj is '", c.feed_forward_proj, "'"),
        did_you_mean(c.feed_forward_proj, known));
}

}  // namespace smelt::model
