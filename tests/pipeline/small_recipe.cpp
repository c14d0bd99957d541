#include "pipeline/small_recipe.h"

#include <filesystem>

#include "io/filesystem/file.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/plugins.h"

namespace smelt::pipeline {

namespace fs = std::filesystem;

void SmallRecipe::SetUp() {
  REQUIRE_PLUGIN("cpu");
  write_text(12);
  io::write_file(
      dir_.file("r.yaml"),
      str("text: {input: ", dir_.file("text.txt"),
          ", sentences: lines, dedup: none, heldout: 0.3}\nvocab: {size: 60}\n"
          "data: {seq_length: 16, max_predictions: 3, dupe_factor: 2}\n"
          "model: {hidden_size: 8, num_hidden_layers: 1, num_attention_heads: 2,\n"
          "  intermediate_size: 16, max_position_embeddings: 16, type_vocab_size: 2}\n"
          "train: {batch_size: 4, steps: 2, checkpoint.save_interval_steps: 1, logging_steps: 1}\n"
          "eval: {batch_size: 2}\n"));
}

void SmallRecipe::write_text(int documents) const {
  std::string text;
  for (int d = 0; d < documents; ++d)
    text += str("the cat sees a dog and ", d, " birds\na dog likes the cat ", d,
                " times\nsome birds follow a small river\n\n");
  io::write_file(dir_.file("text.txt"), text);
}

Recipe SmallRecipe::recipe(const std::vector<std::string>& settings) const {
  std::vector<std::string> all{"out=" + dir_.file("m")};
  all.insert(all.end(), settings.begin(), settings.end());
  return load_recipe(dir_.file("r.yaml"), all);
}

std::map<std::string, std::string> SmallRecipe::files(const std::string& folder) const {
  std::map<std::string, std::string> content;
  for (const auto& entry : fs::recursive_directory_iterator(dir_.file(folder)))
    if (entry.is_regular_file())
      content[fs::relative(entry.path(), dir_.file(folder)).string()] =
          io::read_file(entry.path().string());
  return content;
}

int SmallRecipe::said(const std::string& text) const {
  const std::string log = log_.text();
  int count = 0;
  for (auto at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++count;
  return count;
}

}  // namespace smelt::pipeline
