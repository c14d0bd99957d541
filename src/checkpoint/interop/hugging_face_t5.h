// Reads and writes a T5 as a Hugging Face folder, which transformers' T5ForConditionalGeneration
// and T5Tokenizer load. Format: docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include <optional>

#include "checkpoint/interop/model_folder.h"
#include "model/models/t5_config.h"

namespace smelt::checkpoint {

inline constexpr const char* kT5VocabularyFile = "spiece.model";

// Writes config.json, generation_config.json, model.safetensors, spiece.model,
// tokenizer_config.json and special_tokens_map.json. `vocab` is the path of the SentencePiece
// model. If it has no sentinels among its pieces, `extra_ids` sentinels get ids after them; nullopt
// means the original's 100, or as many as vocab_size leaves room for. `prefix` is stored in
// config.json, as transformers' pipelines expect. Throws UsageError in the same cases as
// write_folder(), and if the vocabulary lacks T5's <pad> or </s> or has more ids than vocab_size.
void export_hugging_face_t5(const std::string& folder, const model::T5Config& config,
                            const std::string& vocab, std::optional<std::int64_t> extra_ids,
                            const io::LazyTensors& parameters, const FolderForm& form,
                            const std::string& prefix = "");

// A T5 or mT5 whose parameters are read on demand. folder.model.config has the fields of a
// t5_config.json and folder.model.vocab_txt the content of spiece.model, or a SentencePiece model
// built from tokenizer.json if that file is missing.
struct OpenedT5 {
  model::T5Config config;
  std::string prefix;
  std::optional<std::int64_t> extra_ids;  // number of sentinels in a tokenizer.json
  std::string vocabulary;                 // path of spiece.model or tokenizer.json
  OpenedFolder folder;
};
// Opens the folder. Throws UsageError if the architecture or the activation is not supported, or if
// a tensor is missing or has another shape.
OpenedT5 open_hugging_face_t5(const std::string& folder);
// Throws UsageError if the folder's tokenizer_config.json names a tokenizer class that is neither
// T5's nor generic, such as PreTrainedTokenizerFast.
void check_t5_tokenizer(const std::string& folder);

}  // namespace smelt::checkpoint
