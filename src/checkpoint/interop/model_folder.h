// What the Hugging Face folders of all encoders have in common:
// docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/json.h"
#include "checkpoint/storage/parameter_names.h"
#include "io/filesystem/file.h"
#include "io/formats/lazy_tensor.h"
#include "io/formats/safetensors.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

struct ModelFolder {
  Json config;           // of config.json; written are also those fields that all have
  TensorMap parameters;  // f32, by the original checkpoint's names, kernels [in, out]
  // The content of vocab.txt, of the tokenizer.json of a Unigram or BPE vocabulary, or of a T5's
  // spiece.model.
  std::string vocab_txt;
  TokenizerOptions tokenizer;
  std::int64_t max_tokens = 512;
  std::shared_ptr<const void> owner;  // keeps read parameters alive; writing needs none
};

// How a folder is written.
struct FolderForm {
  OutputDirectory::Earlier earlier = OutputDirectory::Earlier::refused;
  DType dtype = DType::f32;  // of the weights: f32, bf16 or f16
  // More than this goes to model-00001-of-0000N.safetensors and so on, with an index of names.
  std::uint64_t shard_bytes = 5'000'000'000;
};

struct FolderFile {
  std::string name, content;
};
// Weights, config.json, which gets their type, and the files. Parameters that are none of `names`
// are left out. UsageError when one is missing or has another shape, or when the folder already
// holds something else; then nothing is written.
void write_folder(const std::string& folder, Json config, const LazyTensors& parameters,
                  std::span<const ParameterName> names, std::span<const FolderFile> files,
                  const FolderForm& form);

// A file in a Hugging Face folder that documents the segment command. transformers does not run it,
// so its users must split text themselves.
inline constexpr const char* kSegmentCommandNote = "SEGMENT_COMMAND.md";
// Adds that file, unless the command is empty.
void add_segment_command_note(const std::string& command, std::vector<FolderFile>& files);

// A folder of an encoder, with the files of its WordPiece vocabulary.
// Parameters that are none of `names` are left out. UsageError when one is missing or has another
// shape, when the vocabulary has more tokens than `vocab_size` of the config or lacks a special
// one, or when the folder already holds something else; then nothing is written. What
// model.parameters hold is not looked at: `parameters` are read one at a time.
void write_model_folder(const std::string& folder, const ModelFolder& model,
                        const LazyTensors& parameters, std::span<const ParameterName> names,
                        const FolderForm& form);

// config.json; null when it is not JSON. SystemError when it is not there.
Json read_model_config(const std::string& folder);
// Returns the class of transformers that a config.json names, "BertForMaskedLM"; "" if it names
// none.
std::string architecture_of(const Json& config);
// Throws UsageError if an activation of a folder's config is none of `known`.
void check_activation(const std::string& name, const char* field,
                      const std::vector<std::string>& known, const std::string& where);
// Throws UsageError for a transformers encoder that smelt cannot compute: positions that are not
// absolute, or a causal language model (is_decoder). Warns of another epsilon of the layer norms.
void check_encoder_form(const Json& config, const std::string& where);
struct OpenedFolder {
  ModelFolder model;       // without parameters; vocab_txt is empty where the folder has none
  std::string vocabulary;  // the file that it is from
  LazyTensors parameters;  // f32
  std::vector<std::string> unused;  // tensors that are none of the names, but for tied ones
};
// The rest of it, of one file of weights or of several with an index. Of `parts`, which begin
// originals' names ("cls/predictions/"), those that are wholly missing are left out; a folder of
// the encoder alone may leave out `base` ("bert.") of Hugging Face's names. `vocabulary` is the
// name of its file; empty: vocab.txt, else tokenizer.json. UsageError when a tensor is missing or
// has another shape.
OpenedFolder open_model_folder(const std::string& folder, Json config,
                               std::span<const ParameterName> names,
                               std::span<const std::string_view> parts, std::string_view base,
                               const std::string& vocabulary = "");
// With all parameters in memory.
ModelFolder held_folder(OpenedFolder opened);

// A text of the config that `where` names in messages; `fallback` if it is missing or null.
// UsageError for a value of another kind.
std::string text_field(const Json& config, const char* name, const char* fallback,
                       const std::string& where);

}  // namespace smelt
