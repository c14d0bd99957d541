#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/number_format.h"
#include "base/progress.h"
#include "cli/commands/commands.h"
#include "cli/options/text_flags.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "text/readers/bad_row_limit.h"
#include "text/readers/lines.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/script_counts.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/unknown_count.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::cli {
namespace {

struct TokenizeJob {
  std::string vocab, model, input, save;
  std::vector<std::string> texts;
  text::TokenizerFlags flags;
  bool ids = false, offsets = false, json = false, decode = false, stats = false, overwrite = false;
};

const std::string& vocabulary_of(const TokenizeJob& job) {
  return job.vocab.empty() ? job.model : job.vocab;
}

std::string text_of(const TokenizeJob& job) {
  return !job.input.empty() ? job.input : job.texts.empty() ? "standard input" : "--text";
}

// Calls `visit` with each text and its position; bytes that are not UTF-8 are dropped.
void for_each_text(const TokenizeJob& job,
                   const std::function<void(const std::string&, const std::string&)>& visit) {
  for (const std::string& text : job.texts)
    visit(text::decode_utf8_ignore(text, nullptr), "--text");
  std::string line;
  if (!job.input.empty()) {
    text::TextFaults faults;
    const std::vector<std::string> files = io::expand_files(job.input, "--input");
    std::optional<Progress> progress;
    if (::isatty(STDOUT_FILENO) == 0)  // a terminal shows the output itself
      progress.emplace("tokenize", static_cast<std::int64_t>(io::total_size(files)),
                       Progress::kBytes);
    std::uint64_t before = 0;
    for (const std::string& path : files) {
      text::LineReader lines(path);
      while (lines.next(line)) {
        faults.clean(line, path, lines.number());
        visit(line, str(path, ":", lines.number()));
        if (progress) progress->update(static_cast<std::int64_t>(before + lines.bytes_read()));
      }
      before += lines.bytes_read();
    }
    faults.finish();
  } else if (job.texts.empty()) {
    text::TextFaults faults;
    for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
      faults.clean(line, "standard input", number);
      visit(line, str("standard input:", number));
    }
    faults.finish();
  }
}

// Writes lines to standard output in large blocks, or line by line if the input is interactive.
class Output {
 public:
  explicit Output(bool at_once) : at_once_(at_once) {}
  void line(std::string_view text) {
    pending_.append(text).push_back('\n');
    if (at_once_ || pending_.size() > (1 << 16)) flush();
  }
  void flush() {
    std::cout.write(pending_.data(), std::ssize(pending_)).flush();
    pending_.clear();
    if (!std::cout) throw SystemError("standard output: cannot be written to");
  }

 private:
  bool at_once_;
  std::string pending_;
};

std::string as_json(const text::Tokenizer& tokenizer, const std::vector<text::TokenSpan>& spans) {
  OrderedJson out{{"ids", OrderedJson::array()},
                  {"pieces", OrderedJson::array()},
                  {"offsets", OrderedJson::array()}};
  for (const text::TokenSpan& span : spans) {
    out["ids"].push_back(span.id);
    out["pieces"].push_back(tokenizer.token(span.id));
    out["offsets"].push_back({span.begin, span.end});
  }
  return out.dump(-1, ' ', false, JsonInvalidUtf8::replace);
}

void encode_texts(const TokenizeJob& job, const text::Tokenizer& tokenizer) {
  Output output(job.input.empty());
  text::UnknownCount counted;
  const auto spans_of = [&](const std::string& text) {
    auto spans = text::in_characters(text, tokenizer.encode_with_offsets(text));
    std::vector<std::int32_t> of_spans;
    for (const text::TokenSpan& span : spans) of_spans.push_back(span.id);
    counted.add(text, of_spans, tokenizer);
    return spans;
  };
  std::vector<std::int32_t> ids;
  for_each_text(job, [&](const std::string& text, const std::string&) {
    if (job.json) return output.line(as_json(tokenizer, spans_of(text)));
    if (job.offsets) {
      for (const text::TokenSpan& span : spans_of(text))
        output.line(str(span.begin, "\t", span.end, "\t", span.id, "\t", tokenizer.token(span.id)));
      return output.line("");
    }
    ids.clear();
    tokenizer.encode(text, ids);
    counted.add(text, ids, tokenizer);
    std::string line;
    for (const std::int32_t id : ids) {
      if (!line.empty()) line += ' ';
      line += job.ids ? std::to_string(id) : tokenizer.token(id);
    }
    output.line(line);
  });
  output.flush();
  counted.warn(text_of(job), vocabulary_of(job));
}

std::vector<std::int32_t> parse_ids(std::string_view text, const std::string& where) {
  std::vector<std::int32_t> ids;
  for (const std::string_view word : split(text, ' ')) {
    if (trim(word).empty()) continue;
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size())
      throw UsageError(str(where, ": '", word, "' is not an id"), "separate ids by spaces");
    ids.push_back(id);
  }
  return ids;
}

void decode_texts(const TokenizeJob& job, const text::Tokenizer& tokenizer) {
  Output output(job.input.empty());
  for_each_text(job, [&](const std::string& text, const std::string& where) {
    const std::string decoded = tokenizer.decode(parse_ids(text, where));
    output.line(job.json
                    ? OrderedJson{{"text", decoded}}.dump(-1, ' ', false, JsonInvalidUtf8::replace)
                    : decoded);
  });
  output.flush();
}

struct Statistics {
  std::uint64_t texts = 0, bytes = 0, pieces = 0, unknown = 0;
  double encode_seconds = 0;  // processor time
  text::ScriptCounts scripts;
};

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Encodes about a thousand texts per time measurement, so that reading the clock costs little.
void encode_timed(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  Statistics& s) {
  std::vector<std::int32_t> ids;
  const double start = processor_seconds();
  for (const std::string& text : texts) {
    ids.clear();
    tokenizer.encode(text, ids);
  }
  s.encode_seconds += processor_seconds() - start;
  for (const std::string& text : texts) {
    const std::vector<text::TokenSpan> spans = tokenizer.encode_with_offsets(text);
    s.scripts.add(text, spans, tokenizer.unknown());
    s.texts += 1;
    s.bytes += text.size() + 1;
    s.pieces += spans.size();
    for (const text::TokenSpan& span : spans) s.unknown += span.id == tokenizer.unknown() ? 1 : 0;
  }
}

Statistics measure(const TokenizeJob& job, const text::Tokenizer& tokenizer) {
  constexpr std::size_t kBytesAtOnce = 1 << 20;
  Statistics s;
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for_each_text(job, [&](const std::string& text, const std::string&) {
    texts.push_back(text);
    bytes += text.size();
    if (bytes < kBytesAtOnce) return;
    encode_timed(tokenizer, texts, s);
    texts.clear();
    bytes = 0;
  });
  encode_timed(tokenizer, texts, s);
  return s;
}

std::string statistics_json(const Statistics& s) {
  OrderedJson scripts = OrderedJson::array();
  for (const text::ScriptCount& c : s.scripts.sorted())
    scripts.push_back({{"script", c.script},
                       {"characters", c.characters},
                       {"pieces", c.pieces},
                       {"unknown", c.unknown}});
  return OrderedJson{{"texts", s.texts},
                     {"bytes", s.bytes},
                     {"pieces", s.pieces},
                     {"unknown", s.unknown},
                     {"encode_seconds", s.encode_seconds},
                     {"scripts", scripts}}
      .dump();
}

std::string statistics_text(const Statistics& s) {
  std::ostringstream out;
  out << std::fixed << "texts:    " << s.texts << ", " << s.bytes
      << " bytes\npieces:   " << s.pieces << ", " << s.unknown << " unknown ("
      << std::setprecision(3) << 100 * share(s.unknown, s.pieces)
      << " %)\nencoding: " << s.encode_seconds
      << " s of processor time, without reading and counting\n"
      << std::left << std::setw(20) << "script" << std::right << std::setw(14) << "characters"
      << std::setw(14) << "pieces" << std::setw(14) << "unknown";
  for (const text::ScriptCount& c : s.scripts.sorted())
    out << "\n"
        << std::left << std::setw(20) << c.script << std::right << std::setw(14) << c.characters
        << std::setw(14) << c.pieces << std::setw(14) << c.unknown;
  return out.str();
}

void save(const TokenizeJob& job, const text::Tokenizer& tokenizer) {
  const bool json = text::is_tokenizer_json(job.save);
  for (const std::string& path :
       {job.save, json ? job.save : text::tokenizer_config_path(job.save)})
    if (!job.overwrite && io::exists(path))
      throw UsageError(str("--save: ", path, " exists"), "choose another name or add --overwrite");
  if (const auto* bert = dynamic_cast<const text::BertTokenizer*>(&tokenizer))
    return bert->save(job.save);
  if (const auto* subword = dynamic_cast<const text::SubwordTokenizer*>(&tokenizer))
    return subword->save(job.save);
  throw UsageError(str("--save: ", vocabulary_of(job), " is a SentencePiece model"),
                   "copy the file instead");
}

void run(const TokenizeJob& job) {
  if (job.vocab.empty() == job.model.empty())
    throw UsageError(str("smelt tokenize: ",
                         job.vocab.empty() ? "neither --vocab nor --model" : "--vocab and --model"),
                     "use one: --vocab for vocab.txt or tokenizer.json, --model for SentencePiece");
  const auto tokenizer = text::load_tokenizer(vocabulary_of(job), job.flags);
  if (!job.save.empty()) return save(job, *tokenizer);
  if (job.decode) return decode_texts(job, *tokenizer);
  if (!job.stats) return encode_texts(job, *tokenizer);
  const Statistics statistics = measure(job, *tokenizer);
  std::cout << (job.json ? statistics_json(statistics) : statistics_text(statistics)) << "\n";
  text::UnknownCount{.unknown = statistics.unknown, .tokens = statistics.pieces}.warn(
      text_of(job), vocabulary_of(job));
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  auto job = std::make_shared<TokenizeJob>();
  auto* command = app.add_subcommand("tokenize", "split text into tokens, or join tokens to text");
  command->add_option("--vocab", job->vocab,
                      "vocabulary: vocab.txt, tokenizer.json, or vocab.json with merges.txt");
  command->add_option("--model", job->model, "SentencePiece model: spiece.model");
  command->add_option("--text", job->texts, "a text; may be given several times")->take_all();
  command->add_option("--input", job->input,
                      "files or patterns, separated by commas; default: standard input");
  auto* ids = command->add_flag("--ids", job->ids, "print ids instead of pieces");
  command
      ->add_flag("--offsets", job->offsets,
                 "print one piece per line: start and end in characters, id, piece")
      ->excludes(ids);
  command->add_flag("--json", job->json,
                    "print one JSON object per text, with ids, pieces and offsets in characters");
  command->add_flag("--decode", job->decode, "decode: read ids instead of texts, and print text");
  command->add_flag("--stats", job->stats, "count pieces and unknown pieces by script");
  add_tokenizer_flags(*command, job->flags);
  command->add_option("--save", job->save,
                      "write the vocabulary to this file: tokenizer.json, vocab.txt (with its "
                      "tokenizer_config.json) or vocab.json (with merges.txt)");
  command->add_flag("--overwrite", job->overwrite, "replace existing files of --save");
  command->callback([job] { run(*job); });
}

}  // namespace smelt::cli
