#include "model/optim/amos_presets.h"

#include <algorithm>

namespace smelt::model {
namespace {

// All presets use one slot element per output of a kernel [in, out] and per row of an embedding
// [rows, dim], and one in total for other parameters.
constexpr const char* kByOutput = "(1, SHAPE[1])";
constexpr const char* kByRow = "(SHAPE[0], 1)";

// get_eta_fn and get_shape_fn of jestimator's models bert, rope and bert_rpe. Hidden and MLP sizes
// are the first dimensions of the kernels.
AmosPreset jestimator_bert() {
  return {
      .name = "jestimator_bert",
      .eta = {{"(.*/)?layer_norm/scale$", "1"},
              {"(.*/)?(bias|relpos_embed)$", "0.5"},
              {"(.*/)?embedding$", "sqrt(2 / SHAPE[1])"},
              {"(.*/)?mlp_block/dense2/kernel$", "sqrt(2 / SHAPE[0])"},
              {"(.*/)?kernel$", "sqrt(1 / SHAPE[0])"},
              {"(.*/)?cls$", "sqrt(1 / SHAPE[-1])"}},
      .slot_shape = {
          {"(.*/)?kernel$", kByOutput}, {"(.*/)?(embedding|relpos_embed)$", kByRow}, {".*", "()"}}};
}

// Equal rules for the parameter names of the original BERT and ELECTRA.
AmosPreset bert() {
  return {.name = "bert",
          .eta = {{".*/LayerNorm/gamma$", "1"},
                  {".*/LayerNorm/beta$", "0.5"},
                  {".*bias$", "0.5"},
                  {".*_embeddings$", "sqrt(2 / SHAPE[1])"},
                  {".*/layer_[0-9]+/output/dense/kernel$", "sqrt(2 / SHAPE[0])"},
                  {".*/kernel$", "sqrt(1 / SHAPE[0])"},
                  {"(.*/)?output_weights$", "sqrt(1 / SHAPE[1])"}},  // [out, in]
          .slot_shape = {{".*/kernel$", kByOutput},
                         {"(.*_embeddings|(.*/)?output_weights)$", kByRow},
                         {".*", "()"}}};
}

// The settings for T5X from issue 9 of jestimator, used there with beta 0.95 and clip_value
// sqrt(batch * target_length). 64 is the head size. The last rules match the original T5's names.
AmosPreset t5() {
  return {.name = "t5",
          .eta = {{".*/scale$", "1"},
                  {".*/embedding$", "1"},
                  {".*/(rel_embedding|relative_attention_bias)$", "0.5"},
                  {".*/(query/kernel|q)$", "sqrt(1 / (SHAPE[0] * 64))"},
                  {".*/wo/kernel$", "sqrt(2 / SHAPE[0])"},
                  {".*/(kernel|[kvo])$", "sqrt(1 / SHAPE[0])"}},
          .slot_shape = {{".*/(kernel|[qkvo])$", kByOutput},
                         {".*/(embedding|rel_embedding|relative_attention_bias)$", kByRow},
                         {".*", "()"}}};
}

}  // namespace

const std::vector<AmosPreset>& amos_presets() {
  static const std::vector<AmosPreset> kPresets{bert(), jestimator_bert(), t5()};
  return kPresets;
}

AmosPreset amos_preset_for(std::string_view model_type) {
  if (model_type == "electra" || model_type == "roberta" || model_type == "classify")
    model_type = "bert";
  if (model_type == "text_to_text") model_type = "t5";
  const auto found = std::ranges::find(amos_presets(), model_type, &AmosPreset::name);
  return found == amos_presets().end() ? AmosPreset{} : *found;
}

}  // namespace smelt::model
