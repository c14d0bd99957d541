// A T5 as the folder that transformers' T5ForConditionalGeneration and T5Tokenizer load, and back.
// Format: docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include <optional>

#include "checkpoint/interop/model_folder.h"
#include "model/models/t5_config.h"

namespace smelt {

inline constexpr const char* kT5VocabularyFile = "spiece.model";

// Writes config.json, generation_config.json, model.safetensors, spiece.model,
// tokenizer_config.json and special_tokens_map.json. `vocab` is the path of the SentencePiece
// model; where none of its pieces are sentinels, `extra_ids` are on top of them (nullopt: the
// original's 100, or as many as vocab_size has rows for). config.json says a `prefix` that stands
// before each text, as transformers' pipelines take it. UsageError as write_folder() has it, and
// for a vocabulary without T5's pad and end, or with more ids than vocab_size.
void export_hugging_face_t5(const std::string& folder, const T5Config& config,
                            const std::string& vocab, std::optional<std::int64_t> extra_ids,
                            const LazyTensors& parameters, const FolderForm& form,
                            const std::string& prefix = "");

// The parameters are read when they are wanted; of an mT5, too. folder.model.config is a
// t5_config.json's, folder.model.vocab_txt what spiece.model holds; without one what tokenizer.json
// makes of it. UsageError for another architecture, another activation, and where a tensor is
// missing or has another shape.
struct OpenedT5 {
  T5Config config;
  std::string prefix;
  std::optional<std::int64_t> extra_ids;  // that a tokenizer.json says
  std::string vocabulary;                 // the path of spiece.model, or of that
  OpenedFolder folder;
};
OpenedT5 open_hugging_face_t5(const std::string& folder);
// Checks the tokenizer's files in a T5's folder whose vocabulary is used. Throws UsageError for
// another class than T5's.
void check_t5_tokenizer(const std::string& folder);

}  // namespace smelt
