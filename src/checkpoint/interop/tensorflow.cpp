#include "checkpoint/interop/tensorflow.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/checkpoint_state.h"
#include "io/formats/crc32c.h"
#include "io/formats/tensorflow_type.h"

namespace smelt::checkpoint {
namespace {

constexpr std::string_view kStateFile = "checkpoint", kGlobalStep = "global_step";
constexpr std::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

bool has_index(const std::string& prefix) {
  return io::exists(io::append_to_path(prefix, io::kBundleIndexSuffix));
}

std::string_view bytes_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the prefix of the checkpoint that a folder's file "checkpoint" names. An absolute path or
// a bucket in the file may be valid only on the machine that wrote it, so a checkpoint with the
// same last path component in this folder is preferred to it.
std::optional<std::string> named_by_state(const std::string& folder) {
  const std::string path = io::join_path(folder, kStateFile);
  const auto status = io::file_status(path);
  if (!status || status->is_folder) return std::nullopt;
  const io::CheckpointState state =
      io::parse_checkpoint_state(io::read_file(path, io::kSmallFileBytes), path);
  if (state.newest.empty()) return std::nullopt;
  const bool absolute =
      state.newest.front() == '/' || state.newest.find("://") != std::string::npos;
  const std::string beside = io::join_path(folder, io::path_name(state.newest));
  for (const std::string& prefix : absolute
                                       ? std::array{beside, state.newest}
                                       : std::array{io::join_path(folder, state.newest), beside})
    if (has_index(prefix)) return prefix;
  throw UsageError(str(path, ": names ", state.newest, ", but there is no such ",
                       io::kBundleIndexSuffix, " file"),
                   "give the checkpoint itself, or correct the file");
}

std::optional<std::string> only_one_in(const std::string& folder) {
  const std::vector<std::string> names = io::list_folder(folder);
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (name.ends_with(io::kBundleIndexSuffix))
      found.push_back(name.substr(0, name.size() - io::kBundleIndexSuffix.size()));
  // Other programs also write files with this suffix.
  std::erase_if(found, [&](const std::string& name) {
    return std::ranges::none_of(
        names, [&](const std::string& other) { return other.starts_with(name + ".data-"); });
  });
  if (found.empty()) return std::nullopt;
  if (found.size() > 1)
    throw UsageError(str(folder, ": holds ", found.size(),
                         " TensorFlow checkpoints, but no file `checkpoint` that names one"),
                     str("give one of them: ", io::join_path(folder, found.back())));
  return io::join_path(folder, found.front());
}

// Copies one partition of a tensor to its position in the whole tensor.
void put_part(std::span<const std::byte> part, const io::BundleSlice& slice,
              const compiler::Dims& whole, std::size_t item, std::span<std::byte> out) {
  const compiler::Dims dims = io::bundle_part_dims(slice, whole);
  if (dims.empty()) return std::ranges::copy(part, out.begin()), void();
  std::vector<std::int64_t> at(dims.size(), 0);
  const std::size_t run = static_cast<std::size_t>(dims.back()) * item;
  for (std::size_t from = 0; from < part.size(); from += run) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dims.size(); ++d)
      place = place * whole[d] + slice.extents[d].start + at[d];
    std::memcpy(out.data() + static_cast<std::size_t>(place) * item, part.data() + from, run);
    for (std::size_t d = dims.size() - 1; d-- > 0 && ++at[d] == dims[d];) at[d] = 0;
  }
}

std::vector<std::byte> read_entry(const io::RandomAccessFile& shard, const io::BundleEntry& entry,
                                  const std::string& name) {
  std::vector<std::byte> bytes = read_exactly(shard, entry.offset, entry.size);
  if (const std::uint32_t found = io::crc32c(bytes_text(bytes)); found != entry.crc32c)
    throw UsageError(str(shard.path(), ": '", name, "' is damaged: its crc32c is ", found, ", not ",
                         entry.crc32c, " as in the index"),
                     "copy or fetch the checkpoint again");
  return bytes;
}

using Shards = std::vector<std::shared_ptr<const io::RandomAccessFile>>;

std::vector<std::byte> joined(const Shards& shards, const io::BundleEntry& entry,
                              const std::vector<io::BundleEntry>& parts, const std::string& name,
                              const compiler::Shape& shape) {
  std::vector<std::byte> whole(shape.size_bytes());
  for (std::size_t i = 0; i < parts.size(); ++i)
    put_part(read_entry(*shards[static_cast<std::size_t>(parts[i].shard)], parts[i], name),
             entry.slices[i], entry.dims, compiler::dtype_size_bytes(shape.dtype), whole);
  return whole;
}

}  // namespace

std::optional<std::string> tensorflow_prefix(const std::string& path) {
  if (has_index(path)) return path;
  if (path.ends_with(io::kBundleIndexSuffix) && io::exists(path))
    return path.substr(0, path.size() - io::kBundleIndexSuffix.size());
  const auto status = io::file_status(path);
  if (!status || !status->is_folder) return std::nullopt;
  if (auto prefix = named_by_state(path)) return prefix;
  return only_one_in(path);
}

TensorflowCheckpoint::TensorflowCheckpoint(std::string prefix) : prefix_(std::move(prefix)) {
  const std::string index_path = io::append_to_path(prefix_, io::kBundleIndexSuffix);
  refuse_lfs_pointer(index_path);
  index_ = io::parse_bundle_index(io::read_file(index_path), index_path);
  for (std::int64_t i = 0; i < index_.shards; ++i) {
    const std::string path = io::append_to_path(prefix_, io::bundle_shard_suffix(i, index_.shards));
    if (!io::exists(path))
      throw UsageError(
          str(path, ": missing file ", i + 1, " of ", index_.shards, " of the checkpoint's data"),
          "copy all files of the checkpoint");
    shards_.push_back(std::make_shared<const io::RandomAccessFile>(path));
    refuse_lfs_pointer(*shards_.back());
  }
  for (const io::BundleEntries* entries : {&index_.tensors, &index_.parts})
    for (const auto& [name, entry] : *entries) {
      const io::RandomAccessFile& shard = *shards_[static_cast<std::size_t>(entry.shard)];
      if (entry.offset + entry.size > shard.size())
        throw UsageError(str(shard.path(), ": ends at byte ", shard.size(), ", but '", name,
                             "' ends at ", entry.offset + entry.size),
                         "copy or fetch the checkpoint again");
    }
}

io::LazyTensors TensorflowCheckpoint::tensors() const {
  io::LazyTensors out;
  for (const auto& [name, entry] : index_.tensors) {
    const auto dtype = io::dtype_of_tensorflow(entry.type);
    if (!dtype) continue;
    const compiler::Shape shape{*dtype, entry.dims};
    if (entry.slices.empty()) {
      const auto& shard = shards_[static_cast<std::size_t>(entry.shard)];
      out.emplace(name, io::LazyTensor{shape, [shard, entry = entry, name = name] {
                                         return read_entry(*shard, entry, name);
                                       }});
      continue;
    }
    std::vector<io::BundleEntry> parts;
    for (const io::BundleSlice& slice : entry.slices)
      parts.push_back(index_.parts.at(io::bundle_part_key(name, slice)));
    out.emplace(name,
                io::LazyTensor{shape, [shards = shards_, entry = entry, parts, name = name, shape] {
                                 return joined(shards, entry, parts, name, shape);
                               }});
  }
  return out;
}

std::vector<std::string> TensorflowCheckpoint::skipped() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : index_.tensors)
    if (!io::dtype_of_tensorflow(entry.type))
      out.push_back(str(name, " (", io::tensorflow_type_name(entry.type), ")"));
  return out;
}

bool TensorflowCheckpoint::is_object_graph() const { return index_.tensors.contains(kObjectGraph); }

std::optional<std::int64_t> TensorflowCheckpoint::global_step() const {
  const auto found = index_.tensors.find(kGlobalStep);
  if (found == index_.tensors.end() || !found->second.dims.empty()) return std::nullopt;
  if (found->second.type != io::tensorflow_type(compiler::DType::s64)) return std::nullopt;
  const std::vector<std::byte> bytes = tensors().at(std::string(kGlobalStep)).read();
  std::int64_t step = 0;
  std::memcpy(&step, bytes.data(), sizeof step);
  return step;
}

void check_variable_names(const TensorflowCheckpoint& checkpoint, std::string_view where) {
  if (checkpoint.is_object_graph())
    throw UsageError(str(where, ": ", checkpoint.prefix(),
                         " was saved by tf.train.Checkpoint or Keras: it has names of Python "
                         "objects, expected variable names"),
                     "save it with tf.compat.v1.train.Saver, or as a Hugging Face folder");
}

void write_tensorflow_checkpoint(const std::string& prefix, const io::LazyTensors& tensors) {
  io::BundleIndex index;
  io::OutputFile data(io::append_to_path(prefix, io::bundle_shard_suffix(0, 1)));
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::vector<std::byte> bytes = tensor.read();
    CHECK(bytes.size() == tensor.shape.size_bytes(), name);
    data.write(bytes_text(bytes));
    index.tensors.emplace(name, io::BundleEntry{.type = io::tensorflow_type(tensor.shape.dtype),
                                                .dims = tensor.shape.dims,
                                                .offset = offset,
                                                .size = bytes.size(),
                                                .crc32c = io::crc32c(bytes_text(bytes))});
    offset += bytes.size();
  }
  const std::string index_path = io::append_to_path(prefix, io::kBundleIndexSuffix);
  io::remove_file(index_path);  // an earlier index does not match the new data
  data.commit();
  io::write_file(index_path, io::bundle_index_bytes(index));
}

void note_tensorflow_checkpoint(const std::string& prefix) {
  const std::string path = io::join_path(io::parent_path(prefix), kStateFile);
  const std::string name = io::path_name(prefix);
  io::CheckpointState state;
  if (io::exists(path))
    state = io::parse_checkpoint_state(io::read_file(path, io::kSmallFileBytes), path);
  std::erase(state.all, name);
  state.all.push_back(name);
  state.newest = name;
  io::write_file(path, io::checkpoint_state_text(state));
}

std::optional<std::int64_t> step_of_prefix(std::string_view prefix) {
  const std::string name = io::path_name(prefix);
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + dash + 1, end, step);
  if (error != std::errc() || rest != end || step < 0) return std::nullopt;
  return step;
}

}  // namespace smelt::checkpoint
