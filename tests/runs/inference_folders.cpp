#include "runs/inference_folders.h"

#include "base/json.h"
#include "base/str.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "io/formats/crc32c.h"
#include "runs/golden_bert.h"
#include "runs/golden_classify.h"
#include "runs/golden_electra.h"
#include "runs/golden_t5.h"

namespace smelt {
namespace {

void write_masked_bert(const std::string& folder) {
  std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 99; ++i) vocab += str("word", i, "\n");
  const GoldenBert golden;
  io::write_file(io::join_path(folder, "vocab.txt"), vocab);
  checkpoint::save_checkpoint(io::join_path(folder, "model"), 5, golden.state(),
                              {{"task", "bert"},
                               {"model", golden.facts()["config"]},
                               {checkpoint::kVocabularyCrc32c, io::crc32c(vocab)}});
}

// The model has too few positions for the default lengths of questions and windows.
void write_answers(const std::string& folder) {
  GoldenClassify("bert-spans").write_folder(folder);
  const std::string path = io::join_path(folder, "config.json");
  Json config = Json::parse(io::read_file(path));
  config["answers"] = {{"question_tokens", 2}, {"doc_stride", 2}, {"answer_tokens", 3}};
  io::write_file(path, config.dump());
}

void write_replaced(const std::string& folder) {
  const GoldenElectra golden("electra");
  io::TensorMap parameters = golden.state();
  std::erase_if(parameters,
                [](const auto& item) { return item.first.find("/adam_") != std::string::npos; });
  std::string vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 99; ++i) vocab += str("word", i, "\n");
  io::write_file(io::join_path(folder, "vocab.txt"), vocab);
  checkpoint::save_checkpoint(io::join_path(folder, "model"), 5, parameters,
                              {{"task", "electra"},
                               {"model", io::config_json(golden.settings().model)},
                               {checkpoint::kVocabularyCrc32c, io::crc32c(vocab)}});
}

}  // namespace

void write_inference_folders(const std::string& folder) {
  write_masked_bert(io::join_path(folder, "mask"));
  GoldenClassify("bert").write_folder(io::join_path(folder, "classes"));
  GoldenClassify("bert-tokens").write_folder(io::join_path(folder, "words"));
  write_answers(io::join_path(folder, "answers"));
  GoldenT5("small").write_folder(io::join_path(folder, "text"));
  write_replaced(io::join_path(folder, "replaced"));
}

}  // namespace smelt
