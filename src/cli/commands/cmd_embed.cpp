#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/stop_signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/embed_flags.h"
#include "cli/commands/vector_output.h"
#include "cli/options/text_source.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

struct EmbedCommand {
  TextSource source;
  std::string output;
  bool json = false;
  std::shared_ptr<EmbedFlags> flags;
};

// Embeds texts in batches of similar length and writes the results in order.
class EmbeddedTexts {
 public:
  explicit EmbeddedTexts(const EmbedCommand& c)
      : flags_(*c.flags), output_(open_vector_output(c.output)), embedder_(flags_.load()) {}

  void add(std::string text) {
    waiting_.push_back(text::nfc(std::move(text)));
    if (waiting_.size() == flags_.texts_at_once()) flush();
  }
  void flush() {
    if (waiting_.empty()) return;
    const execution::EmbeddingRows rows = flags_.embed(embedder_, waiting_);
    output_->add(waiting_, rows);
    width_ = rows.width;
    count_ += waiting_.size();
    waiting_.clear();
  }
  void finish() {
    flush();
    if (count_ == 0)
      throw UsageError("embed: there is no text", "give texts with --input or --text");
    flags_.warn_of_cut(embedder_);
    embedder_.tokens().warn("embed", embedder_.tokenizer().vocabulary().origin());
    output_->commit();
  }
  OrderedJson summary(const std::string& output) const {
    return {{"output", output},
            {"texts", count_},
            {"dimensions", width_},
            {"truncated", embedder_.cut()}};
  }

 private:
  const EmbedFlags& flags_;
  std::unique_ptr<VectorOutput> output_;
  execution::TextEmbedder embedder_;
  std::vector<std::string> waiting_;
  std::size_t width_ = 0;
  std::uint64_t count_ = 0;
};

void embed(const EmbedCommand& c) {
  if (!c.source.texts.empty() && !c.source.file.path.empty())
    throw UsageError("embed: --text and --input cannot be combined", "remove one of the two");
  EmbeddedTexts texts(c);
  // A signal ends a program at once that waits for standard input and writes no file.
  const bool converses = c.source.texts.empty() && c.source.file.path.empty() && c.output.empty();
  std::optional<StopSignal> stop;
  if (!converses) stop.emplace("embed: stopping after this batch\n");
  for (const std::string& text : c.source.texts) texts.add(text);
  if (!c.source.file.path.empty())
    each_text_of(c.source.file, "embed",
                 [&](const std::string& text, const std::string&) { texts.add(text); });
  else if (c.source.texts.empty())
    each_input_line([&](std::string line) { texts.add(std::move(line)); },
                    [&] {
                      if (c.output.empty()) texts.flush();
                    });
  texts.finish();
  if (c.json && !c.output.empty()) std::cout << texts.summary(c.output).dump() << "\n";
}

}  // namespace

void add_embed_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "embed", "inference with an embedding model: a vector for each text, for semantic search");
  auto c = std::make_shared<EmbedCommand>();
  c->flags = add_embed_flags(*command);
  add_text_source(*command, c->source, "a text; may be given several times");
  command->add_option(
      "--output", c->output,
      "the file to write: .npy (a float32 matrix with a row for each text), "
      ".parquet (columns text and embedding) or .jsonl; default: JSON lines on standard output");
  command->add_flag(
      "--json", c->json,
      "with --output: print one JSON object with the numbers of texts and dimensions");
  command->callback([c] { embed(*c); });
}

}  // namespace smelt::cli
