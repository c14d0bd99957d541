#include "cli/commands/command_guide.h"

#include <algorithm>
#include <map>

#include "base/str.h"

namespace smelt::cli {
namespace {

const std::vector<CommandGuide> kGuides{
    {"new",
     {"new bert --input 'text/*.txt' > my.yaml", "new classify --init bert-base --input rows.tsv"},
     "tutorials/first-model"},
    {"advise", {"advise 'text/*.txt' --budget 50 --write my.yaml"}, "guides/which-model"},
    {"run",
     {"run my.yaml --small", "run my-bert --set train.steps=20000"},
     "tutorials/first-model"},
    {"finetune",
     {"finetune my.yaml --seeds 3 --against-fresh",
      "finetune my.yaml --grid train.optimizer.learning_rate=1e-5,3e-5"},
     "guides/trials"},
    {"plan",
     {"plan my.yaml --on v3-8,v5litepod-8,h100", "plan my.yaml --budget 50"},
     "guides/plan"},
    {"train", {"train my.yaml", "train my.yaml --resume"}, "guides/resume"},
    {"replay", {"replay my-bert"}, "guides/loss-spikes"},
    {"eval", {"eval my-bert --json", "eval bert-base --text 'other/*.txt'"}, "guides/monitor"},
    {"export", {"export my-bert --out for-transformers"}, "guides/python-and-ci"},
    {"predict",
     {"predict my-classifier --text 'a text'",
      "predict my-classifier --input rows.tsv --out predictions.jsonl"},
     "guides/classify"},
    {"fill", {"fill my-bert --text 'The file [MASK] be opened.'"}, "tutorials/first-model"},
    {"generate",
     {"generate my-t5 --text 'summarize: …'", "generate my-t5 --beams 4 --json < texts.txt"},
     "reference/t5"},
    {"detect", {"detect my-electra --text 'The cat sees the giraffe.'"}, "reference/electra"},
    {"serve", {"serve < requests.jsonl"}, "reference/serve"},
    {"embed",
     {"embed my-embedder --input texts.txt --output vectors.npy",
      "embed my-embedder --text 'a text' --text 'another'"},
     "guides/embeddings"},
    {"retrieve",
     {"retrieve my-embedder --data scifact", "retrieve my-embedder --data scifact --json"},
     "guides/embeddings"},
    {"convert",
     {"convert my-bert bert_model.ckpt", "convert my-classifier onnx --to onnx"},
     "guides/convert"},
    {"inspect", {"inspect bert_model.ckpt"}, "guides/convert"},
    {"compress", {"compress quantize my-classifier --out small --embeddings"}, "guides/compress"},
    {"compress quantize",
     {"compress quantize my-classifier --out small --embeddings",
      "compress quantize my-classifier --out small --activations dynamic"},
     "guides/compress"},
    {"compress prune",
     {"compress prune my-classifier --out small --ffn 0.5 --input train.tsv",
      "compress prune my-classifier --out small --layers 6"},
     "guides/compress"},
    {"compress distill", {"compress distill teacher student --out taught"}, "guides/distill"},
    {"compress report",
     {"compress report my-classifier small --input test.tsv"},
     "guides/compress"},
    {"metrics",
     {"metrics predictions.jsonl --metric accuracy,f1-macro",
      "metrics a.jsonl --against b.jsonl --at-least accuracy=0.8"},
     "guides/metrics"},
    {"status", {"status my-bert"}, "guides/monitor"},
    {"compare", {"compare my-bert other"}, "guides/monitor"},
    {"report", {"report my-bert"}, "guides/monitor"},
    {"clean", {"clean my-bert --yes"}, "reference/run-folder"},
    {"vocab train",
     {"vocab train --input 'text/*.txt' --size 30000 --out vocab.txt",
      "vocab train --input 'text/*.txt' --type auto --out tokenizer.json"},
     "guides/languages"},
    {"vocab extend",
     {"vocab extend --vocab vocab.txt --input 'law/*.txt' --out law.txt"},
     "guides/extend-vocabulary"},
    {"vocab report", {"vocab report --vocab vocab.txt --input 'text/*.txt'"}, "guides/languages"},
    {"tokenize", {"tokenize --vocab vocab.txt --text 'a text' --offsets"}, "guides/languages"},
    {"data bert",
     {"data bert --input 'text/*.txt' --vocab vocab.txt --out train.tfrecord --shards 8"},
     "guides/text"},
    {"data electra",
     {"data electra --input 'text/*.txt' --vocab vocab.txt --out train.tfrecord"},
     "reference/electra_data"},
    {"data tokens",
     {"data tokens --input 'text/*.txt' --vocab vocab.model --out text.tokens"},
     "reference/formats/token_store"},
    {"data overview", {"data overview train.tsv test.tsv --vocab vocab.txt"}, "guides/classify"},
    {"data inspect",
     {"data inspect train.tfrecord --vocab vocab.txt --samples 3"},
     "reference/formats/tfrecord"},
    {"cloud run",
     {"cloud run my.yaml --type v3-8 --spot --zone us-central1-a --bucket gs://b --budget 50 "
      "--package smelt.tar.zst",
      "cloud run bert-1 --command 'smelt run my.yaml'"},
     "guides/cloud"},
    {"cloud up", {"cloud up bert-1 --type v3-8 --spot --zone us-central1-a"}, "guides/cloud"},
    {"cloud down", {"cloud down bert-1 --zone us-central1-a"}, "guides/cloud"},
    {"cloud watch", {"cloud watch my-bert"}, "guides/cloud"},
    {"cloud doctor",
     {"cloud doctor my.yaml --type v3-8 --zone us-central1-a --bucket gs://b --package "
      "smelt.tar.zst"},
     "guides/cloud"},
    {"hub download",
     {"hub download google-bert/bert-base-uncased --include '*.json' --output bert-base"},
     "guides/hub"},
    {"hub whoami", {"hub whoami"}, "guides/hub"},
    {"hub push", {"hub push my-bert my-name/my-bert --license apache-2.0"}, "guides/hub"},
    {"storage", {"storage cp -r data gs://b", "storage ls -l gs://b/data"}, "guides/cloud"},
    {"pod manifest",
     {"pod manifest my.yaml --kind slurm --on h100x8 --hosts 2 > job.sh"},
     "guides/pod"},
    {"pod describe", {"pod describe"}, "guides/pod"},
    {"setup", {"setup gpu", "setup tpu"}, "guides/devices"},
    {"bench", {"bench --model base --device gpu --batch 64 --precision bf16"}, "guides/gpu"},
    {"compile", {"compile step.mlir --topology v3:2x2"}, "guides/memory"}};

}  // namespace

const std::vector<CommandGuide>& command_guides() { return kGuides; }

std::string guide_text(std::string_view command) {
  const auto guide = std::ranges::find(command_guides(), command, &CommandGuide::command);
  if (guide == command_guides().end()) return "";
  std::string out = "Examples:\n";
  for (const std::string_view example : guide->examples) out += str("  smelt ", example, "\n");
  if (!guide->page.empty()) out += str("Read more: docs/", guide->page, ".md\n");
  return out;
}

std::vector<std::string_view> commands_for(std::string_view word) {
  static const std::map<std::string_view, std::vector<std::string_view>> kWords{
      {"inference", {"predict", "fill", "generate", "detect", "embed", "serve"}},
      {"infer", {"predict", "fill", "generate", "detect", "embed", "serve"}},
      {"serve", {"serve", "predict", "convert"}},
      {"search", {"embed", "retrieve"}},
      {"embedding", {"embed", "retrieve"}},
      {"deploy", {"convert", "export"}},
      {"onnx", {"convert"}},
      {"quantize", {"compress quantize"}},
      {"int8", {"compress quantize"}},
      {"prune", {"compress prune"}},
      {"distill", {"compress distill"}},
      {"resume", {"run", "train"}},
      {"continue", {"run", "new"}},
      {"pretrain", {"train", "run"}},
      {"fine-tune", {"run", "finetune", "new"}},
      {"evaluate", {"eval", "metrics"}},
      {"test", {"eval", "metrics"}},
      {"download", {"hub download", "export", "storage"}},
      {"upload", {"hub push", "storage"}},
      {"publish", {"hub push"}},
      {"cost", {"plan", "advise", "cloud prices"}},
      {"price", {"plan", "advise", "cloud prices"}},
      {"gpu", {"setup", "plan"}},
      {"tpu", {"setup", "cloud up", "plan"}},
      {"tokenizer", {"vocab train", "tokenize"}},
      {"vocabulary", {"vocab train", "vocab extend", "vocab report"}},
      {"tensorboard", {"report", "status"}},
      {"log", {"status", "report", "cloud logs"}},
      {"checkpoint", {"inspect", "convert"}},
      {"transformers", {"export", "convert"}}};
  const auto found = kWords.find(word);
  return found == kWords.end() ? std::vector<std::string_view>() : found->second;
}

}  // namespace smelt::cli
