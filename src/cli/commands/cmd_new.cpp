#include "cli/commands/cmd_new.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/options/json_output.h"
#include "cli/options/number_check.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/model_path.h"
#include "io/filesystem/path.h"
#include "pipeline/config/text_size.h"
#include "pipeline/estimate/advise.h"
#include "pipeline/starter/starter.h"

namespace smelt::cli {
namespace {

std::string kinds_text() {
  std::string out = "KIND:\n";
  for (const pipeline::StarterKind& kind : pipeline::starter_kinds())
    out += str("  ", kind.name, std::string(15 - std::min<std::size_t>(14, kind.name.size()), ' '),
               kind.help, "\n");
  return out;
}

void check_new(const std::string& path) {
  if (io::exists(path))
    throw UsageError(str(path, " exists already"), "name another file with --write");
}

void write_new(const std::string& path, const std::string& text) {
  check_new(path);
  io::write_file(path, text);
  std::cout << path << " written; try it with: smelt run " << path << " --small\n";
}

bool is_of_rows(const std::string& kind) {
  return kind == "classify" || kind == "entities" || kind == "text_to_text" || kind == "embedding";
}

// Throws UsageError if the folder's model is of another family than the kind's.
void check_family(const std::string& kind, const std::string& init, const std::string& family) {
  const bool is_named = kind == "roberta" || kind == "modernbert" || kind == "deberta";
  const std::string wanted = kind == "deberta" ? "deberta-v2" : kind;
  if (!is_named || family.empty() || family == wanted ||
      (kind == "roberta" && family == "xlm-roberta"))
    return;
  throw UsageError(str("--init: ", init, " is a model of type ", family, ", not ", wanted),
                   family == "bert" ? "use `smelt new continue`"
                                    : "name a folder of that type, or remove --init");
}

// Returns the size of the recipe's text, or nullopt if the text is not on this machine.
// Throws UsageError if the input is a folder.
std::optional<pipeline::TextSize> size_of_text(const pipeline::StarterRecipe& starter) try {
  if (is_of_rows(starter.kind)) return std::nullopt;
  return pipeline::text_size(io::expand_files(starter.input, "--input"));
} catch (const UsageError&) {
  if (io::is_folder(starter.input)) throw;
  return std::nullopt;
}

// Checks the folder of pretrained weights, and limits the length of examples to its positions.
void take_init(pipeline::StarterRecipe& starter) {
  if (starter.kind == "bert" || starter.kind == "electra" || starter.kind == "t5")
    throw UsageError(str("smelt new ", starter.kind,
                         ": --init is only for kinds that start from a pretrained model"),
                     "use `smelt new continue`, or remove --init");
  starter.init = io::model_path(starter.init, "--init");
  if (!io::exists(starter.init))
    throw UsageError(str("--init: ", starter.init, " does not exist"),
                     "for a model on the Hugging Face Hub write ORGANIZATION/NAME, as in "
                     "google-bert/bert-base-multilingual-cased");
  const std::string config = io::join_path(starter.init, "config.json");
  if (!io::exists(config)) return;
  const Json sizes = Json::parse_or_discard(io::read_file(config, std::size_t{1} << 20));
  if (!sizes.is_object()) return;
  const std::int64_t positions = sizes.value("max_position_embeddings", std::int64_t{512});
  check_family(starter.kind, starter.init, sizes.value("model_type", ""));
  starter.seq_length = static_cast<int>(std::clamp<std::int64_t>(positions, 8, starter.seq_length));
}

void run_new(pipeline::StarterRecipe& starter, const std::string& write) {
  if (!starter.init.empty()) take_init(starter);
  const bool is_given = !starter.input.empty();
  if (!is_given) starter.input = is_of_rows(starter.kind) ? "train.jsonl" : "text/*.txt";
  starter.text = size_of_text(starter);
  const std::string text = pipeline::starter_text(starter);
  if (is_given && !starter.text && !is_of_rows(starter.kind) && starter.kind != "continue")
    log_warning("new: {} not found: using a default vocab.size instead of one that fits the text",
                starter.input);
  // Patterns, commands and lists of files are not checked.
  if (is_given && is_of_rows(starter.kind) && !io::is_remote(starter.input) &&
      starter.input.find_first_of("*?[,!") == std::string::npos && !io::exists(starter.input))
    log_warning("new: {} not found", starter.input);
  if (write.empty())
    std::cout << text;
  else
    write_new(write, text);
}

struct AdviceCommand {
  pipeline::AdviceJob job;
  std::string on = "v2-8,v3-8,v5litepod-8,h100", write, prices;
  std::size_t row = 0;
  bool json = false;
};

OrderedJson estimate_json(const cost_model::Estimate& e) {
  return {{"low", e.low}, {"likely", e.likely}, {"high", e.high}};
}

OrderedJson advice_json(const pipeline::Advice& advice) {
  OrderedJson rows = OrderedJson::array();
  for (const pipeline::AdviceRow& row : advice.rows) {
    OrderedJson out{{"size", row.size.name},        {"type", row.plan.type.name},
                    {"parameters", row.parameters}, {"memory_bytes", row.memory},
                    {"fits", row.fits()},           {"batch", row.plan.batch},
                    {"steps", row.steps},           {"passes", row.passes}};
    out["vocabulary"] = row.vocabulary;
    out["step_seconds"] = estimate_json(*row.plan.form().step);
    out["hours"] = estimate_json(row.hours);
    out["dollars"] = estimate_json(row.dollars);
    rows.push_back(std::move(out));
  }
  OrderedJson out{{"rows", std::move(rows)}};
  out["best_row"] = advice.best ? OrderedJson(*advice.best + 1) : OrderedJson();
  return out;
}

// Returns the table as JSON.
OrderedJson run_advise(AdviceCommand& c) {
  if (!c.write.empty()) check_new(c.write);
  c.job.types = cost_model::find_accelerators("--on", c.on);
  const cost_model::Prices prices =
      c.prices.empty() ? cost_model::Prices() : cost_model::Prices(c.prices);
  const pipeline::Advice advice = pipeline::advise(c.job, prices);
  std::cout << pipeline::advice_text(advice, c.job);
  if (c.write.empty() && c.row > 0)
    throw UsageError("--row without --write", "add --write my.yaml");
  if (c.write.empty()) return advice_json(advice);
  if (c.row > advice.rows.size())
    throw UsageError(str("--row ", c.row, ": the table has rows 1 to ", advice.rows.size()));
  if (c.row == 0 && !advice.best)
    throw UsageError("advise: no row fits",
                     "choose one with --row, raise --budget, or name other types with --on");
  const pipeline::AdviceRow& row = advice.rows[c.row > 0 ? c.row - 1 : *advice.best];
  write_new(c.write, pipeline::advised_recipe(row, c.job, advice.text));
  return advice_json(advice);
}

}  // namespace

void add_new_command(CLI::App& app) {
  auto* command = app.add_subcommand("new", "write a recipe to start with, with comments");
  auto starter = std::make_shared<pipeline::StarterRecipe>();
  auto size = std::make_shared<std::string>("base");
  auto write = std::make_shared<std::string>();
  starter->input.clear();
  command->add_option("kind", starter->kind, "kind of model to train; see below")->required();
  command->add_option("--input", starter->input, "files or patterns with text or labelled rows");
  command
      ->add_option("--size", *size,
                   "size of a model that is trained from scratch: tiny, mini, medium, base, large")
      ->capture_default_str();
  command->add_option("--init", starter->init,
                      "folder of the pretrained model: a smelt run or a Hugging Face folder");
  command->add_option("--out", starter->out, "output folder of the recipe");
  command->add_option("--write", *write, "file to write the recipe to; default: print it");
  command->footer(kinds_text());
  command->callback([starter, size, write] {
    starter->size = pipeline::model_size(*size, "--size");
    run_new(*starter, *write);
  });
}

void add_advise_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "advise", "recommend model size, machine and steps for a text and a budget");
  auto c = std::make_shared<AdviceCommand>();
  command->add_option("text", c->job.input, "text files or patterns, separated by commas")
      ->required();
  command->add_option("--budget", c->job.budget, "budget in US dollars")
      ->check(dollars_above_zero())
      ->capture_default_str();
  command->add_flag("--spot", c->job.spot, "use spot prices for types that have one");
  command->add_option("--kind", c->job.kind, "kind of model: bert or electra")
      ->check(CLI::IsMember({"bert", "electra"}))
      ->capture_default_str();
  command->add_option("--on", c->on, "TPU or GPU types, separated by commas")
      ->capture_default_str();
  command->add_option("--prices", c->prices, "a YAML file of prices that override smelt's own");
  command->add_option("--write", c->write, "write the recipe of the chosen row to this file");
  command->add_option("--row", c->row, "number of the row to write; default: the one marked with *")
      ->check(number_from(1));
  add_json_flag(*command, c->json);
  command->callback([c] { print_result(c->json, [&] { return run_advise(*c); }); });
}

}  // namespace smelt::cli
