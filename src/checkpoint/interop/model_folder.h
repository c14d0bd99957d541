// Reading and writing of Hugging Face folders, shared by all encoders. Format:
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

namespace smelt::checkpoint {

// An additional file to write to a folder.
struct FolderFile {
  std::string name, content;
};
// The content of a Hugging Face folder.
struct ModelFolder {
  // Fields of config.json. Writing adds the fields common to all encoders and replaces null ids of
  // special tokens by the vocabulary's ids.
  Json config;
  io::TensorMap parameters;  // f32; keys: the original checkpoint's names; kernels are [in, out]
  // Content of vocab.txt, of the tokenizer.json of a Unigram or BPE vocabulary, or of a T5's
  // spiece.model.
  std::string vocab_txt;
  text::TokenizerOptions tokenizer;
  std::int64_t max_tokens = 512;
  bool reads_segments = true;               // whether the model reads token_type_ids
  std::vector<FolderFile> more_files = {};  // written besides; not read
  std::shared_ptr<const void> owner;        // keeps read parameters alive; not needed for writing
};

// How a folder is written.
struct FolderForm {
  io::OutputDirectory::Earlier earlier = io::OutputDirectory::Earlier::refused;
  compiler::DType dtype = compiler::DType::f32;  // of the weights: f32, bf16 or f16
  // Larger weights are split into model-00001-of-0000N.safetensors etc. with an index.
  std::uint64_t shard_bytes = 5'000'000'000;
};

// Writes the weights, config.json (adding torch_dtype) and `files`. Ignores parameters that are not
// in `names`. Throws UsageError, before anything is written, if a parameter is missing or has
// another shape, or if the folder contains other files.
void write_folder(const std::string& folder, Json config, const io::LazyTensors& parameters,
                  std::span<const ParameterName> names, std::span<const FolderFile> files,
                  const FolderForm& form);

// A file in a Hugging Face folder that documents the segment command. transformers does not run the
// command, so users of transformers must segment their text before they tokenize it.
inline constexpr const char* kSegmentCommandNote = "SEGMENT_COMMAND.md";
// Adds kSegmentCommandNote to `files`, unless the command is empty.
void add_segment_command_note(const std::string& command, std::vector<FolderFile>& files);

// Writes the folder of an encoder with the files of its vocabulary. Ignores parameters that are not
// in `names`, and model.parameters: `parameters` are read one at a time. Throws UsageError, before
// anything is written, if a parameter is missing or has another shape, if the vocabulary has more
// tokens than the config's vocab_size or lacks a special token, or if the folder contains other
// files.
void write_model_folder(const std::string& folder, const ModelFolder& model,
                        const io::LazyTensors& parameters, std::span<const ParameterName> names,
                        const FolderForm& form);

// Returns the maximum tokens of a text in a folder of transformers or sentence-transformers:
// max_seq_length of sentence_bert_config.json, or model_max_length of tokenizer_config.json.
// Returns 0 if neither states it.
std::int64_t longest_text_in(const std::string& folder);

// Returns config.json, with an inferred model_type if it has none, or null if it is not a JSON
// object. For a CrossEncoder of sentence-transformers, adds sentence_transformers.activation_fn and
// seq_length, which each version stores in other files. Throws UsageError if config.json is
// missing.
Json read_model_config(const std::string& folder);
// Returns the class of transformers that a config.json names, "BertForMaskedLM"; "" if it names
// none.
std::string architecture_of(const Json& config);
// Throws UsageError if an activation in a folder's config is not one of `known`.
void check_activation(const std::string& name, const char* field,
                      const std::vector<std::string>& known, const std::string& where);
// Throws UsageError for a transformers encoder that smelt does not support: relative positions, or
// a causal language model (is_decoder). Logs a warning if the epsilon of the layer norms is not
// model::kLayerNormEpsilon, which smelt uses anyway.
void check_encoder_form(const Json& config, const std::string& where);
// A folder whose weights are read on demand.
struct OpenedFolder {
  ModelFolder model;           // parameters are empty; vocab_txt is empty if the folder has none
  std::string vocabulary;      // path of the vocabulary file
  io::LazyTensors parameters;  // f32
  // tensors that are not read; copies of tied tensors are not listed
  std::vector<std::string> unused;
};
// Opens the weights and the vocabulary of a folder. `parts` are prefixes of original names
// ("cls/predictions/") that may be missing as a whole. `base` ("bert.") is the prefix of the
// encoder in Hugging Face's names; it is added to the tensors of a bare encoder (BertModel), which
// lack it. `vocabulary` is the name of the vocabulary file; empty: vocab.txt, else tokenizer.json.
// Throws UsageError if a tensor is missing or has another shape.
OpenedFolder open_model_folder(const std::string& folder, Json config,
                               std::span<const ParameterName> names,
                               std::span<const std::string_view> parts, std::string_view base,
                               const std::string& vocabulary = "");
// Reads all parameters of the folder into memory and returns it with them.
ModelFolder held_folder(OpenedFolder opened);

// Returns a string field of a config; `fallback` if it is missing or null. Throws UsageError that
// begins with `where` if it is not a string.
std::string text_field(const Json& config, const char* name, const char* fallback,
                       const std::string& where);

}  // namespace smelt::checkpoint
