// Common parts of all jobs that build examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_files.h"
#include "data/preprocess/shuffle_sizes.h"
#include "text/readers/documents.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::data {

struct ExampleJob {
  text::DocumentOptions text;
  bool archives = false;  // the inputs are tar archives (electra_examples.h)
  std::string vocab;      // tokenizer file
  std::string output;     // comma-separated files
  // above 1: `output` is one name, "train.tfrecord", and the files are
  // "train-00000-of-00016.tfrecord" etc.
  std::int64_t shards = 1;
  ShardNames shard_names = ShardNames::sortable;
  bool own_folder = false;  // the output folder is reserved for these files
  bool overwrite = false;   // replace existing outputs
  // Write <first output>.json (options, counts, checksum of the vocabulary) and record indexes
  // (docs/reference/formats/record_index.md), except for devices and pipes. In a reserved folder,
  // write smelt-data.json and no indexes.
  bool description = true;
  std::int64_t seed = 12345;
  std::int64_t threads = 0;                     // 0: one per core
  std::int64_t memory = std::int64_t{1} << 30;  // approximate bytes
  // Local folder for temporary files. Empty: "<first output>.work", or a folder in the system's
  // temporary folder if the output is not a local file.
  std::string work;
  // Start even if there is too little disk space (data/preprocess/disk_space.h).
  bool ignore_space = false;
  ShuffleSizes sizes;
};

struct ExampleSummary {
  CorpusCounts text;
  std::uint64_t examples = 0;
  ExampleCounts counts;  // counts of the builder
};

// A job with validated options and files.
struct CheckedJob {
  // Throws UsageError if an option is out of range, the vocabulary or an input is missing, or an
  // output is also an input or is given twice.
  explicit CheckedJob(const ExampleJob& job);
  // Uses these inputs instead of those of the job.
  CheckedJob(const ExampleJob& job, std::vector<std::string> inputs);

  const ExampleJob& job;
  std::vector<std::string> inputs;
  ExampleFiles files;
  std::uint32_t vocabulary_crc32c = 0;
};

// Returns the paths as JSON strings; bytes that are not valid UTF-8 become U+FFFD.
OrderedJson names_of(const std::vector<std::string>& paths);

// Returns the options for reading the documents in the shuffled order. Removing duplicates, if the
// job asks for it, may use half of the job's memory.
text::DocumentOptions documents_of(const CheckedJob& checked);

// Returns the input files and the options that determine the documents.
OrderedJson text_settings(const CheckedJob& checked);

// Writes the description: docs/reference/formats/description.md.
void write_description(const CheckedJob& checked, const ExampleBuilder& builder,
                       std::string_view order, const ExampleSummary& summary);

void log_files(std::string_view title, const std::vector<std::string>& files);

}  // namespace smelt::data
