// What is compressed: a fine-tuned BERT or ELECTRA, or a T5, as its Hugging Face folder; and the
// folder that becomes of it. Tensors go by Hugging Face's names. docs/guides/compress.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/interop/model_folder.h"
#include "data/preprocess/work_folder.h"

namespace smelt {

enum class CompressKind { classifier, t5 };

struct SourceFolder {
  std::string where;   // as it was named
  std::string folder;  // with config.json
  CompressKind kind = CompressKind::classifier;
  Json config;                             // of config.json
  LazyTensors tensors;                     // as they are stored, but for codes, which are floats
  std::vector<FolderFile> files;           // tokenizer and what else goes along
  Json steps;                              // an array: how it was compressed before
  std::uint64_t bytes = 0;                 // of all that goes along, weights and config included
  std::shared_ptr<const WorkFolder> work;  // where it was converted to, if it had to be
};

// A Hugging Face folder, what a run has exported (exported_of()), or any other model that smelt
// opens, which is then converted in a temporary folder, with its moving averages where it has some.
// UsageError as open_stored_model() has it, and for a model that is not fine-tuned, an ELECTRA's
// generator among them, and, unless they are taken, for one whose weights are in codes.
enum class InCodes { refused, taken };
SourceFolder open_source_folder(const std::string& path, InCodes in_codes = InCodes::refused);

// Of the files' bytes, one file after another.
std::uint32_t crc32c_of_files(const std::vector<std::string>& paths);

struct CompressedFolder {
  Json config;
  LazyTensors tensors;
  Json step;  // what was done, for compress.json; its "from" is added
};
// Returns the bytes of all its files. UsageError when `to` holds something already, or as reading a
// tensor ends; then nothing is written.
std::uint64_t write_compressed_folder(const std::string& to, const SourceFolder& source,
                                      const CompressedFolder& made);

}  // namespace smelt
