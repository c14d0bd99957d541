#include "recipe/dry_run.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/progress.h"
#include "base/words.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/given_weights.h"
#include "recipe/objective_type.h"
#include "recipe/optimizer_choice.h"
#include "recipe/schedule_choice.h"
#include "recipe/stage.h"
#include "recipe/vocabulary_facts.h"
#include "runtime/hardware.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/folder_lock.h"
#include "store/path.h"
#include "train/job_checks.h"

namespace smelt {
namespace {

// "  name            value", a line each.
class Lines {
 public:
  void title(std::string_view text) { out_ << text << "\n"; }
  void add(std::string_view name, const std::string& value) {
    out_ << "  " << std::left << std::setw(38) << name << value << "\n";
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

void add_fields(const Recipe& r, Lines& lines) {
  lines.title("recipe");
  for (const RecipeField& field : recipe_fields(r.type->name)) {
    const auto dot = field.path.find('.');
    const std::string section = dot == std::string::npos ? "" : field.path.substr(0, dot);
    const auto& value = r.sections.at(section).at(
        dot == std::string::npos ? field.path : field.path.substr(dot + 1));
    const std::string& origin = r.origins.at(field.path);
    lines.add(field.path, str(value.is_string() ? value.get<std::string>() : value.dump(),
                              value.dump() == field.default_value ? "" : str("   (", origin, ")")));
  }
}

// Training refuses a vocabulary of more pieces than the model has rows for.
void check_vocab_size(const Recipe& r) {
  const std::int64_t rows = r.sections.at("model").value("vocab_size", std::int64_t{0});
  if (!r.vocab.file.empty())
    (void)vocabulary_rows(rows, Vocabulary::load(r.vocab.file), "model.vocab_size");
  else if (rows != 0 && rows < r.vocab.size)
    spdlog::warn(
        "model.vocab_size {} is smaller than vocab.size {}: the run ends before it trains unless "
        "the text gives fewer pieces",
        rows, r.vocab.size);
}

void add_text(const Recipe& r, Lines& lines) {
  const auto files = text_inputs(r);
  for (const std::string& file : files) {
    char first = 0;
    (void)InputFile(file).read({&first, 1});
  }
  lines.add("text.input", str(counted(files.size(), "file"), ", ",
                              bytes_text(static_cast<double>(total_size(files)))));
  if (!r.vocab.file.empty())
    lines.add("vocab.file",
              str(r.vocab.file, ", ", Vocabulary::load(r.vocab.file).size(), " pieces"));
  check_vocab_size(r);
}

void add_inputs(const Recipe& r, Lines& lines) {
  lines.title("reads");
  if (r.type->reads_text) add_text(r, lines);
  if (!r.train.init.empty()) {
    check_weights_folder(r.train.init);
    lines.add("train.init", r.train.init);
  }
}

std::string count_text(double value) {
  return str(std::fixed, std::setprecision(value < 1e4 ? 0 : 1),
             value < 1e4   ? value
             : value < 1e7 ? value / 1e3
                           : value / 1e6,
             value < 1e4   ? ""
             : value < 1e7 ? " thousand"
                           : " million");
}

void add_program(const Recipe& r, Lines& lines) {
  const ProgramFacts& p = *r.program;
  const auto steps = static_cast<double>(r.train.steps);
  const auto examples = steps * static_cast<double>(r.train.batch_size);
  const auto bytes = [](std::int64_t n) { return bytes_text(static_cast<double>(n)); };
  lines.title("trains");
  lines.add("device",
            str(r.train.devices, " x ", r.train.device, ", by ", ready_plugin(r.train.device)));
  lines.add("parameters",
            str(p.parameters,
                r.type->reads_text ? str(" (with ", r.vocab.size, " word pieces at most)") : ""));
  lines.add("memory, all devices",
            str(bytes(p.value_bytes), " parameters, ", bytes(p.value_bytes), " gradients, ",
                bytes(p.slot_bytes), " optimizer, ", bytes(p.batch_bytes),
                " a batch; activations and temporaries, which only the "
                "compiler knows, come on top"));
  lines.add("steps", str(r.train.steps, " of ", r.train.batch_size, ": ", count_text(examples),
                         " examples, ",
                         str(std::scientific, std::setprecision(2), examples * p.flops_per_example),
                         " operations"));
}

// Of those that are there at one time; what is kept for ever is all there at the end.
double checkpoints_at_most(const Recipe& r) {
  const TrainSection& t = r.train;
  const std::int64_t saved = t.save_minutes > 0 ? t.keep : t.steps / t.save_every + 1;
  const std::int64_t for_ever = t.keep_every > 0 ? t.steps / t.keep_every : 0;
  return static_cast<double>(std::min(t.keep, saved) + 1 + for_ever +
                             (t.keep_best.empty() ? 0 : 1));
}

// What the disk below a folder to come has left; nothing of an object store.
std::optional<double> room_for(const std::string& folder) {
  if (is_remote(folder)) return std::nullopt;
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  const auto space = std::filesystem::space(at, error);
  if (error) return std::nullopt;
  return static_cast<double>(space.available);
}

// Those of a run that goes on.
double checkpoints_there(const std::string& model_dir) {
  std::size_t count = checkpoint_steps(model_dir).size();
  for (const char* kept : {"save", "best"})
    count += checkpoint_steps(join_path(model_dir, kept)).size();
  return static_cast<double>(count);
}

void add_room(const Recipe& r, double state_bytes, Lines& lines) {
  const std::string model_dir = RecipePaths(r).model_dir;
  const auto room = room_for(model_dir);
  const double need = state_bytes * checkpoints_at_most(r);
  const double more = need - state_bytes * checkpoints_there(model_dir);
  lines.add("disk", str("checkpoints need up to ", bytes_text(need),
                        room ? str(", ", bytes_text(*room), " are free") : std::string()));
  if (room && *room < state_bytes)
    throw UsageError(str("out: the disk of ", r.out, " has ", bytes_text(*room),
                         " left, one checkpoint needs ", bytes_text(state_bytes)),
                     "free some space, or choose another disk with --set out=…");
  if (room && *room < more)
    spdlog::warn(
        "out: the disk of {} has {} left, the checkpoints need up to {} more: lower {}, or free "
        "some space",
        r.out, bytes_text(*room), bytes_text(more),
        r.train.keep_every > 0 ? "train.keep, raise train.keep_every" : "train.keep");
}

void add_outputs(const Recipe& r, const Beginning& beginning, Lines& lines) {
  check_writable(r.out);
  if (const auto worker = folder_worker(r.out))
    throw UsageError(str(r.out, " is in use by ", *worker),
                     "wait for it, stop it, or choose another folder");
  const RecipePaths p(r);
  const ProgramFacts& facts = *r.program;
  const auto state = static_cast<double>(facts.value_bytes + facts.slot_bytes);
  lines.title("writes");
  const auto place = [&](std::string_view name, const std::string& path,
                         const std::string& remark = {}) {
    lines.add(name, str(path, remark, exists(path) ? "   (is there)" : ""));
  };
  if (r.type->reads_text) {
    place("text", p.train_text);
    place("text held out", p.heldout_text);
    place("vocabulary", p.vocab);
  }
  place("examples", p.train_records);
  place("examples held out", p.heldout_records);
  place("checkpoints", p.model_dir,
        str(", every ", counted(r.train.save_every, "step"), ", ", bytes_text(state),
            " each, the newest ", r.train.keep, " kept"));
  place("metrics", join_path(p.model_dir, "metrics.jsonl"));
  place("TensorBoard", join_path(p.model_dir, "train"));
  place("evaluation", p.evaluation);
  if (r.type->export_folder) place("Hugging Face", p.hugging_face);
  add_room(r, state, lines);
  if (beginning.overwrite) return lines.add("is emptied", p.model_dir);
  auto step = latest_checkpoint(p.model_dir);
  if (!step) return;
  const bool whole = (!r.type->reads_text || exists(p.vocab)) && exists(p.train_records);
  if (whole) step = check_goes_on(r);
  lines.add("goes on from", str("step ", *step, whole ? "" : ", once its data are there again"));
}

}  // namespace

std::string dry_run_text(const Recipe& r, const Beginning& beginning) {
  warn_of_warmup(schedule_of(r.train), optimizer_of(r.train, r.type->name), recipe_field);
  Lines lines;
  add_fields(r, lines);
  add_inputs(r, lines);
  add_program(r, lines);
  add_outputs(r, beginning, lines);
  check_stages(r, beginning);
  lines.title("dry run: everything that the run needs is there; nothing was made");
  return lines.text();
}

}  // namespace smelt
