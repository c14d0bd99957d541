// What a trained T5 can be asked.
#pragma once

#include <string>

#include "checkpoint/interop/stored_model.h"
#include "execution/inference/generate.h"
#include "model/models/t5_config.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

// Its answers to texts, in the pieces of a vocabulary with so many sentinels on top of its own
// (nullopt: the original's 100, or as many as there are rows for), which texts and answers call
// <extra_id_0> and so on. Added tokens (added_pieces()) are found as a whole. UsageError for a
// vocabulary without "</s>", and for an added token beyond the rows of the embeddings.
GenerateJob t5_generate_job(const T5Config& model, const std::string& vocab,
                            const TokenizerFlags& flags, std::optional<std::int64_t> extra_ids);
// The same of a folder's, with the prefix that it was fine-tuned with.
GenerateJob stored_t5_job(const StoredModel& model);

}  // namespace smelt
