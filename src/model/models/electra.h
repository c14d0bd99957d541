// ELECTRA (Clark et al. 2020), following modeling.py and run_pretraining.py of
// google-research/electra: two BERT encoders with erf gelu and without pooler, a masked-LM head on
// the generator, and a replaced-token head on the discriminator. Parameters have the names of the
// original checkpoints.
//   B batch   S sequence   E embedding   H hidden   G generator's hidden   V vocabulary   I rows
#pragma once

#include "model/models/electra_config.h"
#include "model/models/encoder.h"
#include "model/nn/lm_head.h"

namespace smelt::model {

// Returns the dimension names of a parameter for model/nn/partition_rules.h.
DimNames electra_dim_names(const ElectraConfig& config, std::string_view parameter);

// Outputs of an encoder.
struct ElectraEncoded {
  compiler::Tensor sequence;  // [B,S,H] in the scope's dtype
  compiler::Tensor pooled;    // [B,H]: the first token
  compiler::Tensor words;     // f32 [V,E]: the embedding table
};

// The parameters of the discriminator that exist already, because the generator shares them.
enum class Shared { nothing, embeddings, all };

// Applies the discriminator, whose parameters are in "electra/…". Throws UsageError if S exceeds
// max_position_embeddings.
ElectraEncoded electra(const Scope& root, const ElectraConfig& config, const EncoderInputs& inputs,
                       Shared shared = Shared::nothing);

// Applies the generator, whose parameters are in "generator/…". It shares the discriminator's
// embeddings unless config.untied_generator_embeddings is true. If config.untied_generator is
// false, applies the discriminator instead.
ElectraEncoded electra_generator(const Scope& root, const ElectraConfig& config,
                                 const EncoderInputs& inputs);

// Applies Electric's generator (Clark et al. 2020b), which consists of two encoders:
// "generator_ltr/…" encodes the tokens before each position and "generator_rtl/…" the tokens after
// it. Their outputs are concatenated to [B,S,2G].
ElectraEncoded electra_two_towers(const Scope& root, const ElectraConfig& config,
                                  const EncoderInputs& inputs);

// Returns the generator's masked-LM head on the generator's outputs `rows` [I,…]. Its parameters
// are in scope `s`, and its output weights are the embedding table `words` [V,E].
LmHead electra_word_head(const Scope& s, const ElectraConfig& config, compiler::Tensor rows,
                         compiler::Tensor words);

// Returns f32 [B,S]: positive where the discriminator considers a token replaced.
compiler::Tensor electra_replaced_logits(const Scope& root, const ElectraConfig& config,
                                         compiler::Tensor sequence);

}  // namespace smelt::model
