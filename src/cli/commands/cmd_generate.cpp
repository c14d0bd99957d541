#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include "base/choice.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/model_option.h"
#include "cli/options/answers.h"
#include "cli/options/number_check.h"
#include "cli/options/text_source.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

struct GenerateFlags {
  execution::GenerateOptions options;
  std::vector<std::string> texts;
  std::string prefix, input, field = "text", format = "auto", out, early_stopping = "no";
  bool json = false;
};

std::string in_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : std::string(1, c);
  return out;
}

// Returns exactly `asked` lines, one per answer. If beam search found fewer answers, the last lines
// are empty.
std::string answered_text(const std::vector<execution::Answer>& answers, std::int64_t asked) {
  std::string out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(asked); ++i) {
    if (i < answers.size())
      out += (asked > 1 ? str(rounded(answers[i].score, 3), "\t") : std::string()) +
             in_one_line(answers[i].text);
    out += "\n";
  }
  return out;
}

std::string answered_json(const std::string& text, const std::vector<execution::Answer>& answers) {
  const OrderedJson out{{"text", text}, {"answers", answers_json(answers)}};
  return out.dump(-1, ' ', false, JsonInvalidUtf8::replace) + "\n";
}

// Runs texts through a model in batches and writes their answers in order.
class Session {
 public:
  Session(execution::Generator generator, const GenerateFlags& flags)
      : generator_(std::move(generator)), flags_(flags) {
    if (flags.out.empty()) return;
    if (io::exists(flags.out))
      throw UsageError(str("generate: --out ", flags.out, " exists already"),
                       "name another file with --out");
    io::remove_abandoned({flags.out});
    file_.emplace(flags.out);
  }

  void add(const std::string& text, const std::string& where) {
    waiting_.push_back(text::decode_utf8_ignore(text, nullptr));
    std::erase(waiting_.back(), '\0');
    if (waiting_.back().size() < text.size())
      log_warning("{}: removed {} (invalid UTF-8 or NUL)", where,
                  counted(text.size() - waiting_.back().size(), "byte"));
    if (std::ssize(waiting_) == flags_.options.batch_size) flush();
  }
  void flush() {
    if (StopSignal::raised())
      throw Stopped(
          str("generate: stopped by a signal after ", counted(first_, "text"),
              file_ ? str("; ", flags_.out, " is not written") : ""),
          file_ ? "run it again; without --out, answers are printed immediately" : "run it again");
    if (waiting_.empty()) return;
    std::vector<std::string> composed = waiting_;
    for (std::string& text : composed) text::to_nfc(text);
    const auto answers = generator_.answer(composed, first_);
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      put(flags_.json ? answered_json(waiting_[i], answers[i])
                      : answered_text(answers[i], flags_.options.search.answers));
    first_ += std::ssize(waiting_);
    waiting_.clear();
    if (!file_) std::cout.flush();
  }
  void finish() {
    flush();
    if (file_) file_->commit();
  }

 private:
  void put(const std::string& line) {
    if (file_) return file_->write(line);
    if (!(std::cout << line)) throw SystemError("standard output: cannot be written to");
  }

  execution::Generator generator_;
  const GenerateFlags& flags_;
  std::optional<io::OutputFile> file_;
  std::vector<std::string> waiting_;
  std::int64_t first_ = 0;
};

// Answers the lines of standard input. Lines that are available together form a batch.
void converse(Session& session) {
  std::int64_t number = 0;
  each_input_line(
      [&](const std::string& line) { session.add(line, str("standard input:", ++number)); },
      [&] { session.flush(); });
}

void generate(const ModelOption& model, GenerateFlags& f) {
  f.options.search.early_stop = choose_of("--early-stopping", f.early_stopping, model::kEarlyStops);
  if (!f.input.empty() && !f.texts.empty())
    throw UsageError("generate: --text and --input cannot be combined", "remove one of the two");
  for (const char* flag : {"--format", "--field"})
    if (f.input.empty() && model.command->count(flag) > 0)
      throw UsageError(str("generate: ", flag, " without --input"),
                       "add --input FILE, or remove the flag");
  if (model.command->count("--prefix") > 0) f.options.prefix = f.prefix;
  Session session(model.load(pipeline::InferenceTask::generate).generator(f.options), f);
  if (f.input.empty() && f.texts.empty()) {
    converse(session);
    return session.finish();
  }
  const StopSignal stop("generate: stopping after these texts\n");
  if (!f.input.empty())
    each_text_of(
        {.path = f.input, .format = f.format, .field = f.field}, "generate",
        [&](const std::string& text, const std::string& where) { session.add(text, where); });
  for (const std::string& text : f.texts) session.add(text, "--text");
  session.finish();
}

void add_search_flags(CLI::App& command, GenerateFlags& f) {
  model::Search& s = f.options.search;
  const auto number = [&](const char* name, auto& value, double least, const char* help) {
    command.add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  number("--max-length", s.most_tokens, 1,
         "maximum number of tokens of an answer, including its end token");
  number("--min-length", s.least_tokens, 0, "minimum number of tokens of an answer");
  number("--beams", s.beams, 1, "number of beams; 1: greedy decoding");
  command
      .add_option("--length-penalty", s.length_penalty,
                  "with --beams: scores are divided by the length to this power")
      ->capture_default_str();
  command
      .add_option(
          "--early-stopping", f.early_stopping,
          "with --beams, when to stop once as many answers as beams are complete: yes (at once), "
          "no (if no unfinished beam has a better score at its current length) or never (if none "
          "could get a better score at any length)")
      ->check(CLI::IsMember({"no", "yes", "never"}))
      ->capture_default_str();
  command.add_flag("--sample", s.sample, "sample tokens by their probability");
  command
      .add_option("--temperature", s.temperature,
                  "with --sample: softmax temperature; below 1, likely tokens are more frequent")
      ->capture_default_str();
  number("--top-k", s.top_k, 0, "with --sample: choose among this many most likely tokens; 0: all");
  command
      .add_option("--top-p", s.top_p,
                  "with --sample: choose among the most likely tokens with this total probability")
      ->capture_default_str();
  number("--answers", s.answers, 1, "number of answers per text: samples, or the best beams");
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto* command = app.add_subcommand("generate", "run inference with a T5: generate text");
  const auto model = add_model_option(*command);
  auto f = std::make_shared<GenerateFlags>();
  command->add_option("--text", f->texts, "a text; may be given several times");
  command->add_option("--input", f->input,
                      "a file with one text per line, or rows (JSONL, TSV, CSV, Parquet)");
  command->add_option("--format", f->format, "format of --input; auto: by the file name")
      ->capture_default_str();
  command->add_option("--field", f->field, "with rows: column of the text")->capture_default_str();
  command->add_option("--out", f->out, "write the answers to this file instead of standard output");
  command->add_option(
      "--prefix", f->prefix,
      "prefix of each text, such as 'summarize: '; default: the prefix used in fine-tuning");
  add_search_flags(*command, *f);
  const auto number = [&](const char* name, auto& value, double least, const char* help) {
    command->add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  number("--max-inputs", f->options.most_inputs, 2,
         "maximum number of tokens per text; longer texts are truncated");
  number("--batch", f->options.batch_size, 1, "texts per batch");
  command->add_option("--seed", f->options.seed, "random seed of --sample")->capture_default_str();
  number("--devices", f->options.devices, 1, "number of devices that share a batch");
  command
      ->add_option("--mesh", f->options.mesh.mesh,
                   "device mesh: auto (each device has the whole model), or axis sizes such as "
                   "data=2,fsdp=2,tensor=2")
      ->capture_default_str();
  command->add_option("--mesh-rules", f->options.mesh.rules,
                      "how dimensions are sharded over the mesh, such as vocab=none");
  command->add_flag("--json", f->json, "print a JSON object for each text");
  command->callback([model, f] { generate(*model, *f); });
}

}  // namespace smelt::cli
