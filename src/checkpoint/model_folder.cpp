#include "checkpoint/model_folder.h"

#include <algorithm>
#include <array>
#include <deque>

#include "base/error.h"
#include "base/nearest_name.h"
#include "store/folder.h"
#include "store/path.h"
#include "tokenize/tokenizer_config.h"
#include "tokenize/tokenizer_json.h"

namespace smelt {
namespace {

using nlohmann::json;
using Buffers = std::deque<std::vector<std::byte>>;

constexpr std::array<std::pair<const char*, const char*>, 5> kSpecialTokens{
    {{"pad_token", "[PAD]"},
     {"unk_token", "[UNK]"},
     {"cls_token", "[CLS]"},
     {"sep_token", "[SEP]"},
     {"mask_token", "[MASK]"}}};

std::vector<std::string_view> vocab_lines(std::string_view vocab_txt) {
  auto lines = split(vocab_txt, '\n');
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  for (std::string_view& line : lines) line = trim(line);
  return lines;
}

std::size_t token_id(const std::vector<std::string_view>& lines, std::string_view token) {
  const auto found = std::find(lines.begin(), lines.end(), token);
  if (found == lines.end())
    throw UsageError(str("vocab.txt: no ", token),
                     "use the vocabulary that the model was trained with");
  return static_cast<std::size_t>(found - lines.begin());
}

// With what all configs have.
json whole_config(const ModelFolder& model) {
  const auto lines = vocab_lines(model.vocab_txt);
  const std::int64_t vocab_size = model.config.at("vocab_size");
  if (static_cast<std::int64_t>(lines.size()) > vocab_size)
    throw UsageError(str("vocab.txt: ", lines.size(),
                         " tokens are more than the config's vocab_size ", vocab_size),
                     "use the vocabulary that the model was trained with");
  for (const auto& [role, token] : kSpecialTokens) token_id(lines, token);
  json config = {{"layer_norm_eps", 1e-12},
                 {"pad_token_id", token_id(lines, "[PAD]")},
                 {"position_embedding_type", "absolute"},
                 {"tie_word_embeddings", true},
                 {"torch_dtype", "float32"}};
  config.update(model.config);
  return config;
}

// [rows, columns] -> [columns, rows]
std::vector<std::byte> transposed(const TensorView& tensor) {
  const std::vector<float> values = tensor_values<float>(tensor);
  const auto rows = static_cast<std::size_t>(tensor.shape.dims[0]);
  const auto columns = static_cast<std::size_t>(tensor.shape.dims[1]);
  std::vector<float> out(values.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = values[r * columns + c];
  const auto bytes = std::as_bytes(std::span(out));
  return {bytes.begin(), bytes.end()};
}

Shape reversed(const Shape& shape) {
  return {shape.dtype, {shape.dims.rbegin(), shape.dims.rend()}};
}

const TensorView& find(const TensorMap& tensors, const std::string& name, const Shape& shape,
                       std::string_view where) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    std::vector<std::string> known;
    for (const auto& item : tensors) known.push_back(item.first);
    throw UsageError(str(where, ": no tensor '", name, "'"),
                     nearest_name(name, known)
                         ? did_you_mean(name, known)
                         : "do the config and the parameters belong together?");
  }
  if (found->second.shape != shape)
    throw UsageError(
        str(where, ": '", name, "' is ", found->second.shape, ", the config asks for ", shape),
        "do the config and the parameters belong together?");
  return found->second;
}

// The same values under the other name, in the other layout.
TensorView relaid(const TensorView& tensor, bool transpose, Buffers& buffers) {
  if (!transpose) return tensor;
  buffers.push_back(transposed(tensor));
  return {reversed(tensor.shape), buffers.back()};
}

// transformers' own older files, those of the model hub among them, call a LayerNorm's parameters
// so.
std::string modern_name(std::string name) {
  for (const auto& [old, modern] : {std::pair{".gamma", ".weight"}, {".beta", ".bias"}})
    if (name.ends_with(old)) return name.substr(0, name.size() - std::string(old).size()) + modern;
  return name;
}

TensorMap exported(const ModelFolder& model, std::span<const ParameterName> names,
                   Buffers& buffers) {
  TensorMap tensors;
  for (const ParameterName& name : names) {
    const TensorView& found = find(model.parameters, name.original, name.shape, "export");
    tensors.emplace(name.hugging_face, relaid(found, name.transposed, buffers));
  }
  return tensors;
}

}  // namespace

std::string text_field(const json& config, const char* name, const char* fallback) {
  if (!config.contains(name)) return fallback;
  const json& value = config.at(name);
  if (!value.is_string())
    throw UsageError(str("BERT config: ", name, " is ", value.dump(), ", not a text"),
                     "correct the value");
  return value.get<std::string>();
}

void write_model_folder(const std::string& folder, const ModelFolder& model,
                        std::span<const ParameterName> names, OutputDirectory::Earlier earlier) {
  Buffers buffers;
  const TensorMap tensors = exported(model, names, buffers);
  const json config = whole_config(model);
  json special_tokens;
  for (const auto& [role, token] : kSpecialTokens) special_tokens[role] = token;
  json tokenizer = tokenizer_config_json(model.tokenizer);
  tokenizer.update(special_tokens);
  tokenizer["model_max_length"] = model.max_tokens;
  const auto lines = vocab_lines(model.vocab_txt);
  const Vocabulary vocabulary({lines.begin(), lines.end()}, "vocab.txt");
  OutputDirectory directory(folder, earlier);
  OutputFile file(directory.file("model.safetensors"));
  write_safetensors(tensors, {{"format", "pt"}},
                    [&](std::string_view piece) { file.write(piece); });
  file.commit();
  write_file(directory.file("config.json"), config.dump(2) + "\n");
  write_file(directory.file("vocab.txt"), model.vocab_txt);
  write_file(directory.file("tokenizer.json"), tokenizer_json(vocabulary, model.tokenizer));
  write_file(directory.file("tokenizer_config.json"), tokenizer.dump(2) + "\n");
  write_file(directory.file("special_tokens_map.json"), special_tokens.dump(2) + "\n");
  directory.commit();
}

json read_model_config(const std::string& folder) {
  const json config =
      json::parse(read_file(join_path(folder, "config.json"), kSmallFileBytes), nullptr, false);
  return config.is_object() ? config : json();
}

ModelFolder read_model_folder(const std::string& folder, json config,
                              std::span<const ParameterName> names) {
  ModelFolder model;
  model.config = std::move(config);
  const std::string vocab_path = join_path(folder, "vocab.txt");
  model.vocab_txt = read_file(vocab_path);
  model.tokenizer = load_tokenizer_config(vocab_path).value_or(TokenizerOptions{});
  const std::string model_path = join_path(folder, "model.safetensors");
  const SafetensorsFile file(read_file(model_path), model_path);
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) tensors.emplace(modern_name(name), tensor);
  auto buffers = std::make_shared<Buffers>();
  for (const ParameterName& name : names) {
    const Shape shape = name.transposed ? reversed(name.shape) : name.shape;
    const TensorView& found = find(tensors, name.hugging_face, shape, model_path);
    model.parameters.emplace(name.original, relaid(found, name.transposed, *buffers));
  }
  model.owner =
      std::make_shared<std::pair<SafetensorsFile, std::shared_ptr<Buffers>>>(file, buffers);
  return model;
}

}  // namespace smelt
