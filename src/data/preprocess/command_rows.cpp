#include "data/preprocess/command_rows.h"

#include <string_view>

#include "base/error.h"
#include "base/plural.h"
#include "base/run_program.h"
#include "io/filesystem/file.h"
#include "text/readers/json_members.h"
#include "text/readers/lines.h"
#include "text/readers/unicode.h"

namespace smelt::data {
namespace {

constexpr const char* kForm =
    "the command must print one line {\"text\": \"…\", \"label\": \"…\"} per row on standard "
    "output, and everything else on standard error";

// Collects lines up to the first one that is not a row.
class RowLines {
 public:
  RowLines(const CommandRowsJob& job, io::OutputFile& file) : job_(job), file_(file) {}

  // Returns false after an error.
  bool add(std::string_view piece) {
    bytes_ += piece.size();
    if (bytes_ > job_.most_bytes) wrong_ = str("printed more than ", job_.most_bytes >> 20, " MiB");
    while (wrong_.empty() && !piece.empty()) {
      const auto end = piece.find('\n');
      line_ += piece.substr(0, end);
      if (line_.size() > text::kMaxLineBytes)
        wrong_ = str("printed a line of more than ", text::kMaxLineBytes >> 20, " MiB");
      else if (end != std::string_view::npos)
        end_line();
      piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
    }
    return wrong_.empty();
  }
  void finish() {
    if (wrong_.empty() && !line_.empty()) end_line();
    if (wrong_.empty() && rows_ == 0) wrong_ = "printed no row";
  }
  const std::string& wrong() const { return wrong_; }
  std::uint64_t rows() const { return rows_; }

 private:
  void end_line() {
    ++number_;
    if (!text::python_strip(line_).empty()) {
      if (!text::for_each_member(line_, [](std::string_view, std::string_view) {}))
        wrong_ = str("printed no JSON object in line ", number_, ": '",
                     shortened(text::decode_utf8_ignore(line_, nullptr), 80), "'");
      ++rows_;
    }
    line_ += '\n';
    file_.write(line_);
    line_.clear();
  }

  const CommandRowsJob& job_;
  io::OutputFile& file_;
  std::string line_, wrong_;
  std::uint64_t bytes_ = 0, number_ = 0, rows_ = 0;
};

// Returns the last lines of the standard error, shortened for a message.
std::string last_words(const std::string& errors) {
  constexpr std::size_t kMost = 300;
  std::string text = text::decode_utf8_ignore(trim(errors), nullptr);
  if (text.size() > kMost)
    text = "…" + text::decode_utf8_ignore(text.substr(text.size() - kMost), nullptr);
  return text;
}

}  // namespace

std::uint64_t write_command_rows(const CommandRowsJob& job) {
  io::OutputFile file(job.output);
  RowLines lines(job, file);
  const ShellEnd end =
      stream_shell(job.command, [&](std::string_view piece) { return lines.add(piece); });
  std::string wrong = lines.wrong();
  if (wrong.empty() && end.status != 0) wrong = str("ended with status ", end.status);
  if (wrong.empty()) {
    lines.finish();
    wrong = lines.wrong();
  }
  if (!wrong.empty()) {
    const std::string said = last_words(end.errors);
    throw UsageError(str(job.what, ": '", shortened(job.command, 80), "' ", wrong,
                         said.empty() ? "" : "; standard error: " + said),
                     kForm);
  }
  file.commit();
  return lines.rows();
}

}  // namespace smelt::data
