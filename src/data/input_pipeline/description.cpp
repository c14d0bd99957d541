#include "data/input_pipeline/description.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/plural.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/json_field.h"
#include "text/readers/composed_json.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::data {
namespace {

constexpr std::string_view kHint =
    "remove the file, or make the data again, with `smelt run` or `smelt data`";

}  // namespace

DataDescription parse_description(std::string_view text, std::string origin) {
  DataDescription out;
  out.all = Json::parse_or_discard(text);
  if (out.all.is_discarded()) throw UsageError(str(origin, ": not JSON"), kHint);
  const io::JsonField fields(out.all, origin, kHint);
  if (!out.all.is_object()) fields.refuse("not a JSON object");
  out.kind = fields["kind"].as<std::string>("");
  out.files = fields["files"].as_texts();
  out.examples = fields["examples"].as_number<std::uint64_t>();
  out.masked_tokens = fields["masked_tokens"].as_number<std::uint64_t>();
  const auto section = [&](std::string_view name) {
    const io::JsonField field = fields[name];
    if (!field.is_null() && !field.value().is_object()) field.refuse("not a JSON object");
    return field;
  };
  const io::JsonField vocabulary = section("vocabulary"), majority = section("majority_token");
  out.vocabulary_file = vocabulary["file"].as<std::string>("");
  out.vocabulary_crc32c = vocabulary["crc32c"].as_number<std::uint32_t>();
  const auto id = majority["id"].as_number<std::int32_t>();
  const auto count = majority["count"].as_number<std::uint64_t>();
  if (id && count) out.majority_token = {.id = *id, .count = *count};
  const io::JsonField text_counts = section("text");
  const auto characters = text_counts["characters"].as_number<std::uint64_t>(),
             tokens = text_counts["tokens"].as_number<std::uint64_t>();
  if (characters && tokens && *characters > 0 && *tokens > 0)
    out.characters_per_token = static_cast<double>(*characters) / static_cast<double>(*tokens);
  out.origin = std::move(origin);
  return out;
}

text::UnknownCount unknown_count(const DataDescription& description) {
  const Json text = description.all.is_object() ? description.all.value("text", Json()) : Json();
  if (!text.is_object()) return {};
  return {.unknown = text.value("unknown_tokens", std::uint64_t{0}),
          .tokens = text.value("tokens", std::uint64_t{0})};
}

void warn_of_unknown_tokens(const DataDescription& d) {
  unknown_count(d).warn(
      d.origin, d.vocabulary_file.empty() ? "the vocabulary of the data" : d.vocabulary_file);
}

void check_description(const DataDescription& d, const ExpectedData& e) {
  const auto differ = [&](std::string_view what, const auto& said, const auto& wanted,
                          const std::string& hint) {
    throw UsageError(str(d.origin, ": ", what, " is ", said, ", expected ", wanted), hint);
  };
  if (d.examples && *d.examples != e.examples)
    differ("examples", *d.examples, e.examples,
           "files are missing or from another run: make the data again, with `smelt run` or `smelt "
           "data`");
  for (const auto& [name, wanted] : e.settings)
    if (const Json said = d.all.value(name, wanted); text::composed(said) != text::composed(wanted))
      differ(name, said, wanted,
             str("set ", name, " to ", said,
                 ", or make the data again, with `smelt run` or `smelt data`"));
  if (e.vocab.empty() || !d.vocabulary_crc32c) return;
  if (const std::uint32_t crc = text::vocabulary_crc32c(e.vocab); *d.vocabulary_crc32c != crc)
    differ(str("the vocabulary's CRC-32C (", d.vocabulary_file, ")"), *d.vocabulary_crc32c, crc,
           str("make the data again with ", e.vocab, ", by `smelt run` or `smelt data`"));
}

std::vector<std::string> left_out(const DataDescription& description,
                                  const std::vector<std::string>& files) {
  std::set<std::string> given;
  for (const std::string& file : files) given.insert(io::path_name(file));
  std::vector<std::string> out;
  for (const std::string& name : description.files)
    if (!given.contains(io::path_name(name))) out.push_back(name);
  return out;
}

std::string missing_files_text(const DataDescription& description,
                               const std::vector<std::string>& left_out) {
  return str(counted(description.files.size(), "file"), " in the description, ", left_out.size(),
             " of them not given (", left_out.front(), left_out.size() > 1 ? ", …)" : ")");
}

std::optional<DataDescription> find_description(const std::vector<std::string>& files) {
  if (files.empty()) return std::nullopt;
  const std::string path = io::append_to_path(files.front(), ".json");
  if (io::exists(path)) return parse_description(io::read_file(path, io::kSmallFileBytes), path);
  const std::string of_folder = io::join_path(io::parent_path(files.front()), kFolderDescription);
  if (!io::exists(of_folder)) return std::nullopt;
  DataDescription found =
      parse_description(io::read_file(of_folder, io::kSmallFileBytes), of_folder);
  const bool tells =
      std::ranges::find(found.files, io::path_name(files.front())) != found.files.end();
  return tells ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace smelt::data
