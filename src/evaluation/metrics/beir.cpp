#include "evaluation/metrics/beir.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "text/readers/lines.h"

namespace smelt::evaluation {
namespace {

using Numbers = std::unordered_map<std::string, std::size_t>;

std::string required_file(const std::string& folder, const std::string& name,
                          const std::string& where) {
  const std::string path = io::join_path(folder, name);
  if (!io::exists(path))
    throw UsageError(str(where, ": ", path, " does not exist"),
                     "give a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv");
  return path;
}

// Reads the texts of a JSONL file and numbers their ids.
std::vector<BeirText> read_texts(const std::string& path, Numbers& numbers) {
  std::vector<BeirText> out;
  text::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    if (trim(line).empty()) continue;
    const Json row = Json::parse_or_discard(line);
    const auto is_text = [&](const char* field) {
      return row.contains(field) && row[field].is_string();
    };
    if (!row.is_object() || !is_text("_id") || !is_text("text"))
      throw UsageError(str(path, ":", lines.number(),
                           ": expected an object with the texts _id "
                           "and text"),
                       "use the layout of BEIR's corpus.jsonl and queries.jsonl");
    BeirText one{.id = row["_id"].get<std::string>(), .text = row["text"].get<std::string>()};
    if (is_text("title") && !row["title"].get<std::string>().empty())
      one.text = str(row["title"].get<std::string>(), " ", one.text);
    if (!numbers.emplace(one.id, out.size()).second)
      throw UsageError(str(path, ":", lines.number(), ": _id '", one.id, "' occurs twice"),
                       "give each text its own _id");
    out.push_back(std::move(one));
  }
  return out;
}

std::size_t number_of(const Numbers& numbers, std::string_view id, const std::string& place,
                      const char* file) {
  const auto found = numbers.find(std::string(trim(id)));
  if (found == numbers.end())
    throw UsageError(str(place, ": '", trim(id), "' is not an _id of ", file),
                     "use the qrels of the same dataset");
  return found->second;
}

}  // namespace

BeirData read_beir(const std::string& folder, const std::string& split_name,
                   const std::string& where) {
  BeirData all;
  Numbers documents, queries;
  all.documents = read_texts(required_file(folder, "corpus.jsonl", where), documents);
  all.queries = read_texts(required_file(folder, "queries.jsonl", where), queries);
  all.grades.resize(all.queries.size());
  const std::string qrels = required_file(folder, str("qrels/", split_name, ".tsv"), where);
  text::LineReader lines(qrels);
  for (std::string line; lines.next(line);) {
    const auto columns = split(line, '\t');
    if (trim(line).empty()) continue;
    const std::string place = str(qrels, ":", lines.number());
    char* end = nullptr;
    const std::string grade(columns.size() == 3 ? trim(columns[2]) : "");
    const double value = std::strtod(grade.c_str(), &end);
    const bool is_number = !grade.empty() && *end == '\0' && std::isfinite(value);
    if (!is_number && lines.number() == 1) continue;  // the header
    if (!is_number)
      throw UsageError(str(place, ": expected query-id, corpus-id and score, separated by tabs"),
                       "use the layout of BEIR's qrels");
    all.grades[number_of(queries, columns[0], place, "queries.jsonl")].push_back(
        {.document = number_of(documents, columns[1], place, "corpus.jsonl"), .grade = value});
  }
  BeirData out{.documents = std::move(all.documents), .queries = {}, .grades = {}};
  for (std::size_t i = 0; i < all.queries.size(); ++i) {
    if (std::ranges::none_of(all.grades[i], [](const BeirGrade& one) { return one.grade > 0; }))
      continue;
    out.queries.push_back(std::move(all.queries[i]));
    out.grades.push_back(std::move(all.grades[i]));
  }
  if (out.queries.empty())
    throw UsageError(str(where, ": ", qrels, " has no query with a relevant document"),
                     "give lines with a score above 0");
  return out;
}

}  // namespace smelt::evaluation
