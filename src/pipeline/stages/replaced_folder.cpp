#include "pipeline/stages/replaced_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "checkpoint/interop/model_folder.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 14> kMade{
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
    "special_tokens_map.json", "spiece.model", "discriminator", "generator",
    checkpoint::kSegmentCommandNote,
    // of sentence-transformers, except the model card README.md
    "modules.json", "1_Pooling", "config_sentence_transformers.json", "sentence_bert_config.json"};

bool is_made(std::string_view name) {
  return std::ranges::find(kMade, name) != kMade.end() ||
         (name.starts_with("model") && name.find(".safetensors") != name.npos);
}

}  // namespace

void replace_keeping_others(const std::string& folder, const std::function<void()>& make) {
  if (io::is_remote(folder)) return make();
  const fs::path place = folder, aside = folder + ".yours";
  if (fs::is_directory(place))
    for (const std::string& name : io::list_folder(folder)) {
      if (is_made(name)) continue;
      fs::create_directory(aside);
      fs::rename(place / name, aside / name);
    }
  make();
  if (!fs::is_directory(aside)) return;
  for (const std::string& name : io::list_folder(aside.string()))
    fs::rename(aside / name, place / name);
  fs::remove(aside);
}

}  // namespace smelt::pipeline
