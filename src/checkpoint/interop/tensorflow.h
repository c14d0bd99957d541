// TensorFlow's checkpoints: <prefix>.index and <prefix>.data-00000-of-0000N, with a file
// "checkpoint" that names the newest; docs/reference/formats/tensor_bundle.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/filesystem/random_access_file.h"
#include "io/formats/lazy_tensor.h"
#include "io/formats/tensor_bundle.h"

namespace smelt {

// The prefix that a path means: it is one, it is one's index file, or it is a folder of which the
// file "checkpoint" names the newest or which holds one checkpoint alone. Nothing when it is none
// of these. UsageError for a folder of several without a file "checkpoint".
std::optional<std::string> tensorflow_prefix(const std::string& path);

class TensorflowCheckpoint {
 public:
  // Reads the index. UsageError when it is not there or damaged, and when a file of data is missing
  // or too short, naming it.
  explicit TensorflowCheckpoint(std::string prefix);

  const std::string& prefix() const { return prefix_; }
  const BundleEntries& entries() const { return index_.tensors; }
  // Tensors of types that smelt has, those in parts put together; the files stay open as long as
  // one of them. Each is held to its checksum when it is read: UsageError names file and tensor.
  LazyTensors tensors() const;
  // "text (string)": those of other types, and names of an object graph (TensorFlow 2).
  std::vector<std::string> skipped() const;
  // Whether it was saved by tf.train.Checkpoint, by the names of Python objects.
  bool is_object_graph() const;
  // Of the tensor "global_step", if there is one.
  std::optional<std::int64_t> global_step() const;

 private:
  std::string prefix_;
  BundleIndex index_;
  std::vector<std::shared_ptr<const RandomAccessFile>> shards_;
};

// UsageError beginning with `where` for names of an object graph, which are none of smelt's.
void check_variable_names(const TensorflowCheckpoint& checkpoint, std::string_view where);

// One file of data, the tensors in the order of their names, and then the index: the bytes that
// TensorFlow itself would write. What is there under these names is replaced.
void write_tensorflow_checkpoint(const std::string& prefix, const LazyTensors& tensors);

// Names the prefix as the newest in its folder's file "checkpoint", behind those that are there.
void note_tensorflow_checkpoint(const std::string& prefix);

// "model.ckpt-1000" -> 1000
std::optional<std::int64_t> step_of_prefix(std::string_view prefix);

}  // namespace smelt
