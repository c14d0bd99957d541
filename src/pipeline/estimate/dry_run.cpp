#include "pipeline/estimate/dry_run.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/progress.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "pipeline/config/epochs.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/text_size.h"
#include "pipeline/config/vocabulary_facts.h"
#include "pipeline/estimate/plan_text.h"
#include "pipeline/incremental/stage.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/finished_run.h"
#include "pipeline/stages/run_needs.h"
#include "pipeline/stages/stage_actions.h"
#include "pjrt/find_plugin.h"
#include "pjrt/hardware.h"
#include "text/tokenizers/tokenizer.h"
#include "train/job_checks.h"

namespace smelt::pipeline {
namespace {

// The output of a dry run: titles, each with names and values, and the reasons why the run cannot
// start on this machine.
class Lines {
 public:
  void title(std::string_view text) { titles_.push_back({std::string(text), {}}); }
  void add(std::string_view name, const std::string& value) {
    titles_.back().values.emplace_back(name, value);
  }
  // Adds a reason why the run cannot, or possibly cannot, start on this machine.
  void lack(const std::string& what) { lacks_.push_back(what); }
  void misfit(const std::string& what) {
    lack(what);
    if (misfit_.empty()) misfit_ = what;
  }
  // Appends the titles and the reasons of `others`.
  void add(const Lines& others) {
    titles_.insert(titles_.end(), others.titles_.begin(), others.titles_.end());
    lacks_.insert(lacks_.end(), others.lacks_.begin(), others.lacks_.end());
  }
  void planned(const cost_model::RunTime& time) { planned_ = time; }
  DryRun result() const { return {text(), json(), misfit_, planned_}; }

 private:
  struct Title {
    std::string name;
    std::vector<std::pair<std::string, std::string>> values;
  };

  // Returns lines of the form "  name            value" under their titles, and a verdict.
  std::string text() const {
    std::ostringstream out;
    for (const auto& [title, values] : titles_) {
      out << title << "\n";
      for (const auto& [name, value] : values)
        out << "  " << std::left << std::setw(38) << name << value << "\n";
    }
    out << (lacks_.empty()
                ? "dry run: everything that the run needs is available; nothing was written"
                : str("dry run: not ready to run on this machine: ", join(lacks_, "; "),
                      "; nothing was written"))
        << "\n";
    return out.str();
  }

  OrderedJson json() const {
    OrderedJson out;
    for (const auto& [title, values] : titles_)
      for (const auto& [name, value] : values) out[title][name] = value;
    out["ready"] = lacks_.empty();
    out["missing"] = lacks_;
    return out;
  }

  std::vector<Title> titles_;
  std::vector<std::string> lacks_;
  std::string misfit_;
  std::optional<cost_model::RunTime> planned_;
};

// Returns whether another field replaces this one, so that its value does not apply.
bool is_replaced(const Recipe& r, const std::string& field) {
  const train::TrainConfig& t = r.train;
  const model::ScheduleConfig& s = t.schedule;
  // The steps of a budget are those that a plan has found for it.
  if (field == "train.steps") return !t.length.empty() && t.budget.usd == 0;
  if (field == "train.schedule.warmup_steps") return !s.warmup.empty() || s.warmup_ratio > 0;
  if (field == "train.schedule.decay_steps") return !s.decay.empty() || s.decay_ratio > 0;
  return false;
}

void add_fields(const Recipe& r, Lines& lines) {
  lines.title("recipe");
  for (const RecipeField& field : recipe_fields(r.type->name)) {
    if (is_replaced(r, field.path)) continue;
    const auto dot = field.path.find('.');
    const std::string section = dot == std::string::npos ? "" : field.path.substr(0, dot);
    const auto& value = r.sections.at(section).at(
        dot == std::string::npos ? field.path : field.path.substr(dot + 1));
    const std::string& origin = r.origins.at(field.path);
    lines.add(field.path, str(value.is_string() ? value.get<std::string>() : value.dump(),
                              value.dump() == field.default_value ? "" : str("   (", origin, ")")));
  }
}

// Throws UsageError if the existing vocabulary has more pieces than the model has embedding rows.
// Logs a warning if a vocabulary that is not made yet may have more.
void check_vocab_size(const Recipe& r) {
  const std::int64_t rows = r.sections.at("model").value("vocab_size", std::int64_t{0});
  if (const std::string given = given_vocabulary(r);
      !given.empty() && !io::exists(given) && has_begun(r))
    return;
  else if (!given.empty())
    (void)vocabulary_rows(rows, text::load_tokenizer(given, {})->size(), given, "model.vocab_size");
  else if (rows != 0 && rows < r.vocab.size)
    log_warning(
        "model.vocab_size {} is smaller than vocab.size {}: the run will stop before training "
        "unless the text yields fewer pieces",
        rows, r.vocab.size);
}

void add_text(const Recipe& r, Lines& lines) {
  if (can_continue_without_text(r))
    return lines.add("text.input",
                     str(r.text.input, ": some files are missing; using the files made from them"));
  const auto files = text_inputs(r);
  check_text(r);
  lines.add("text.input", str(counted(files.size(), "file"), ", ",
                              bytes_text(static_cast<double>(io::total_size(files)))));
}

void add_vocabulary(const Recipe& r, Lines& lines) {
  if (const std::string given = given_vocabulary(r); !given.empty())
    lines.add("vocabulary",
              !io::exists(given) && has_begun(r)
                  ? str(given, ": missing; using the run's own copy")
                  : str(given, ", ", text::load_tokenizer(given, {})->size(), " pieces"));
  check_vocab_size(r);
}

void add_inputs(const Recipe& r, Lines& lines) {
  lines.title("reads");
  if (r.type->reads_text() && r.ready.records.empty()) add_text(r, lines);
  if (r.type->check_rows && r.ready.records.empty() && !has_begun(r)) r.type->check_rows(r);
  if (r.type->has_vocabulary()) add_vocabulary(r, lines);
  for (const auto& [name, files] :
       {std::pair{"data.records", r.ready.records}, {"data.heldout", r.ready.heldout}})
    if (!files.empty())
      lines.add(
          name,
          str(counted(io::expand_files(files, name).size(), "file"), ", ",
              bytes_text(static_cast<double>(io::total_size(io::expand_files(files, name))))));
  if (!r.train.init_from.empty()) {
    const bool begun = checkpoint::latest_checkpoint(RecipePaths(r).model_dir).has_value();
    if (!begun) checkpoint::check_weights_folder(r.train.init_from);
    lines.add("train.init_from",
              str(r.train.init_from, begun ? "" : ", " + initial_weights_text(r)));
  }
}

// Returns whether the recipe's devices are on this machine, or an environment variable names
// another plugin for them (pjrt::is_here()).
bool has_devices(const Recipe& r) {
  return r.train.device == "cpu" || pjrt::is_here(r.train.device);
}

void add_memory(const Recipe& r, Lines& lines) {
  const DeviceMemory one = device_memory(r);
  lines.add("memory, each device",
            str(bytes_text(one.values), " parameters, ", bytes_text(one.values), " gradients, ",
                bytes_text(one.slots), " optimizer, ", bytes_text(one.batch),
                " batch; plus activations and temporaries, which only the compiler knows"));
  if (r.train.devices > 1)
    lines.add("memory, all devices",
              str(bytes_text(one.least() * static_cast<double>(r.train.devices)), " of these"));
}

// Plans the run for an accelerator type with the TPU compiler, without a device. If `type` is null,
// uses the usual TPU slice with the recipe's number of devices; throws UsageError if there is none.
PlanRow planned(const Recipe& r, const cost_model::Accelerator* type) {
  if (type == nullptr) type = cost_model::usual_slice(r.train.devices);
  if (type == nullptr)
    throw UsageError(str("no standard TPU slice has ", r.train.devices,
                         " devices; `smelt compile` accepts any number"));
  log_info("dry run: compiling for a {}", type->name);
  const auto run_on = [&](const cost_model::Accelerator&) { return planned_run(r); };
  static const cost_model::Prices prices;  // the returned row has a pointer to it
  return plan_run({.run_on = run_on, .types = {*type}},
                  cost_model::TpuCompiles(cost_model::TpuCompiles::user_cache_folder()), prices)
      .rows.front();
}

void add_plan(const PlanRow& row, Lines& lines) {
  const std::string on = "planned for a " + row.type.name;
  if (!row.fits()) {
    const std::string why = row.tried.empty() ? row.problem : row.tried.front().compiled.problem;
    lines.add(on, "not possible: " + why);
    const bool known =
        !row.tried.empty() && row.tried.back().compiled.end == cost_model::CompileEnd::does_not_fit;
    if (known)
      return lines.misfit(str("the training step does not fit in the memory of a ", row.type.name));
    return lines.lack(str("whether the training step fits a ", row.type.name, " is not known"));
  }
  lines.add(on, str(row.form().words, ", ", bytes_text(row.form().compiled.bytes()), " of ",
                    bytes_text(row.memory()), " on each device; `smelt plan` compares types"));
  if (!row.is_selected_automatically())
    for (const std::string& setting : row.form().settings)
      lines.misfit(str("the training step fits only with --set ", setting));
  lines.add("time", planned_run_text(row));
  lines.planned(row.time);
}

// Adds lines about a recipe whose devices are not on this machine. For TPUs, plans the run.
void add_absent(const Recipe& r, const cost_model::Accelerator* on, Lines& lines) {
  const bool tpu = r.train.device == "tpu";
  lines.add("device", str(r.train.devices, " x ", r.train.device, ": none on this machine"));
  lines.lack(str("no ", tpu ? "TPU" : "GPU", " on this machine"));
  try {
    if (!tpu) throw UsageError("only a machine with the GPU's plugin can compile for it");
    add_plan(planned(r, on), lines);
  } catch (const UsageError& error) {
    lines.add("not compiled", error.what());
    lines.lack("whether it fits a device is not known");
  }
}

void add_program(const Recipe& r, const cost_model::Accelerator* on, Lines& lines) {
  const ProgramFacts& p = *r.program;
  const auto examples =
      static_cast<double>(r.train.steps) * static_cast<double>(r.train.batch_size);
  lines.title("trains");
  add_memory(r, lines);
  lines.add("parameters", str(p.parameters, r.type->has_vocabulary() ? str(" (with ", r.vocab.size,
                                                                           " word pieces at most)")
                                                                     : ""));
  lines.add("steps", run_length_text(r));
  if (r.train.seconds == 0) lines.add("operations", scientific(examples * p.flops_per_example, 2));
  if (const std::string remark = unknown_epochs_remark(r); !remark.empty())
    lines.add("epochs", remark);
  if (!has_devices(r)) return add_absent(r, on, lines);
  lines.add("device", str(r.train.devices, " x ", r.train.device, ", by ",
                          pjrt::ready_plugin(r.train.device)));
  lines.add("time", time_text(r));
}

void add_disk(const Recipe& r, Lines& lines) {
  const DiskNeed need = disk_need(r);
  lines.add("disk", str("checkpoints need up to ", bytes_text(need.checkpoints),
                        need.text + need.records > 0 ? str(", text and examples about ",
                                                           bytes_text(need.text + need.records))
                                                     : "",
                        need.free ? str(", ", bytes_text(*need.free), " are free") : ""));
  check_disk(r, need);
  if (need.free && *need.free < need.most())
    lines.lack("too little disk space for all checkpoints");
}

void add_outputs(const Recipe& r, const Beginning& beginning, Lines& lines) {
  io::check_writable(r.out);
  if (const auto worker = io::folder_worker(r.out))
    throw UsageError(str(r.out, " is in use by ", *worker),
                     "wait for it, stop it, or choose another folder");
  const RecipePaths p(r);
  const ProgramFacts& facts = *r.program;
  const auto state = static_cast<double>(facts.value_bytes + facts.slot_bytes);
  lines.title("writes");
  const auto place = [&](std::string_view name, const std::string& path,
                         const std::string& remark = {}) {
    lines.add(name, str(path, remark, io::exists(path) ? "   (exists)" : ""));
  };
  if (r.type->reads_text() && r.ready.records.empty()) {
    place("text", p.train_text);
    place("text held out", p.heldout_text);
  }
  if (r.type->has_vocabulary()) place("vocabulary", p.vocab);
  if (r.ready.records.empty()) {
    place("examples", p.train_records);
    if (!p.heldout_records.empty()) place("examples held out", p.heldout_records);
  }
  place("checkpoints", p.model_dir,
        str(", every ", counted(r.train.checkpoint.save_interval_steps, "step"), ", ",
            bytes_text(state), " each, the newest ", r.train.checkpoint.max_to_keep, " kept"));
  place("metrics", io::join_path(p.model_dir, "metrics.jsonl"));
  place("TensorBoard", io::join_path(p.model_dir, "train"));
  place("evaluation", p.evaluation);
  if (r.type->export_folder) place("Hugging Face", p.hugging_face);
  add_disk(r, lines);
  if (beginning.overwrite) return lines.add("deletes", p.model_dir);
  check_finished_run_keeps_settings(r);
  auto step = checkpoint::latest_checkpoint(p.model_dir);
  if (!step) return;
  const bool whole =
      (!r.type->has_vocabulary() || io::exists(p.vocab)) && !record_files(p.train_records).empty();
  if (whole) step = check_resume_step(r);
  lines.add("resumes from", str("step ", *step, whole ? "" : ", after its data are regenerated"));
}

}  // namespace

DryRun dry_run(const Recipe& recipe, const Beginning& beginning,
               const cost_model::Accelerator* on) {
  const Recipe r = with_existing_size(recipe);
  if (const std::string given = given_vocabulary(r); !given.empty())
    warn_about_ignored_size(r, given, r.vocab.size);
  if (r.train.seconds == 0)
    train::warn_of_warmup(
        model::make_schedule(r.train.schedule, r.train.optimizer.learning_rate, r.train.steps),
        model::make_optimizer(r.train.optimizer, r.type->name), recipe_field);
  Lines lines;
  add_fields(r, lines);
  add_inputs(r, lines);
  // The quick checks come before add_program(), which may compile for minutes.
  check_machine_memory(r);
  Lines outputs;  // below the program's lines
  add_outputs(r, beginning, outputs);
  check_stages(r, beginning);
  add_program(r, on, lines);
  lines.add(outputs);
  return lines.result();
}

std::string dry_run_text(const Recipe& recipe, const Beginning& beginning) {
  try_segment_command(recipe);
  return dry_run(recipe, beginning).text;
}

OrderedJson dry_run_json(const Recipe& recipe, const Beginning& beginning) {
  try_segment_command(recipe);
  return dry_run(recipe, beginning).json;
}

}  // namespace smelt::pipeline
