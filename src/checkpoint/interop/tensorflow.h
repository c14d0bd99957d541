// TensorFlow checkpoints: <prefix>.index and <prefix>.data-00000-of-0000N, with a file "checkpoint"
// that names the newest one. Format: docs/reference/formats/tensor_bundle.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/filesystem/random_access_file.h"
#include "io/formats/lazy_tensor.h"
#include "io/formats/tensor_bundle.h"

namespace smelt::checkpoint {

// Returns the checkpoint prefix for a path that is a prefix, an index file, or a folder with one
// checkpoint or with a file "checkpoint" that names the newest; nullopt otherwise. Throws
// UsageError if the checkpoint that the file names is missing, or if a folder has several
// checkpoints but no such file.
std::optional<std::string> tensorflow_prefix(const std::string& path);

// An opened TensorFlow checkpoint.
class TensorflowCheckpoint {
 public:
  // Reads the index. Throws UsageError if it is missing or damaged, or if a data file is missing or
  // too short.
  explicit TensorflowCheckpoint(std::string prefix);

  const std::string& prefix() const { return prefix_; }
  const io::BundleEntries& entries() const { return index_.tensors; }
  // Returns the tensors whose types smelt supports; partitioned ones are joined when read. The
  // files stay open while any of the tensors exists. Reading throws UsageError with the file and
  // the tensor if a checksum differs.
  io::LazyTensors tensors() const;
  // Returns descriptions such as "text (string)" of tensors of other types and of the object graph
  // (TensorFlow 2).
  std::vector<std::string> skipped() const;
  // Whether tf.train.Checkpoint saved it, under names of Python objects.
  bool is_object_graph() const;
  // Returns the value of the tensor "global_step", or nullopt.
  std::optional<std::int64_t> global_step() const;

 private:
  std::string prefix_;
  io::BundleIndex index_;
  std::vector<std::shared_ptr<const io::RandomAccessFile>> shards_;
};

// Throws UsageError that begins with `where` if the checkpoint has object-graph names instead of
// variable names.
void check_variable_names(const TensorflowCheckpoint& checkpoint, std::string_view where);

// Writes one data file with the tensors in order of name, then the index, byte for byte as
// TensorFlow does. Replaces existing files.
void write_tensorflow_checkpoint(const std::string& prefix, const io::LazyTensors& tensors);

// Adds the checkpoint with this prefix to the file "checkpoint" in its folder, after the existing
// entries, and marks it there as the newest.
void note_tensorflow_checkpoint(const std::string& prefix);

// Returns the step in a prefix: "model.ckpt-1000" -> 1000; nullopt if it has none.
std::optional<std::int64_t> step_of_prefix(std::string_view prefix);

}  // namespace smelt::checkpoint
