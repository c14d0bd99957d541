#include "checkpoint/interop/t5_names.h"

#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/plural.h"
#include "base/str.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kWords = "shared/embedding", *kLogits = "decoder/logits/kernel",
                     *kSlot = "_slot_", *kBlock = "/block_",
                     *kDistances = "relative_attention_bias";

class Names {
 public:
  explicit Names(const model::T5Config& config) : c_(config) {}

  std::vector<ParameterName> take() {
    plain(kWords, "shared.weight", {c_.vocab_size, c_.d_model});
    stack("encoder", c_.num_layers, false);
    stack("decoder", c_.decoder_layers(), true);
    if (!c_.tie_word_embeddings) turned(kLogits, "lm_head.weight", {c_.d_model, c_.vocab_size});
    return std::move(names_);
  }

 private:
  void plain(std::string original, std::string hugging_face, compiler::Dims dims) {
    names_.push_back({std::move(original),
                      std::move(hugging_face),
                      {compiler::DType::f32, std::move(dims)},
                      false});
  }
  void turned(std::string original, std::string hugging_face, compiler::Dims dims) {
    names_.push_back({std::move(original),
                      std::move(hugging_face),
                      {compiler::DType::f32, std::move(dims)},
                      true});
  }

  void attention(const std::string& original, const std::string& hugging_face) {
    const std::int64_t E = c_.d_model, ND = c_.num_heads * c_.d_kv;
    for (const char* name : {"q", "k", "v"})
      turned(str(original, "/", name), str(hugging_face, ".", name, ".weight"), {E, ND});
    turned(original + "/o", hugging_face + ".o.weight", {ND, E});
  }

  void feed_forward(const std::string& original, const std::string& hugging_face) {
    const std::int64_t E = c_.d_model, F = c_.d_ff;
    for (const char* name : {"wi", "wi_0", "wi_1"})
      if (c_.is_gated() == (std::string(name) != "wi"))
        turned(str(original, "/", name, "/kernel"), str(hugging_face, ".", name, ".weight"),
               {E, F});
    turned(original + "/wo/kernel", hugging_face + ".wo.weight", {F, E});
  }

  void stack(const std::string& name, std::int64_t layers, bool is_decoder) {
    turned(str(name, "/block_000/layer_000/SelfAttention/", kDistances),
           str(name, ".block.0.layer.0.SelfAttention.", kDistances, ".weight"),
           {c_.num_heads, c_.relative_attention_num_buckets});
    std::vector<std::string> parts{"SelfAttention", "DenseReluDense"};
    if (is_decoder) parts.insert(parts.begin() + 1, "EncDecAttention");
    for (std::int64_t i = 0; i < layers; ++i)
      for (std::size_t p = 0; p < parts.size(); ++p) {
        const std::string original = str(name, "/block_", i, "/layer_00", p);
        const std::string other = str(name, ".block.", i, ".layer.", p);
        plain(original + "/layer_norm/scale", other + ".layer_norm.weight", {c_.d_model});
        if (p + 1 == parts.size())
          feed_forward(str(original, "/", parts[p]), str(other, ".", parts[p]));
        else
          attention(str(original, "/", parts[p]), str(other, ".", parts[p]));
      }
    plain(name + "/final_layer_norm/scale", name + ".final_layer_norm.weight", {c_.d_model});
  }

  const model::T5Config& c_;
  std::vector<ParameterName> names_;
};

void replace(std::string& name, std::string_view from, std::string_view to) {
  if (const auto at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
}

// Returns the name with the number after "/block_" padded to `width` digits.
std::string with_block_number(const std::string& name, int width) {
  const auto at = name.find(kBlock);
  if (at == name.npos || name.find(kDistances) != name.npos) return name;
  const std::size_t begin = at + std::string_view(kBlock).size();
  char* end = nullptr;
  const long number = std::strtol(name.c_str() + begin, &end, 10);
  char digits[24];
  std::snprintf(digits, sizeof digits, "%0*ld", width, number);
  return str(name.substr(0, begin), digits, end);
}

std::string our_name(std::string name) {
  const bool is_decoder = name.starts_with("decoder/");
  for (const auto& [scope, number] :
       {std::pair{"/self_attention/", "/layer_000/"},
        {"/enc_dec_attention/", "/layer_001/"},
        {"/dense_relu_dense/", is_decoder ? "/layer_002/" : "/layer_001/"}})
    replace(name, scope, number);
  replace(name, "/rms_norm/",
          name.find(kBlock) == name.npos ? "/final_layer_norm/" : "/layer_norm/");
  return with_block_number(name, 1);
}

std::int64_t layers_of(const io::LazyTensors& tensors, const std::string& stack) {
  std::int64_t layers = 0;
  while (tensors.contains(str(stack, kBlock, layers, "/layer_000/layer_norm/scale"))) ++layers;
  return layers;
}

}  // namespace

std::vector<ParameterName> t5_names(const model::T5Config& config) { return Names(config).take(); }

io::LazyTensors from_original_t5(io::LazyTensors tensors, std::vector<std::string>& skipped) {
  if (!tensors.contains(kWords)) return tensors;
  io::LazyTensors out;
  std::size_t slots = 0;
  for (auto& [name, tensor] : tensors)
    if (name.find(kSlot) == name.npos)
      out.emplace(our_name(name), std::move(tensor));
    else
      ++slots;
  if (slots > 0) skipped.push_back(str(counted(slots, "slot"), " of Adafactor"));
  return out;
}

io::LazyTensors to_original_t5(io::LazyTensors tensors) {
  if (!tensors.contains(kWords)) return tensors;
  io::LazyTensors out;
  for (auto& [name, tensor] : tensors) out.emplace(with_block_number(name, 3), std::move(tensor));
  return out;
}

std::optional<model::T5Config> t5_config_of(const io::LazyTensors& parameters) {
  const std::string feed_forward = "encoder/block_0/layer_001/DenseReluDense/";
  std::vector<compiler::Dims> found;
  for (const std::string& name :
       {std::string(kWords), str("encoder/block_000/layer_000/SelfAttention/", kDistances),
        std::string("encoder/block_0/layer_000/SelfAttention/q"), feed_forward + "wo/kernel"}) {
    const auto at = parameters.find(name);
    if (at == parameters.end() || at->second.shape.rank() != 2) return std::nullopt;
    found.push_back(at->second.shape.dims);
  }
  const compiler::Dims &words = found[0], &distances = found[1], &query = found[2],
                       &output = found[3];
  if (distances[0] < 1) return std::nullopt;
  model::T5Config c;
  c.vocab_size = words[0];
  c.d_model = words[1];
  c.num_heads = distances[0];
  c.relative_attention_num_buckets = distances[1];
  c.d_kv = query[1] / c.num_heads;
  if (parameters.contains(feed_forward + "wi_0/kernel")) c.feed_forward_proj = "gated-gelu";
  c.d_ff = output[0];
  c.num_layers = layers_of(parameters, "encoder");
  c.num_decoder_layers = layers_of(parameters, "decoder");
  if (c.num_decoder_layers == c.num_layers) c.num_decoder_layers = 0;
  c.tie_word_embeddings = !parameters.contains(kLogits);
  return c;
}

}  // namespace smelt::checkpoint
