// The model to compress (a fine-tuned encoder, or a T5) and the compressed result, both as Hugging
// Face folders with Hugging Face's names. See docs/guides/compress.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/interop/model_folder.h"
#include "data/preprocess/work_folder.h"

namespace smelt::compress {

enum class CompressKind { classifier, t5 };

// A model to compress.
struct SourceFolder {
  std::string where;   // path as given by the user
  std::string folder;  // the folder with config.json
  CompressKind kind = CompressKind::classifier;
  Json config;                                // content of config.json
  io::LazyTensors tensors;                    // as stored; quantized weights as floating point
  std::vector<checkpoint::FolderFile> files;  // tokenizer and other files to copy
  Json steps;                                 // JSON array of earlier compression steps
  std::uint64_t bytes = 0;                    // size of all files to copy, with weights and config
  std::shared_ptr<const data::WorkFolder> work;  // folder of the conversion, if one was needed
};

// Whether a model with quantized or sparse weights is accepted as input.
enum class QuantizedInput { rejected, accepted };

// Opens a Hugging Face folder, the exported model of a run (exported_of()), or any other model that
// smelt reads. A model in another format is first converted to a temporary Hugging Face folder, in
// which moving averages, if there are any, replace the weights. Throws UsageError in the same cases
// as open_stored_model(), if the model is not fine-tuned (such as an ELECTRA generator), and if its
// weights are quantized or sparse but `quantized` is `rejected`.
SourceFolder open_source_folder(const std::string& path,
                                QuantizedInput quantized = QuantizedInput::rejected);

// Returns the CRC32C of the concatenated content of the files.
std::uint32_t crc32c_of_files(const std::vector<std::string>& paths);

// A compressed model.
struct CompressedFolder {
  Json config;
  io::LazyTensors tensors;
  Json step;  // the compression step for compress.json, without "from"
};
// Writes the folder atomically and returns the total size of its files. Throws UsageError if `to`
// is not empty, and any error of reading a tensor.
std::uint64_t write_compressed_folder(const std::string& to, const SourceFolder& source,
                                      const CompressedFolder& made);

}  // namespace smelt::compress
