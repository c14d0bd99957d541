#include "checkpoint/interop/stored_classifier.h"

#include "base/error.h"
#include "checkpoint/interop/stored_family.h"

namespace smelt::checkpoint {

bool is_answer_head(const io::LazyTensors& tensors) {
  return tensors.contains("cls/squad/output_bias") || tensors.contains("qa_outputs/bias");
}

std::string encoder_name_of(const io::LazyTensors& tensors) {
  for (const StoredFamily* family : stored_families())
    if (family->has_encoder(tensors)) return std::string(family->name());
  return "bert";  // the default, used for the head of a classifier if there is no encoder
}

std::string stored_encoder_name(const StoredModel& m) { return encoder_name_of(m.tensors); }

ClassifierHead stored_head(const StoredModel& m) {
  const bool own = m.settings.is_object() && m.settings.contains("labels");
  const Json& said = own ? m.settings : m.objective;
  ClassifierHead out;
  if (said.is_object() && said.contains("labels")) {
    out.labels.problem =
        choose_of(str(m.where, ": problem"), said.value("problem", ""), io::kProblems);
    out.labels.names = composed_labels(said["labels"].get<std::vector<std::string>>());
    out.labels.no_answer = said.value("no_answer", false);
    out.dropout = said.value("dropout", out.dropout);
    take_limits(said, m.where, out);
    return out;
  }
  if (is_answer_head(m.tensors)) {
    out.labels.problem = io::Problem::answer_spans;
    return out;
  }
  bool of_tokens = false;
  const std::string bias =
      family_of_encoder(stored_encoder_name(m)).class_bias(m.tensors, of_tokens);
  const auto found = m.tensors.find(bias);
  if (of_tokens) out.labels.problem = io::Problem::token_labels;
  if (found == m.tensors.end() || found->second.shape.dims.size() != 1)
    throw UsageError(str(m.where, ": cannot determine the classes: no head bias ", bias),
                     "use the exported folder of a run, or its run folder");
  for (std::int64_t i = 0; i < found->second.shape.dims[0]; ++i)
    out.labels.names.push_back(str("LABEL_", i));
  return out;
}

Json classifier_settings(const std::string& encoder, const ClassifierHead& head) {
  Json out = head_settings(head);
  out["encoder"] = encoder;
  return out;
}

}  // namespace smelt::checkpoint
