#include "text/readers/squad_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/nearest_name.h"
#include "io/filesystem/decompress.h"

namespace smelt::text {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;
constexpr std::array<const char*, 5> kSquadFields{"title", "context", "id", "question", "answers"};

std::string whole_file(const std::string& path, std::uint64_t& bytes) {
  io::DecompressedFile file(path);
  std::string out;
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  for (std::size_t got = kAtOnce; got == kAtOnce;) {
    const std::size_t had = out.size();
    if (had > kMostBytes)
      throw UsageError(str(path, ": more than ", kMostBytes >> 30, " GiB in one JSON object"),
                       "write one question per line, as JSONL");
    out.resize(had + kAtOnce);
    got = file.read(std::span(out).subspan(had));
    out.resize(had + got);
  }
  bytes = file.bytes_read();
  return out;
}

[[noreturn]] void throw_other_form(const std::string& path, const std::string& what) {
  throw UsageError(str(path, ": not in the SQuAD format: ", what),
                   "write {\"data\": [{\"paragraphs\": [{\"context\", \"qas\"}]}]}, or use the "
                   "format jsonl for one object per line");
}

class SquadRows : public RowReader {
 public:
  SquadRows(const std::string& path, const std::vector<Field>& fields, FaultSink faults)
      : path_(path), fields_(fields), faults_(std::move(faults)) {
    for (const Field& field : fields)
      if (std::ranges::find(kSquadFields, field.name) == kSquadFields.end())
        throw UsageError(str(path, ": SQuAD files have no field '", field.name, "'"),
                         did_you_mean(field.name, std::vector<std::string>(kSquadFields.begin(),
                                                                           kSquadFields.end())));
    const Json whole = Json::parse_or_discard(whole_file(path, bytes_));
    if (whole.is_discarded()) throw_other_form(path, "it is not one JSON value");
    for (const Json& article : list(whole, "data"))
      for (const Json& paragraph : list(article, "paragraphs")) {
        contexts_.push_back({text(article, "title", true), text(paragraph, "context", false)});
        for (const Json& question : list(paragraph, "qas"))
          questions_.push_back({contexts_.size() - 1, question});
      }
  }

  bool next(std::vector<std::string>& values) override {
    values.resize(fields_.size());
    while (next_ < questions_.size()) {
      const auto& [context, question] = questions_[next_++];
      bool whole = true;
      for (std::size_t i = 0; i < fields_.size() && whole; ++i) {
        whole = take(contexts_[context], question, fields_[i], values[i]);
        if (whole) clean_text(values[i], line(), faults_);
      }
      if (whole) return true;
    }
    return false;
  }
  std::int64_t line() const override { return static_cast<std::int64_t>(next_); }
  std::uint64_t bytes_read() const override { return bytes_; }

 private:
  struct Context {
    std::string title, text;
  };
  struct Question {
    std::size_t context;
    Json all;
  };

  const Json& list(const Json& of, const char* name) const {
    const auto found = of.is_object() ? of.find(name) : of.end();
    if (found == of.end() || !found->is_array())
      throw_other_form(path_, str("no list '", name, "'"));
    return *found;
  }
  std::string text(const Json& of, const char* name, bool may_lack) const {
    const auto found = of.find(name);
    if (found != of.end() && found->is_string()) return found->get<std::string>();
    if (!may_lack) throw_other_form(path_, str("no text '", name, "'"));
    return {};
  }

  // Sets `value` to the field of the question. Returns false for a bad row.
  bool take(const Context& context, const Json& question, const Field& field, std::string& value) {
    if (field.name == "title" || field.name == "context") {
      value = field.name == "title" ? context.title : context.text;
      return true;
    }
    const auto found = question.is_object() ? question.find(field.name) : question.end();
    const bool answers = field.name == "answers";
    if (found != question.end() && (answers ? found->is_array() : found->is_string())) {
      value = answers ? found->dump(-1, ' ', false, JsonInvalidUtf8::replace)
                      : found->get<std::string>();
      return true;
    }
    value.clear();
    if (field.is_optional) return true;
    faults_({.line = line(),
             .what = str("question ", line(), " has no '", field.name, "'"),
             .hint = "each of \"qas\" has id, question and, to be learned from, answers"});
    return false;
  }

  std::string path_;
  std::vector<Field> fields_;
  std::vector<Context> contexts_;
  std::vector<Question> questions_;
  std::size_t next_ = 0;
  std::uint64_t bytes_ = 0;
  FaultSink faults_;
};

}  // namespace

std::unique_ptr<RowReader> open_squad(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults) {
  return std::make_unique<SquadRows>(path, fields, std::move(faults));
}

}  // namespace smelt::text
