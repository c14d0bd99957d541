#include "cli/options/text_source.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iostream>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "text/readers/bad_row_limit.h"
#include "text/readers/lines.h"
#include "text/readers/rows.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

// Maximum number of texts in a batch; they are padded to the longest and run together.
constexpr std::size_t kTextsAtOnce = 256;

class TextBatches {
 public:
  using Take = std::function<void(const std::vector<std::string>&)>;
  explicit TextBatches(const Take& take) : take_(take) {}

  void add(std::string text) {
    waiting_.push_back(text::nfc(std::move(text)));
    if (waiting_.size() == kTextsAtOnce) flush();
  }
  // Passes the texts on. If they are refused, passes them on one by one, so that the texts before
  // the one at fault are answered.
  void flush() {
    if (waiting_.empty()) return;
    const auto texts = std::exchange(waiting_, {});
    if (texts.size() == 1) return take_(texts);
    try {
      take_(texts);
    } catch (const UsageError&) {
      for (const std::string& text : texts) take_({text});
      throw;
    }
  }

 private:
  const Take& take_;
  std::vector<std::string> waiting_;
};

// Returns true if a read of standard input would not block.
bool has_input() {
  ::pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) > 0;
}

std::size_t read_input(std::span<char> buffer) {
  for (;;) {
    const ::ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw_errno("read", "standard input", errno);
  }
}

}  // namespace

void each_input_line(const std::function<void(std::string line)>& take,
                     const std::function<void()>& before_wait) {
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
  text::TextFaults faults;
  std::int64_t number = 0;
  const auto give = [&](std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    faults.clean(line, "standard input", ++number);
    take(std::move(line));
  };
  std::vector<char> buffer(std::size_t{1} << 16);
  std::string waiting;  // the line whose end is not read yet
  for (;;) {
    if (!has_input()) before_wait();
    if (is_terminal) std::cerr << "> " << std::flush;
    const std::string_view part(buffer.data(), read_input(buffer));
    if (part.empty()) break;
    std::size_t begin = 0;
    for (auto end = part.find('\n'); end != part.npos; end = part.find('\n', begin)) {
      waiting += part.substr(begin, end - begin);
      give(std::exchange(waiting, {}));
      begin = end + 1;
    }
    waiting += part.substr(begin);
  }
  if (!waiting.empty()) give(std::move(waiting));
  before_wait();
  faults.finish();
}

void each_text_of(
    const TextFile& file, const std::string& command,
    const std::function<void(const std::string& text, const std::string& where)>& take) {
  const text::FileFormat format = text::format_of(file.path, text::parse_file_format(file.format));
  Progress progress(command, static_cast<std::int64_t>(io::file_size(file.path)), Progress::kBytes);
  text::TextFaults faults;
  text::EncodingCheck encoding(file.path);
  const auto clean = [&](const text::TextFault& fault) {
    encoding.add(fault);
    faults.add(fault, file.path);
  };
  std::int64_t line = 0;
  const auto take_text = [&](const std::string& text, std::uint64_t read) {
    encoding.add_text(text.size());
    take(text, str(file.path, ":", ++line));
    progress.update(static_cast<std::int64_t>(read));
  };
  if (format == text::FileFormat::text) {
    text::LineReader lines(file.path);
    for (std::string text; lines.next(text);) {
      text::clean_text(text, lines.number(), clean);
      take_text(text, lines.bytes_read());
    }
    if (line == 0) log_warning("{}: {} holds no text", command, file.path);
    return faults.finish();
  }
  const auto refuse = [&](const text::TextFault& fault) {
    if (fault.kind != text::TextFault::Kind::bad_row) return clean(fault);
    throw UsageError(str(file.path, ":", fault.line, ": unreadable row: ", fault.what),
                     "correct or remove the row");
  };
  const auto rows = text::open_rows(file.path, format, {{.name = file.field}}, refuse);
  for (std::vector<std::string> row; rows->next(row);) take_text(row.front(), rows->bytes_read());
  faults.finish();
}

void add_text_source(CLI::App& command, TextSource& source, const std::string& help_of_text) {
  command.add_option("--text", source.texts, help_of_text);
  command.add_option(
      "--input", source.file.path,
      "a file with one text per line, or rows (JSONL, TSV, CSV, Parquet); without --text and "
      "--input, texts are read from standard input, one per line");
  command
      .add_option(
          "--format", source.file.format,
          "format of --input: text, jsonl, tsv, tsv-quoted, csv or parquet; auto: by the file name")
      ->capture_default_str();
  command.add_option("--field", source.file.field, "field or column with the text")
      ->capture_default_str();
}

void each_batch(const TextSource& source, const std::string& command,
                const std::function<void(const std::vector<std::string>& texts)>& take) {
  if (!source.texts.empty() && !source.file.path.empty())
    throw UsageError(str(command, ": --text and --input cannot be combined"),
                     "remove one of the two");
  if (!source.texts.empty()) {
    std::vector<std::string> texts = source.texts;
    for (std::string& text : texts) text::to_nfc(text);
    return take(texts);
  }
  TextBatches batches(take);
  if (source.file.path.empty())
    each_input_line([&](std::string line) { batches.add(std::move(line)); },
                    [&] { batches.flush(); });
  else
    each_text_of(source.file, command,
                 [&](const std::string& text, const std::string&) { batches.add(text); });
  batches.flush();
}

}  // namespace smelt::cli
