#include "pipeline/objectives/compress_checks.h"

#include <charconv>

#include "base/choice.h"
#include "base/error.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/objectives/classify_fields.h"

namespace smelt::pipeline {

std::vector<std::int64_t> numbers_in(const Recipe& r, const std::string& field,
                                     const std::string& list) {
  std::vector<std::int64_t> out;
  for (const std::string_view word : split(list, ',')) {
    const std::string_view digits = trim(word);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1)
      throw UsageError(
          str(r.origin({field}), ": ", field, ": '", list, "' is not a list of numbers"),
          "write it as 1,8,32");
    out.push_back(value);
  }
  return out;
}

compress::Activations activations_of(const Recipe& r) {
  return choose_of(str(r.origin({"compress.activations"}), ": compress.activations"),
                   r.compress.activations, compress::kActivations);
}

compress::Calibration calibration_of(const Recipe& r) {
  return choose_of(str(r.origin({"compress.calibration"}), ": compress.calibration"),
                   r.compress.calibration, compress::kCalibrations);
}

bool is_t5(const Recipe& r) { return r.type->name == "text_to_text"; }

static void check_cuts(const RecipeChecks& checks, const Recipe& r) {
  const CompressSection& c = r.compress;
  checks.at_least("compress.layers", 0);
  checks.at_least("compress.decoder_layers", 0);
  checks.at_least("compress.examples", 1);
  checks.at_least("compress.rounds", 1);
  for (const char* field : {"compress.ffn", "compress.heads", "compress.macs"}) {
    const double share = r.sections.at("compress").at(std::string(field).substr(9)).get<double>();
    checks.require(share > 0 && share <= 1, {field},
                   str(field, " is ", share, ", must be above 0 and at most 1"),
                   "use 0.5 to keep half");
  }
  checks.within("compress.tune_epochs", 0);
  checks.require(c.tune_epochs == 0 || c.cuts(), {"compress.tune_epochs"},
                 "compress.tune_epochs is set, but nothing is pruned",
                 "set compress.ffn, compress.heads, compress.macs or compress.layers");
  checks.require(
      c.macs == 1 || (c.ffn == 1 && c.heads == 1),
      {"compress.macs", "compress.ffn", "compress.heads"},
      "compress.macs cannot be set with compress.ffn or compress.heads, because it determines both",
      "remove compress.ffn and compress.heads");
  checks.require(is_t5(r) || c.decoder_layers == 0, {"compress.decoder_layers"},
                 "compress.decoder_layers is only for T5 models", "use compress.layers");
}

void check_compress(const Recipe& r) {
  const CompressSection& c = r.compress;
  if (!c.is_on()) return;
  const RecipeChecks checks(r);
  checks.require(!io::is_remote(r.out), {"out", "compress.layers", "compress.ffn", "compress.int8"},
                 str("compress: ", r.out, " is remote, but compression needs a local folder"),
                 "remove the section, download the exported model and use `smelt compress`");
  checks.require(!has_no_validation(r),
                 {"data.validation_share", "compress.int8", "compress.layers", "compress.ffn"},
                 "compress: data.validation_share is 0, but compression needs held-out rows",
                 "name rows with data.validation, or raise data.validation_share");
  check_cuts(checks, r);
  const compress::Activations activations = activations_of(r);
  checks.require(activations == compress::Activations::floats || c.int8, {"compress.activations"},
                 "compress.activations needs compress.int8, which is false",
                 "set compress.int8 to true");
  (void)calibration_of(r);
  checks.require(
      c.calibration == CompressSection().calibration ||
          activations == compress::Activations::by_input_scale,
      {"compress.calibration"},
      str("compress.calibration needs compress.activations static, but it is ", c.activations),
      "remove it, or set compress.activations to static");
  checks.require(c.max_drop < 0 || c.int8, {"compress.max_drop"},
                 "compress.max_drop needs compress.int8, which is false",
                 "set compress.int8 to true");
  checks.require(is_t5(r) || classify_model(r).problem != io::Problem::answer_spans,
                 {"compress.layers", "compress.ffn", "compress.int8"},
                 "compress: model.problem answer_spans is not supported",
                 "use `smelt compress` on the exported model");
  (void)numbers_in(r, "compress.batches", c.batches);
  (void)numbers_in(r, "compress.lengths", c.lengths);
}

}  // namespace smelt::pipeline
