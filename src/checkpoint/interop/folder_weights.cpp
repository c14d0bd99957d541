#include "checkpoint/interop/folder_weights.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/flax_weights.h"
#include "checkpoint/interop/int4_weights.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/sparse_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "io/hub/hub_path.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kWeightsFile = "model.safetensors",
                     *kWeightsIndex = "model.safetensors.index.json",
                     *kFlaxFile = "flax_model.msgpack", *kChecksums = "crc32c";

// A weights file in a format that smelt does not read, and the argument with which transformers'
// from_pretrained() reads it.
struct OtherWeights {
  const char *file, *form, *argument;
};
constexpr OtherWeights kOtherWeights[] = {
    {"pytorch_model.bin", "pickled PyTorch weights", ""},
    {"pytorch_model.bin.index.json", "pickled PyTorch weights", ""},
    {"tf_model.h5", "TensorFlow weights", ", from_tf=True"},
    {"tf_model.h5.index.json", "TensorFlow weights", ", from_tf=True"},
    {"flax_model.msgpack.index.json", "Flax weights in several files", ", from_flax=True"}};

// Throws UsageError if the folder has one of kOtherWeights. The hint shows how to convert the file
// with transformers. TensorFlow and Flax weights need transformers 4: version 5 cannot read them.
void refuse_other_weights(const std::string& folder) {
  for (const auto& [file, form, argument] : kOtherWeights) {
    if (!io::exists(io::join_path(folder, file))) continue;
    refuse_lfs_pointer(io::join_path(folder, file));
    const std::string path = io::join_path(folder, "config.json");
    const Json config = io::exists(path) ? Json::parse_or_discard(io::read_file(path)) : Json();
    const Json classes = config.is_object() ? config.value("architectures", Json()) : Json();
    const bool named = classes.is_array() && classes.size() == 1 && classes[0].is_string();
    // transformers names a model of the Hub without hf://.
    const std::string source =
        io::is_hub_path(folder) ? io::parse_hub_path(folder).repo.id : folder;
    throw UsageError(str(folder, ": cannot read ", file, " (", form,
                         "): expected model.safetensors or flax_model.msgpack"),
                     str("convert them with transformers", *argument == 0 ? "" : " 4", ": ",
                         named ? classes[0].get<std::string>() : "AutoModelForPreTraining",
                         ".from_pretrained('", source, "'", argument,
                         ").save_pretrained('NEW'), then copy the tokenizer's files to NEW"));
  }
}

// Returns the files that an index lists, without duplicates.
std::vector<std::string> indexed_files(const std::string& folder, const std::string& path) {
  const Json index = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  const Json map = index.is_object() ? index.value("weight_map", Json()) : Json();
  std::vector<std::string> files;
  if (map.is_object())
    for (const auto& [name, file] : map.items())
      if (file.is_string()) files.push_back(file.get<std::string>());
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  if (files.empty())
    throw UsageError(str(path, ": lists no files under weight_map"), "download the folder again");
  for (std::string& file : files) {
    if (file.find('/') != std::string::npos)
      throw UsageError(str(path, ": lists ", file, ", which is outside its folder"),
                       "download the folder again");
    file = io::join_path(folder, file);
    if (!io::exists(file))
      throw UsageError(str(file, ": missing, but ", kWeightsIndex, " lists it"),
                       "download or copy all files of the folder");
  }
  return files;
}

// Returns the checksums of the tensors in compress.json; null if there is no such file.
Json checksums_of(const std::string& folder) {
  const std::string path = io::join_path(folder, kCompressedFile);
  if (!io::exists(path)) return {};
  const Json said = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  if (!said.is_object() || !said.contains(kChecksums) || !said[kChecksums].is_object())
    throw UsageError(str(path, ": has no field ", kChecksums, " with the tensors' checksums"),
                     "copy the folder again");
  return said[kChecksums];
}

// Returns the tensor with a check of its CRC32C on every read.
io::LazyTensor held_to(io::LazyTensor tensor, const Json& crc, std::string what) {
  return {tensor.shape, [read = std::move(tensor.read), crc, what = std::move(what)] {
            std::vector<std::byte> bytes = read();
            const std::uint32_t is =
                io::crc32c({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
            if (crc != is)
              throw UsageError(str(what, " is damaged: its crc32c is ", is, ", ", kCompressedFile,
                                   " has ", crc.dump()),
                               "copy the folder again, or compress the model again");
            return bytes;
          }};
}

void write_weights_file(const std::string& path, const io::LazyTensors& tensors) {
  io::OutputFile file(path);
  io::write_safetensors(tensors, {{"format", "pt"}},
                        [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

}  // namespace

std::string weights_path(const std::string& folder) {
  for (const char* name : {kWeightsFile, kWeightsIndex, kFlaxFile})
    if (std::string path = io::join_path(folder, name); io::exists(path)) return path;
  refuse_other_weights(folder);
  return io::join_path(folder, kWeightsFile);
}

std::vector<std::string> weights_files(const std::string& folder) {
  const std::string path = weights_path(folder);
  if (!io::exists(path))
    throw UsageError(
        str(folder, ": has no weights: expected ", kWeightsFile, " or ", kFlaxFile),
        "download or copy the weights into this folder, or name the folder that has them");
  return path.ends_with(kWeightsIndex) ? indexed_files(folder, path) : std::vector{path};
}

io::LazyTensors stored_weights(const std::string& folder) {
  const Json checksums = checksums_of(folder);
  if (io::exists(io::join_path(folder, kWeightsFile)) &&
      io::exists(io::join_path(folder, kWeightsIndex)))
    log_warning("{}: has both {} and {}; using the first one, as transformers does", folder,
                kWeightsFile, kWeightsIndex);
  io::LazyTensors out;
  for (const std::string& file : weights_files(folder))
    for (auto& [name, tensor] :
         file.ends_with(kFlaxFile) ? open_flax_weights(file) : open_safetensors(file)) {
      if (checksums.contains(name))
        tensor = held_to(std::move(tensor), checksums[name], str(file, ": '", name, "'"));
      out.emplace(name, std::move(tensor));
    }
  return out;
}

io::LazyTensors plain_weights(const std::string& folder, const Json& config) {
  const std::string where = io::join_path(folder, "config.json");
  if (!is_quantized(config, where)) return stored_weights(folder);
  const std::string weights = weights_path(folder);
  if (is_sparse(config, where)) return without_bitmasks(stored_weights(folder), weights);
  return with_decoded_weights(without_packed(stored_weights(folder), weights), config, weights);
}

void write_weights(const io::OutputDirectory& directory, const io::LazyTensors& tensors,
                   std::uint64_t shard_bytes) {
  std::vector<io::LazyTensors> parts(1);
  std::uint64_t held = 0, total = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t size = tensor.shape.size_bytes();
    if (held > 0 && held + size > shard_bytes) {
      parts.emplace_back();
      held = 0;
    }
    parts.back().emplace(name, tensor);
    held += size;
    total += size;
  }
  if (parts.size() == 1) return write_weights_file(directory.file(kWeightsFile), tensors);
  Json map = Json::object();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    char file[80];
    std::snprintf(file, sizeof file, "model-%05zu-of-%05zu.safetensors", i + 1, parts.size());
    write_weights_file(directory.file(file), parts[i]);
    for (const auto& [name, tensor] : parts[i]) map[name] = file;
  }
  const Json index{{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  io::write_file(directory.file(kWeightsIndex), index.dump(2) + "\n");
}

}  // namespace smelt::checkpoint
