#include "execution/train_state/initial_weights.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iterator>
#include <set>
#include <span>
#include <sstream>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "model/models/encoder_family.h"
#include "model/nn/layers.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::execution {
namespace {

// Returns the rows that both shapes have, or nullopt if the shapes differ in more than the number
// of rows.
std::optional<io::TensorView> common_rows(const io::TensorView& given,
                                          const compiler::Shape& wanted) {
  compiler::Shape shape = given.shape;
  if (shape.dims.empty() || wanted.dims.empty()) return std::nullopt;
  shape.dims[0] = std::min(shape.dims[0], wanted.dims[0]);
  compiler::Shape as_wanted = wanted;
  as_wanted.dims[0] = shape.dims[0];
  if (shape != as_wanted) return std::nullopt;
  return io::TensorView{shape, given.data.first(shape.size_bytes())};
}

void take(const std::string& name, const compiler::Shape& wanted,
          const RowsMayDiffer& rows_may_differ, InitialWeights& out) {
  const auto found = out.given.parameters.find(name);
  if (found == out.given.parameters.end()) return out.fresh.push_back(name);
  const io::TensorView& given = found->second;
  if (given.shape == wanted) {
    out.parameters.emplace(name, given);
    return;
  }
  const auto rows = rows_may_differ(name) ? common_rows(given, wanted) : std::nullopt;
  if (!rows)
    throw UsageError(
        str("init: ", out.given.where, ": ", name, " has shape ", given.shape,
            ", this run expects ", wanted),
        "set the model's sizes to those of the pretrained weights, or train without them");
  out.parameters.emplace(name, *rows);
  out.resized.push_back(str(name, " ", given.shape, " to ", wanted));
}

void rename(const std::string& prefix, const std::string& other, io::TensorMap& parameters) {
  io::TensorMap renamed;
  for (const auto& [name, view] : parameters)
    if (name.starts_with(prefix)) renamed.emplace(other + name.substr(prefix.size()), view);
  for (const auto& [name, view] : renamed)
    if (parameters.emplace(name, view).second) parameters.erase(prefix + name.substr(other.size()));
}

std::string such_as(const std::vector<std::string>& names) {
  return names.empty() ? "" : str(" (such as ", names.front(), ")");
}

constexpr std::size_t kShown = 4;  // names listed per line

std::string first_names(std::span<const std::string> names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    out += str(i == 0 ? "" : ", ", names[i]);
  return names.size() > kShown ? out + ", …" : out;
}

// Parameter scopes of encoders and decoders in addition to those of encoder_families().
constexpr std::array kOtherScopes{"generator/", "generator_ltr/", "generator_rtl/", "encoder/",
                                  "decoder/"};

// Returns whether a parameter belongs to the layers or embeddings of a model rather than to a head.
// Includes the generator's scopes, because the given weights of an ELECTRA may be those of a
// generator without a discriminator.
bool is_of_encoder(std::string_view parameter) {
  return std::ranges::any_of(kOtherScopes,
                             [&](const char* scope) { return parameter.starts_with(scope); }) ||
         std::ranges::any_of(model::encoder_families(), [&](const model::EncoderFamily& family) {
           return parameter.starts_with(str(family.name, "/"));
         });
}

// Returns the encoder parameters that the pretrained weights do not contain.
std::vector<std::string> fresh_of_encoder(const InitialWeights& taken) {
  std::vector<std::string> out;
  std::ranges::copy_if(taken.fresh, std::back_inserter(out), is_of_encoder);
  return out;
}

std::int64_t taken_of_encoder(const InitialWeights& taken) {
  return std::ranges::count_if(taken.parameters,
                               [](const auto& item) { return is_of_encoder(item.first); });
}

std::string line(const char* title, std::size_t count, std::span<const std::string> names) {
  std::ostringstream out;
  out << "\n  " << std::left << std::setw(9) << title << std::right << std::setw(5) << count;
  if (!names.empty()) out << "  " << first_names(names);
  return out.str();
}

}  // namespace

checkpoint::BertGelu gelu_of_task(const Json& settings) {
  const Json* activation = settings.pointer("/model/hidden_act");
  const bool by_erf = activation != nullptr && *activation == model::kGeluErf;
  return by_erf ? checkpoint::BertGelu::as_written : checkpoint::BertGelu::tanh;
}

InitialWeights take_weights(const model::StateLayout& layout, checkpoint::PretrainedWeights given,
                            const RowsMayDiffer& rows_may_differ) {
  InitialWeights out;
  out.given = std::move(given);
  const auto values = std::span(layout.tensors).first(layout.values);
  std::set<std::string, std::less<>> wanted;
  for (const model::StateTensor& tensor : values)
    for (const std::string& name : tensor.stored_names()) wanted.insert(name);
  for (const auto& [prefix, other] : out.given.else_under)
    if (const auto first = wanted.lower_bound(prefix);
        first == wanted.end() || !first->starts_with(prefix))
      rename(prefix, other, out.given.parameters);
  for (const model::StateTensor& tensor : values)
    for (const std::string& name : tensor.stored_names())
      take(name, tensor.shape_of_one(), rows_may_differ, out);
  for (const auto& [name, view] : out.given.parameters)
    if (!wanted.contains(name)) out.unused.push_back(name);
  if (out.parameters.empty())
    throw UsageError(
        str("init: ", out.given.where, ": none of its ", out.unused.size(), " parameters",
            such_as(out.unused), " is a parameter of this run", such_as(out.fresh)),
        "use pretrained weights of the same model type");
  if (const auto fresh = fresh_of_encoder(out); !fresh.empty() && taken_of_encoder(out) == 0)
    throw UsageError(str("init: ", out.given.where, ": none of the ", fresh.size(),
                         " parameters of this run's encoder", such_as(fresh),
                         " is among its parameters", such_as(out.unused)),
                     "use pretrained weights of the same model type");
  return out;
}

std::string missing_encoder_parameters(const InitialWeights& taken) {
  const std::vector<std::string> fresh = fresh_of_encoder(taken);
  if (fresh.empty()) return "";
  return str("has ", taken_of_encoder(taken), " of the ",
             taken_of_encoder(taken) + std::ssize(fresh),
             " parameters of this run's encoder; the other ", fresh.size(),
             " start with random values: ", first_names(fresh));
}

std::string other_vocabulary(const checkpoint::PretrainedWeights& given, const std::string& vocab) {
  if (vocab.empty()) return "";
  const std::string mine = text::vocabulary_bytes(vocab);
  const std::string way = "; embeddings are copied by row number";
  if (given.vocab_txt.empty()) {
    const std::uint32_t crc = text::vocabulary_crc32c(vocab);
    if (given.vocabulary_crc32c.value_or(crc) == crc) return "";
    return str("has another vocabulary than ", vocab, ": its crc32c is ", *given.vocabulary_crc32c,
               ", not ", crc, way);
  }
  if (text::is_sentencepiece_file(vocab)) {
    const std::int64_t other = text::first_different_piece(given.vocab_txt, mine);
    return other < 0 ? "" : str("has another vocabulary than ", vocab, " from id ", other, way);
  }
  const auto theirs = text::vocabulary_from_bytes(given.vocab_txt, given.where).tokens(),
             ours = text::vocabulary_from_bytes(mine, vocab).tokens();
  for (std::size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i)
    if (theirs[i] != ours[i])
      return str("has another vocabulary than ", vocab, ": row ", i, " is '", theirs[i],
                 "' instead of '", ours[i], "'", way);
  return "";
}

std::string table_of(const InitialWeights& taken) {
  std::string out = str("weights of ", taken.given.where, ":",
                        line("loaded", taken.parameters.size() - taken.resized.size(), {}));
  if (!taken.resized.empty()) out += line("resized", taken.resized.size(), taken.resized);
  if (!taken.fresh.empty()) out += line("random", taken.fresh.size(), taken.fresh);
  if (!taken.unused.empty()) out += line("unused", taken.unused.size(), taken.unused);
  return out;
}

}  // namespace smelt::execution
