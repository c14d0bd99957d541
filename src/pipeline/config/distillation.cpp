#include "pipeline/config/distillation.h"

#include <span>

#include "base/error.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/parameter_names.h"
#include "execution/train_state/initial_weights.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "model/nn/state_names.h"
#include "model/tasks/fake_quant.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kField = "distill.teacher";

std::string_view bytes_as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns a checksum of the names, shapes and values of all parameters, without optimizer state.
std::uint32_t teachers_fingerprint(const io::LazyTensors& tensors) {
  std::string all;
  for (const auto& [name, tensor] : tensors) {
    if (checkpoint::is_slot(name, tensors)) continue;
    const auto bytes = tensor.read();
    all += str(name, " ", tensor.shape, " ", io::crc32c(bytes_as_text(bytes)), "\n");
  }
  return io::crc32c(all);
}

void refuse_generator(const checkpoint::StoredModel& m) {
  const checkpoint::StoredFamily* family = checkpoint::family_of_tensors(m.tensors);
  if (family != nullptr && family->is_auxiliary(m.tensors))
    throw UsageError(
        str(kField, ": ", m.where,
            " is the generator of an ELECTRA, which only fills masks and cannot be a teacher"),
        "use a model that was fine-tuned for the same task");
}

void check_vocabulary_of_teacher(const Recipe& r, const checkpoint::StoredModel& m) {
  const std::string made = RecipePaths(r).vocab;
  const std::string vocab = io::exists(made) ? made : given_vocabulary(r);
  if (vocab.empty() || !io::exists(vocab)) return;
  checkpoint::PretrainedWeights its{.where = m.where, .parameters = {}, .model = {}, .owners = {}};
  its.vocab_txt = m.vocab_txt;
  if (m.settings.is_object() && m.settings.contains(checkpoint::kVocabularyCrc32c))
    its.vocabulary_crc32c = m.settings[checkpoint::kVocabularyCrc32c].get<std::uint32_t>();
  if (const std::string other = execution::other_vocabulary(its, vocab); !other.empty())
    throw UsageError(
        str(kField, ": ", m.where, " ", other.substr(0, other.find(';'))),
        "teacher and student need the same vocabulary: set vocab.file to the teacher's vocabulary");
}

// Opens the teacher once, for the checks and for the run.
const OpenedTeacher& open_teacher(const Recipe& r) {
  OpenedTeacher& opened = *r.distill.opened;
  if (opened.model) return opened;
  const auto model = std::make_shared<const checkpoint::StoredModel>(checkpoint::open_stored_model(
      checkpoint::exported_of(r.distill.teacher), kField, false, checkpoint::BertGelu::as_written));
  refuse_generator(*model);
  checkpoint::check_vocabulary_rows(*model, kField);
  opened.crc32c = teachers_fingerprint(model->tensors);
  opened.model = model;
  return opened;
}

}  // namespace

model::Teacher teacher_of(const Recipe& r) {
  if (!r.type->teacher)
    throw UsageError(
        str(kField, ": a model of type ", r.type->name, " does not support distillation"),
        "use model.type classify, bert, t5 or text_to_text");
  const auto& [model, crc] = open_teacher(r);
  const std::shared_ptr<const io::LazyTensors> values(model, &model->tensors);
  model::Teacher out = r.type->teacher(
      r, *model, {.where = str(kField, ": ", model->where), .values = values, .dim_names = {}});
  out.settings = {{"model", out.settings}, {"values_crc32c", crc}};
  return out;
}

model::Task shrinking_task(const Recipe& r, model::Task task) {
  if (!r.type->write_rows) return task;  // this type of model cannot be compressed
  // Stored even if off, so that a resumed run must have the same value.
  task.settings[model::kFakeQuant] = false;
  task.settings["sparsity"] = r.train.pruning.sparsity;
  task.settings["nm"] = r.train.pruning.nm;
  task.settings["prune_by"] = word_of(r.train.pruning.method, model::kPruningMethods);
  return r.train.fake_quant ? model::fake_quantized(std::move(task)) : task;
}

model::Task distilled_task(const Recipe& r, model::Task task, DistilledFor use) {
  task = shrinking_task(r, std::move(task));
  if (r.distill.teacher.empty()) return task;
  if (use == DistilledFor::inference && has_begun(r) && !io::exists(r.distill.teacher)) return task;
  const model::Teacher teacher = teacher_of(r);
  if (use == DistilledFor::inference && task.tells && task.tells->sizes.of_words &&
      !io::exists(RecipePaths(r).vocab))
    return task;  // the vocabulary size is not known yet
  check_vocabulary_of_teacher(r, *open_teacher(r).model);
  return model::distilled(std::move(task), teacher, r.distill);
}

void check_same_teacher(const Recipe& r) {
  constexpr const char* kSetting = "distill";
  const auto begun = state_to_resume(r);
  if (!begun) return;
  Json was = Json::object(), is = was;
  if (const auto found = begun->state.find(kSetting); found != begun->state.end())
    was[kSetting]["teacher"] = found->value("teacher", Json());
  if (!r.distill.teacher.empty()) {
    if (!io::exists(r.distill.teacher)) return;
    is[kSetting]["teacher"] = teacher_of(r).settings;
  }
  execution::check_same_run(was, is, begun->path);
}

}  // namespace smelt::pipeline
