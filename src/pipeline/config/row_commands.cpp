#include "pipeline/config/row_commands.h"

#include <array>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "data/preprocess/command_rows.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "pipeline/config/recipe_checks.h"

namespace smelt::pipeline {
namespace {

constexpr std::array<const char*, 3> kParts{"train", "validation", "test"};

std::string value_of(const Recipe& r, const std::string& part) { return r.data.value(part, ""); }

std::string command_of(const std::string& value) {
  return std::string(trim(std::string_view(value).substr(1)));
}

std::string kept_rows(const Recipe& r, const std::string& part) {
  return io::join_path(r.out, str("rows/", part, ".jsonl"));
}

void keep_rows(const Recipe& r, const std::string& part) {
  const data::CommandRowsJob job{.command = command_of(value_of(r, part)),
                                 .what = str("data.", part),
                                 .output = kept_rows(r, part)};
  log_info("rows: {}: running '{}'", job.what, shortened(job.command, 80));
  log_info("rows: {}: {} in {}", job.what, counted(data::write_command_rows(job), "row"),
           job.output);
}

}  // namespace

bool is_row_command(const std::string& value) { return value.starts_with('!'); }

std::string row_input(const Recipe& r, const std::string& part) {
  const std::string value = value_of(r, part);
  return is_row_command(value) ? kept_rows(r, part) : value;
}

std::vector<std::string> row_files(const Recipe& r) {
  std::vector<std::string> out;
  for (const char* part : kParts) {
    const std::string input = row_input(r, part);
    if (input.empty() || (is_row_command(value_of(r, part)) && !io::exists(input))) continue;
    for (std::string& file : io::expand_files(input, str("data.", part)))
      out.push_back(std::move(file));
  }
  return out;
}

void check_row_commands(const Recipe& r) {
  const RecipeChecks checks(r);
  for (const char* part : kParts) {
    const std::string value = value_of(r, part), field = str("data.", part);
    if (!is_row_command(value)) continue;
    checks.require(!command_of(value).empty(), {field}, str(field, " is '!' without a command"),
                   "write a command that prints one row per line: '!./my_dataset.py train'");
    const std::string format = r.data.value("format", "auto");
    checks.require(
        format == "auto" || format == "jsonl", {"data.format", field},
        str("data.format is ", format, ", but ", field, " is a command"),
        "remove data.format: commands print JSONL, and the format of a file follows from its name");
  }
}

Json scripts_of(const std::string& command) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  Json out = Json::object();
  for (const std::string_view word : split(command, ' ')) {
    const std::string path(word);
    if (path.empty() || io::is_remote(path)) continue;
    const auto status = io::file_status(path);
    if (status && !status->is_folder && status->size > 0 && status->size <= kLargest)
      out[path] = io::hex_text(io::crc32c(io::read_file(path, kLargest)));
  }
  return out;
}

std::optional<Stage> rows_stage(const Recipe& r, const std::string& part) {
  const std::string value = value_of(r, part), rows = kept_rows(r, part);
  if (!is_row_command(value)) return std::nullopt;
  return Stage{.name = "rows-" + part,
               .settings = {{"data", {{part, value}}}, {"script", scripts_of(command_of(value))}},
               .inputs = [] { return std::vector<std::string>(); },
               .outputs = [rows] { return std::vector{rows}; },
               .make = [r, part] { keep_rows(r, part); }};
}

std::vector<std::string> stored_row_settings(const Recipe& r) {
  std::vector<std::string> out;
  for (const char* part : kParts)
    if (is_row_command(value_of(r, part)))
      out.push_back(str("data.", part, "=", kept_rows(r, part)));
  return out;
}

}  // namespace smelt::pipeline
