#include "model/models/electra_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/nearest_name.h"

namespace smelt::model {
namespace {

struct ElectraSize {
  std::string_view name;
  std::int64_t embedding, hidden, layers;
  double generator;  // relative to the discriminator (Table 6 of Clark et al. 2020)
};

constexpr std::array kSizes{ElectraSize{"small", 128, 256, 12, 0.25},
                            ElectraSize{"base", 0, 768, 12, 0.33333},
                            ElectraSize{"large", 0, 1024, 24, 0.25}};

const ElectraSize& size_of(const ElectraConfig& c) {
  const auto found = std::ranges::find(kSizes, c.size, &ElectraSize::name);
  CHECK(found != kSizes.end(), c.size);
  return *found;
}

std::int64_t given_or(std::int64_t given, std::int64_t otherwise) {
  return given == 0 ? otherwise : given;
}

// Rounds half to even, like Python.
std::int64_t scaled_size(std::int64_t whole, double part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole) * part));
}

std::int64_t heads_of(std::int64_t hidden) { return std::max<std::int64_t>(1, hidden / 64); }

double generator_width_ratio(const ElectraConfig& c) {
  return c.generator_hidden_size == 0 ? size_of(c).generator : c.generator_hidden_size;
}

using Where = std::function<std::string(const std::string& field)>;

void check_size(const ElectraConfig& c, const Where& where) {
  std::vector<std::string> names;
  for (const ElectraSize& size : kSizes) names.emplace_back(size.name);
  if (std::ranges::find(names, c.size) == names.end())
    throw UsageError(str(where("size"), ": size is '", c.size, "'"), did_you_mean(c.size, names));
  if (c.embedding_size < 0)
    throw UsageError(str(where("embedding_size"), ": embedding_size is ", c.embedding_size,
                         ", must be at least 0"),
                     "use 0 for the default of the size");
}

void check_generator(const ElectraConfig& c, const Where& where) {
  for (const auto& [name, part] : {std::pair{"generator_layers", c.generator_layers},
                                   {"generator_hidden_size", generator_width_ratio(c)}})
    if (!(part > 0 && part <= 16))
      throw UsageError(str(where(name), ": ", name, " is ", part, ", must be above 0, at most 16"),
                       str("set ", name, " to a fraction of the discriminator, for example 0.25"));
  const std::int64_t own = generator_config(c).hidden_size,
                     other = discriminator_config(c).hidden_size;
  if (!c.untied_generator_embeddings && own > other)
    throw UsageError(
        str(where("generator_hidden_size"), ": the generator's hidden size ", own,
            " is larger than the discriminator's ", other, ", whose embeddings it shares"),
        "set generator_hidden_size, a fraction of the discriminator's hidden size, to at most 1, "
        "or "
        "untied_generator_embeddings to true");
  check_bert_config(generator_config(c), [&](const std::string& field) {
    const bool width = field == "hidden_size" || field == "num_attention_heads";
    return str(where(width ? "generator_hidden_size" : "generator_layers"), ": the generator");
  });
}

}  // namespace

std::int64_t electra_embedding_size(const ElectraConfig& c) {
  const std::int64_t of_size = given_or(size_of(c).embedding, discriminator_config(c).hidden_size);
  return given_or(c.embedding_size, of_size);
}

BertConfig discriminator_config(const ElectraConfig& c) {
  const std::int64_t H = given_or(c.hidden_size, size_of(c).hidden);
  return {.vocab_size = c.vocab_size,
          .hidden_size = H,
          .num_hidden_layers = given_or(c.num_hidden_layers, size_of(c).layers),
          .num_attention_heads = given_or(c.num_attention_heads, heads_of(H)),
          .attention_head_size = c.attention_head_size,
          .intermediate_size = given_or(c.intermediate_size, 4 * H),
          .hidden_act = c.hidden_act,
          .hidden_dropout_prob = c.hidden_dropout_prob,
          .attention_probs_dropout_prob = c.attention_probs_dropout_prob,
          .max_position_embeddings = c.max_position_embeddings,
          .type_vocab_size = c.type_vocab_size,
          .initializer_range = c.initializer_range,
          .gelu = Gelu::erf};
}

BertConfig generator_config(const ElectraConfig& c) {
  BertConfig out = discriminator_config(c);
  if (!c.untied_generator) return out;
  out.hidden_size = scaled_size(out.hidden_size, generator_width_ratio(c));
  out.num_hidden_layers = scaled_size(out.num_hidden_layers, c.generator_layers);
  out.intermediate_size = 4 * out.hidden_size;
  out.num_attention_heads = heads_of(out.hidden_size);
  out.attention_head_size = 0;
  return out;
}

void check_electra_config(const ElectraConfig& c, const Where& where) {
  check_size(c, where);
  check_bert_config(discriminator_config(c), where);
  if (c.untied_generator) check_generator(c, where);
}

}  // namespace smelt::model
