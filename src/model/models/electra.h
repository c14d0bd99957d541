// ELECTRA (Clark et al. 2020) as google-research/electra modeling.py and run_pretraining.py have
// it: BERT's encoder with erf gelu and without a pooler, twice; a masked-LM head on the generator,
// a head that tells replaced tokens on the discriminator. Parameters carry the original
// checkpoint's names.
//   B batch   S sequence   E embedding   H hidden   G generator's hidden   V vocabulary   I rows
#pragma once

#include "model/models/electra_config.h"
#include "model/models/encoder.h"
#include "model/nn/lm_head.h"

namespace smelt {

// The names of a parameter's dimensions for model/nn/partition_rules.h.
DimNames electra_dim_names(const ElectraConfig& config, std::string_view parameter);

struct ElectraEncoded {
  Tensor sequence;  // [B,S,H] in the scope's type
  Tensor pooled;    // [B,H]: the first row
  Tensor words;     // f32 [V,E], the table of embeddings
};

// What of the discriminator a generator has declared before.
enum class Shared { nothing, embeddings, all };

// "electra/…". UsageError when S exceeds max_position_embeddings.
ElectraEncoded electra(const Scope& root, const ElectraConfig& config, const EncoderInputs& inputs,
                       Shared shared = Shared::nothing);

// "generator/…" on embeddings of its own or electra's; electra itself where it is not untied.
ElectraEncoded electra_generator(const Scope& root, const ElectraConfig& config,
                                 const EncoderInputs& inputs);

// Electric's (Clark et al. 2020b): what "generator_ltr/…" says of the tokens before a position
// beside what "generator_rtl/…" says of those after it; sequence [B,S,2G].
ElectraEncoded electra_two_towers(const Scope& root, const ElectraConfig& config,
                                  const EncoderInputs& inputs);

// What scores all words by rows of a generator [I,…], by the head at `s`.
LmHead electra_word_head(const Scope& s, const ElectraConfig& config, Tensor rows, Tensor words);

// Above 0 where a token was replaced: f32 [B,S].
Tensor electra_replaced_logits(const Scope& root, const ElectraConfig& config, Tensor sequence);

}  // namespace smelt
