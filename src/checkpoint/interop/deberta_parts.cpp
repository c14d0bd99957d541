#include "checkpoint/interop/deberta_parts.h"

#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/lazy_files.h"
#include "model/models/deberta.h"
#include "model/nn/state_names.h"

namespace smelt::checkpoint {

bool is_pair_of_debertas(const io::LazyTensors& tensors) {
  return any_begins(tensors, str(model::kDebertaGenerator, "/")) && any_begins(tensors, "deberta/");
}

io::LazyTensors discriminator_words(const io::LazyTensors& tensors) {
  io::LazyTensors out;
  for (const std::string prefix : {"", model::kAveragePrefix}) {
    const auto shared = tensors.find(prefix + model::kGeneratorWords),
               delta = tensors.find(prefix + model::kWordsDelta);
    if (shared == tensors.end() || delta == tensors.end()) continue;
    io::LazyTensor sum{.shape = {compiler::DType::f32, shared->second.shape.dims}, .read = {}};
    sum.read = [words = as_dtype(shared->second, compiler::DType::f32),
                more = as_dtype(delta->second, compiler::DType::f32)] {
      std::vector<float> values = read_values<float>(words);
      const std::vector<float> added = read_values<float>(more);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += added[i];
      std::vector<std::byte> bytes(values.size() * sizeof(float));
      std::memcpy(bytes.data(), values.data(), bytes.size());
      return bytes;
    };
    out.emplace(prefix + "deberta/embeddings/word_embeddings", std::move(sum));
  }
  return out;
}

void add_discriminator_words(io::LazyTensors& tensors) {
  tensors.merge(discriminator_words(tensors));
}

StoredModel deberta_generator_of(const StoredModel& model) {
  const std::string own = str(model::kDebertaGenerator, "/"), head = own + "lm_head/";
  StoredModel out = model;
  out.tensors.clear();
  for (const auto& [name, tensor] : model.tensors)
    if (name.starts_with(own))
      out.tensors.emplace(
          name.starts_with(head) ? name.substr(own.size()) : "deberta/" + name.substr(own.size()),
          tensor);
  std::int64_t layers = 0;
  while (any_begins(out.tensors, str("deberta/encoder/layer_", layers, "/"))) ++layers;
  out.config["num_hidden_layers"] = layers;
  return out;
}

}  // namespace smelt::checkpoint
