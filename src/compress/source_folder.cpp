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

namespace smelt::compress {
namespace {

constexpr const char *kFormat = "smelt compress 1", *kConfigFile = "config.json";
// Files to copy in addition to weights and config. Other files belong to training or to other
// programs.
constexpr std::array kFilesBeside{"vocab.txt",
                                  "spiece.model",
                                  "spm.model",
                                  "tokenizer.json",
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "generation_config.json",
                                  "LICENSE",
                                  checkpoint::kSegmentCommandNote};

CompressKind kind_of(const checkpoint::StoredModel& model) {
  const std::string type = checkpoint::model_type_of(model.tensors);
  if (type == checkpoint::kClassifierType) return CompressKind::classifier;
  if (checkpoint::is_encoder_decoder(model.tensors)) return CompressKind::t5;
  throw UsageError(
      str("compress: ", model.where, " is ",
          type.empty() ? "a model of unknown type" : str("a pretrained model (", type, ")"),
          ", expected a fine-tuned one"),
      "fine-tune it first (model.type classify), or use a T5");
}

// Whether the path itself is a Hugging Face folder.
bool is_folder_of_transformers(const checkpoint::StoredModel& model, const std::string& path) {
  return model.form == checkpoint::ModelForm::hugging_face &&
         checkpoint::hugging_face_folders(path) == std::vector{path};
}

Json earlier_steps(const std::string& folder) {
  const std::string path = io::join_path(folder, checkpoint::kCompressedFile);
  if (!io::exists(path)) return Json::array();
  const Json content = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  return content.is_object() ? content.value("steps", Json::array()) : Json::array();
}

// Returns the tensors; reading one also stores its CRC32C in `checksums`.
io::LazyTensors with_checksums(const io::LazyTensors& tensors, Json& checksums) {
  io::LazyTensors out;
  for (const auto& [name, tensor] : tensors)
    out.emplace(name, io::LazyTensor{tensor.shape, [read = tensor.read, name = name, &checksums] {
                                       std::vector<std::byte> bytes = read();
                                       checksums[name] =
                                           io::crc32c({reinterpret_cast<const char*>(bytes.data()),
                                                       bytes.size()});
                                       return bytes;
                                     }});
  return out;
}

std::uint64_t size_of_files(const std::string& folder, const std::vector<std::string>& names) {
  std::uint64_t size = 0;
  for (const std::string& name : names) size += io::file_size(io::join_path(folder, name));
  return size;
}

}  // namespace

SourceFolder open_source_folder(const std::string& given, QuantizedInput quantized) {
  const std::string path = checkpoint::exported_of(given);
  if (path != given) log_info("compress: {}: using its exported model, {}", given, path);
  const checkpoint::StoredModel model =
      checkpoint::open_stored_model(path, "compress", false, checkpoint::BertGelu::as_written);
  SourceFolder out{.where = given,
                   .folder = path,
                   .kind = kind_of(model),
                   .config = {},
                   .tensors = {},
                   .files = {},
                   .steps = {},
                   .work = {}};
  if (!is_folder_of_transformers(model, path)) {
    const auto work = std::make_shared<data::WorkFolder>(
        data::temporary_work_folder("compress", str(path, ::getpid())));
    work->begin({{"compress", str(path, ::getpid())}});
    work->remove_at_signal();
    out.folder = work->file("hf");
    checkpoint::convert_checkpoint({.from = path,
                                    .to = out.folder,
                                    .form = checkpoint::ModelForm::hugging_face,
                                    .averages = checkpoint::has_averages(model.tensors)});
    out.work = work;
  }
  out.config = checkpoint::read_model_config(out.folder);
  if (checkpoint::is_quantized(out.config, io::join_path(out.folder, kConfigFile)) &&
      quantized == QuantizedInput::rejected)
    throw UsageError(str("compress: ", path, ": its weights are already ",
                         checkpoint::is_sparse(out.config, path) ? "sparse" : "quantized"),
                     "use the original model");
  out.tensors = quantized == QuantizedInput::accepted
                    ? checkpoint::plain_weights(out.folder, out.config)
                    : checkpoint::stored_weights(out.folder);
  for (const char* name : kFilesBeside)
    if (const std::string file = io::join_path(out.folder, name); io::exists(file))
      out.files.push_back({name, io::read_file(file, io::kSmallFileBytes)});
  for (const checkpoint::FolderFile& file : out.files) out.bytes += file.content.size();
  for (const char* name : {kConfigFile, checkpoint::kCompressedFile})
    if (const std::string file = io::join_path(out.folder, name); io::exists(file))
      out.bytes += io::file_size(file);
  for (const std::string& file : checkpoint::weights_files(out.folder))
    out.bytes += io::file_size(file);
  out.steps = earlier_steps(out.folder);
  return out;
}

std::uint32_t crc32c_of_files(const std::vector<std::string>& paths) {
  std::uint32_t crc = 0;
  std::string piece(std::size_t{1} << 20, '\0');
  for (const std::string& path : paths) {
    io::InputFile file(path);
    while (const std::size_t got = file.read(piece)) crc = io::crc32c({piece.data(), got}, crc);
  }
  return crc;
}

std::uint64_t write_compressed_folder(const std::string& to, const SourceFolder& source,
                                      const CompressedFolder& made) {
  Json checksums = Json::object(), steps = source.steps, step = made.step;
  io::OutputDirectory directory(to);
  checkpoint::write_weights(directory, with_checksums(made.tensors, checksums),
                            checkpoint::FolderForm().shard_bytes);
  for (const checkpoint::FolderFile& file : source.files)
    io::write_file(directory.file(file.name), file.content);
  step["from"] = {{"path", source.where},
                  {"weights_crc32c", crc32c_of_files(checkpoint::weights_files(source.folder))}};
  steps.push_back(step);
  const Json content{{"format", kFormat}, {"steps", steps}, {"crc32c", checksums}};
  io::write_file(directory.file(checkpoint::kCompressedFile), content.dump(2) + "\n");
  io::write_file(directory.file(kConfigFile), made.config.dump(2) + "\n");
  directory.commit();
  return size_of_files(to, io::list_folder(to));
}

}  // namespace smelt::compress
