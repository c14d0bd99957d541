// Implements StoredFamily for T5 and mT5.
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/interop/t5_names.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"

namespace smelt::checkpoint {
namespace {

class T5Family final : public StoredFamily {
 public:
  std::string_view name() const override { return "t5"; }
  std::vector<std::string_view> model_types() const override { return {"t5", "mt5"}; }
  bool owns(const io::LazyTensors& tensors) const override {
    return any_begins(tensors, "shared/embedding") && any_begins(tensors, "decoder/");
  }

  std::string vocabulary_file() const override { return kT5VocabularyFile; }
  std::vector<std::string> vocabulary_files(const std::string& folder) const override {
    return {io::join_path(folder, kT5VocabularyFile), io::join_path(folder, "vocab.model")};
  }
  void check_tokenizer(const std::string& folder) const override { check_t5_tokenizer(folder); }
  bool is_encoder_decoder() const override { return true; }
  bool has_sentinels() const override { return true; }

  Json with_sizes_of(const io::LazyTensors& tensors, Json config,
                     const std::string&) const override {
    if (config.is_null())
      if (const auto sizes = t5_config_of(tensors)) return io::config_json(*sizes);
    return config;
  }
  void put_beside_config(const StoredModel& model, Json& file) const override {
    add_t5_fields(model.t5, file);
  }

  void open(const std::vector<std::string>& folders, StoredModel& out) const override {
    for (const std::string& folder : folders) {
      const OpenedT5 t5 = open_hugging_face_t5(folder);
      check_t5_tokenizer(folder);
      take_folder(t5.folder, out, t5.vocabulary);
      out.config = t5.folder.model.config;
      const std::string path = io::join_path(folder, "tokenizer_config.json");
      Json tokenizer = io::exists(path)
                           ? Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes))
                           : Json();
      out.t5 = {.extra_ids = remove_t5_fields(tokenizer).extra_ids, .prefix = t5.prefix};
      if (t5.extra_ids) out.t5.extra_ids = t5.extra_ids;
    }
  }
  void load(const std::string& folder, PretrainedWeights& out) const override {
    ModelFolder model = held_folder(open_hugging_face_t5(folder).folder);
    out.parameters.merge(model.parameters);
    out.model = std::move(model.config);
    out.owners.push_back(std::move(model.owner));
    out.vocab_txt = std::move(model.vocab_txt);
  }
  void write(const std::string& folder, const StoredModel& model,
             const FolderForm& form) const override {
    const auto config = io::parse_config<model::T5Config>(model.config, model.where);
    export_hugging_face_t5(folder, config, model.vocab, model.t5.extra_ids, model.tensors, form,
                           model.t5.prefix);
  }
};

}  // namespace

const StoredFamily& t5_stored_family() {
  static const T5Family kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
