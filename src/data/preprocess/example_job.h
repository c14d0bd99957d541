// What jobs that make examples of any kind have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_files.h"
#include "data/preprocess/shuffle_sizes.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt {

struct ExampleJob {
  DocumentOptions text;
  bool archives = false;    // the inputs are tar archives (electra_examples.h)
  std::string vocab;        // the tokenizer's file
  std::string output;       // comma list of files
  std::int64_t shards = 1;  // above 1: `output` names one file, "train.tfrecord", and
                            // "train-00000-of-00016.tfrecord" and so on are made
  ShardNames shard_names = ShardNames::sortable;
  bool own_folder = false;  // the output's folder is for these files alone
  bool overwrite = false;   // of existing outputs
  bool description = true;  // write <first output>.json: options, counts, checksum of the
                            // vocabulary; and indexes of the records
                            // (docs/reference/formats/record_index.md); never beside devices and
                            // pipes. In a folder of their own smelt-data.json, and no indexes
  std::int64_t seed = 12345;
  std::int64_t threads = 0;                     // 0: as many as there are cores
  std::int64_t memory = std::int64_t{1} << 30;  // bytes, about
  std::string work;  // local folder for temporary files; empty: "<first output>.work", or in the
                     // system's folder for temporary files when the output is no local file
  bool ignore_space = false;  // begins however little room there is (data/preprocess/disk_space.h)
  ShuffleSizes sizes;
};

struct ExampleSummary {
  CorpusCounts text;
  std::uint64_t examples = 0;
  ExampleCounts counts;  // the builder's
};

// A job whose options fit each other and whose files are apart.
struct CheckedJob {
  // UsageError for options out of range, a missing vocabulary, inputs that are not there, outputs
  // that are inputs or given twice.
  explicit CheckedJob(const ExampleJob& job);
  // These instead of what the job names.
  CheckedJob(const ExampleJob& job, std::vector<std::string> inputs);

  const ExampleJob& job;
  std::vector<std::string> inputs;
  ExampleFiles files;
  std::uint32_t vocabulary_crc32c = 0;
};

// For JSON, which holds UTF-8 alone: what is none of it in a name as U+FFFD.
OrderedJson names_of(const std::vector<std::string>& paths);

// How the shuffled order reads: half of the memory is for what stood before, where duplicates are
// left out.
DocumentOptions documents_of(const CheckedJob& checked);

// The options that decide what the documents are, and the files they come from.
OrderedJson text_settings(const CheckedJob& checked);

// docs/reference/formats/description.md
void write_description(const CheckedJob& checked, const ExampleBuilder& builder,
                       std::string_view order, const ExampleSummary& summary);

void log_files(std::string_view title, const std::vector<std::string>& files);

}  // namespace smelt
