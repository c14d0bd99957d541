#include "compress/source_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/folder_weights.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/sparse_weights.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "model/nn/state_names.h"

namespace smelt {
namespace {

constexpr const char *kFormat = "smelt compress 1", *kConfigFile = "config.json";
// Files to copy besides weights and config; other files belong to training or to other programs.
constexpr std::array kFilesBeside{"vocab.txt",
                                  "spiece.model",
                                  "tokenizer.json",
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "generation_config.json",
                                  "LICENSE",
                                  kSegmentCommandNote};

CompressKind kind_of(const StoredModel& model) {
  const std::string type = model_type_of(model.tensors);
  if (type == kClassifierType) return CompressKind::classifier;
  if (is_encoder_decoder(model.tensors)) return CompressKind::t5;
  throw UsageError(
      str("compress: ", model.where, " is ",
          type.empty() ? "a model of unknown type" : str("a pretrained model (", type, ")"),
          ", expected a fine-tuned one"),
      "fine-tune it first (model.type classify), or use a T5");
}

// Whether the path itself is a Hugging Face folder.
bool is_folder_of_transformers(const StoredModel& model, const std::string& path) {
  return model.form == ModelForm::hugging_face && hugging_face_folders(path) == std::vector{path};
}

Json earlier_steps(const std::string& folder) {
  const std::string path = join_path(folder, kCompressedFile);
  if (!exists(path)) return Json::array();
  const Json said = Json::parse_or_discard(read_file(path, kSmallFileBytes));
  return said.is_object() ? said.value("steps", Json::array()) : Json::array();
}

// Returns the tensors with a hook that stores their checksums when they are read.
LazyTensors with_checksums(const LazyTensors& tensors, Json& checksums) {
  LazyTensors out;
  for (const auto& [name, tensor] : tensors)
    out.emplace(name, LazyTensor{tensor.shape, [read = tensor.read, name = name, &checksums] {
                                   std::vector<std::byte> bytes = read();
                                   checksums[name] = crc32c(
                                       {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
                                   return bytes;
                                 }});
  return out;
}

std::uint64_t size_of_files(const std::string& folder, const std::vector<std::string>& names) {
  std::uint64_t size = 0;
  for (const std::string& name : names) size += file_size(join_path(folder, name));
  return size;
}

}  // namespace

SourceFolder open_source_folder(const std::string& given, InCodes in_codes) {
  const std::string path = exported_of(given);
  if (path != given) log_info("compress: {}: using its exported model, {}", given, path);
  const StoredModel model = open_stored_model(path, "compress");
  SourceFolder out{.where = given,
                   .folder = path,
                   .kind = kind_of(model),
                   .config = {},
                   .tensors = {},
                   .files = {},
                   .steps = {},
                   .work = {}};
  if (!is_folder_of_transformers(model, path)) {
    const auto work =
        std::make_shared<WorkFolder>(temporary_work_folder("compress", str(path, ::getpid())));
    work->begin({{"compress", str(path, ::getpid())}});
    work->remove_at_signal();
    out.folder = work->file("hf");
    convert_checkpoint({.from = path,
                        .to = out.folder,
                        .form = ModelForm::hugging_face,
                        .averages = has_averages(model.tensors)});
    out.work = work;
  }
  out.config = read_model_config(out.folder);
  if (is_quantized(out.config, join_path(out.folder, kConfigFile)) && in_codes == InCodes::refused)
    throw UsageError(str("compress: ", path, ": its weights are ",
                         is_sparse(out.config, path) ? "sparse" : "quantized", " already"),
                     "use the original model");
  out.tensors = in_codes == InCodes::taken ? plain_weights(out.folder, out.config)
                                           : stored_weights(out.folder);
  for (const char* name : kFilesBeside)
    if (const std::string file = join_path(out.folder, name); exists(file))
      out.files.push_back({name, read_file(file, kSmallFileBytes)});
  for (const FolderFile& file : out.files) out.bytes += file.content.size();
  for (const char* name : {kConfigFile, kCompressedFile})
    if (const std::string file = join_path(out.folder, name); exists(file))
      out.bytes += file_size(file);
  for (const std::string& file : weights_files(out.folder)) out.bytes += file_size(file);
  out.steps = earlier_steps(out.folder);
  return out;
}

std::uint32_t crc32c_of_files(const std::vector<std::string>& paths) {
  std::uint32_t crc = 0;
  std::string piece(std::size_t{1} << 20, '\0');
  for (const std::string& path : paths) {
    InputFile file(path);
    while (const std::size_t got = file.read(piece)) crc = crc32c({piece.data(), got}, crc);
  }
  return crc;
}

std::uint64_t write_compressed_folder(const std::string& to, const SourceFolder& source,
                                      const CompressedFolder& made) {
  Json checksums = Json::object(), steps = source.steps, step = made.step;
  OutputDirectory directory(to);
  write_weights(directory, with_checksums(made.tensors, checksums), FolderForm().shard_bytes);
  for (const FolderFile& file : source.files) write_file(directory.file(file.name), file.content);
  step["from"] = {{"path", source.where},
                  {"weights_crc32c", crc32c_of_files(weights_files(source.folder))}};
  steps.push_back(step);
  const Json said{{"format", kFormat}, {"steps", steps}, {"crc32c", checksums}};
  write_file(directory.file(kCompressedFile), said.dump(2) + "\n");
  write_file(directory.file(kConfigFile), made.config.dump(2) + "\n");
  directory.commit();
  return size_of_files(to, list_folder(to));
}

}  // namespace smelt
