#include "compress/model_stats.h"

#include "base/error.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "compress/matrix_names.h"

namespace smelt::compress {
namespace {

bool is_table_of_words(const std::string& name) {
  return name == "shared.weight" || name.ends_with(".embed_tokens.weight") ||
         name.ends_with("_embeddings.weight");
}

bool has(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

// Returns whether the name is that of a query matrix [heads * head width, H].
bool is_query(const std::string& name) {
  return name.ends_with("attention.self.query.weight") || name.ends_with("Attention.q.weight");
}
// Returns whether it is DeBERTa's query matrix. Its scores have two more products with the 2L-1
// relative positions of L tokens.
bool is_disentangled_query(const std::string& name) {
  return name.ends_with(".attention.self.query_proj.weight");
}
// Returns whether it is a matrix of DeBERTa that applies to relative embeddings alone, whose cost
// does not depend on the tokens.
bool is_of_positions(const std::string& name) {
  return name.ends_with(".pos_key_proj.weight") || name.ends_with(".pos_query_proj.weight");
}
// Returns whether it is ModernBERT's matrix of queries, keys and values.
bool is_query_key_value(const std::string& name) { return name.ends_with(".attn.Wqkv.weight"); }

double of_encoder(const SourceFolder& model, double L) {
  const auto head = checkpoint::classifier_head(model.config, model.where);
  const bool of_texts = head && head->labels.problem != io::Problem::token_labels &&
                        head->labels.problem != io::Problem::answer_spans;
  double out = 0;
  for (const auto& [name, tensor] : model.tensors) {
    if (tensor.shape.rank() != 2 || is_table_of_words(name) || is_of_positions(name)) continue;
    const auto elements = static_cast<double>(tensor.shape.elements());
    const bool of_each = is_in_layer(name) || has(name, "embeddings_project") ||
                         has(name, "embed_proj") || !of_texts;
    out += elements * (of_each ? L : 1);
    const auto rows = static_cast<double>(tensor.shape.dims[0]);
    if (is_query(name)) out += 2 * L * L * rows;
    if (is_disentangled_query(name)) out += (2 * L * L + 2 * L * (2 * L - 1)) * rows;
    if (is_query_key_value(name)) out += 2 * L * L * rows / 3;
  }
  return out;
}

double of_t5(const SourceFolder& model, double L, double T) {
  double out = 0;
  for (const auto& [name, tensor] : model.tensors) {
    if (tensor.shape.rank() != 2 || has(name, "relative_attention_bias")) continue;
    const auto elements = static_cast<double>(tensor.shape.elements());
    const auto inner = static_cast<double>(tensor.shape.dims[0]);
    const bool encoder = name.starts_with("encoder.block.");
    if (encoder) out += elements * L + (is_query(name) ? 2 * L * L * inner : 0);
    if (!name.starts_with("decoder.block.")) continue;
    const bool across = has(name, "EncDecAttention");
    const bool of_inputs = across && (name.ends_with(".k.weight") || name.ends_with(".v.weight"));
    out += elements * (of_inputs ? L : T);
    // Causal self-attention: token i attends to i tokens, for scores and for weighted sums.
    if (is_query(name)) out += inner * (across ? 2 * T * L : T * (T + 1));
  }
  const char* const words =
      model.tensors.contains("lm_head.weight") ? "lm_head.weight" : "shared.weight";
  return out + static_cast<double>(model.tensors.at(words).shape.elements()) * T;
}

}  // namespace

ModelFacts facts_of(const SourceFolder& model) {
  ModelFacts out{.bytes = model.bytes, .steps = model.steps};
  const bool has_shared = model.tensors.contains("shared.weight");
  for (const auto& [name, tensor] : model.tensors) {
    if (has_shared && name.ends_with(".embed_tokens.weight")) continue;
    const auto elements = static_cast<std::uint64_t>(tensor.shape.elements());
    out.parameters += elements;
    if (is_table_of_words(name)) out.parameters_of_tables += elements;
  }
  return out;
}

double operations_of(const SourceFolder& model, std::int64_t L, std::int64_t T) {
  const auto inputs = static_cast<double>(L), answer = static_cast<double>(T);
  return model.kind == CompressKind::t5 ? of_t5(model, inputs, answer) : of_encoder(model, inputs);
}

}  // namespace smelt::compress
