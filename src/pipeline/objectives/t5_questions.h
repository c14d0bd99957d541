// Jobs that generate text with a trained T5.
#pragma once

#include <string>

#include "checkpoint/interop/stored_model.h"
#include "execution/inference/generate.h"
#include "model/models/t5_config.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::pipeline {

// Returns a job that generates text with this vocabulary. `extra_ids`: number of sentinels above
// the pieces; nullopt: sentinels_on_top(). Texts write sentinels as <extra_id_0>, <extra_id_1>, …
// Added tokens (added_pieces()) are matched whole. Throws UsageError if the vocabulary has no
// "</s>", or if the id of an added token is beyond the rows of the embeddings.
execution::GenerateJob t5_generate_job(const model::T5Config& model, const std::string& vocab,
                                       const text::TokenizerFlags& flags,
                                       std::optional<std::int64_t> extra_ids);
// Returns the job of a model with the prefix that it was fine-tuned with.
execution::GenerateJob stored_t5_job(const checkpoint::StoredModel& model);

}  // namespace smelt::pipeline
