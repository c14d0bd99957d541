#include "train/run_log.h"

#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/events.h"
#include "base/log.h"
#include "base/number_format.h"
#include "checkpoint/storage/checkpoint.h"
#include "evaluation/tracking/run_record.h"
#include "io/filesystem/path.h"
#include "model/train_step/model_flops.h"
#include "pjrt/device_specs.h"
#include "train/program_cost.h"

namespace smelt::train {
namespace {

constexpr const char* kRate = "learning_rate";

evaluation::Record of_measures(const std::vector<model::MeasuredValue>& measures) {
  evaluation::Record out = evaluation::Record::object();
  for (const model::MeasuredValue& m : measures)
    out[m.name] = m.weight == 0 ? evaluation::Record() : evaluation::Record(to_f32_digits(m.value));
  return out;
}

// Returns the text of a log line, with the figures that are present: "loss 3.211, masked_lm_loss
// 2.950, lr 0.0001, grad norm 1.2, 845.1 seq/s, 81234 tokens/s, MFU 41.2 %, input 0.3 %, 4:05
// left".
std::string text_of_line(const evaluation::Record& figures) {
  std::ostringstream out;
  const auto put = [&](const std::string& text) {
    if (out.tellp() > 0) out << ", ";
    out << text;
  };
  for (const auto& [name, value] : figures.items()) {
    const double x = value.is_number() ? value.get<double>() : std::nan("");
    if (name == kRate)
      put(str("lr ", x));
    else if (name == "gradient_norm")
      put(str("grad norm ", x));
    else if (name == "sequences_per_second")
      put(rounded(x, 1) + " seq/s");
    else if (name == "tokens_per_second")
      put(rounded(x, 0) + " tokens/s");
    else if (name == "mfu")
      put(str("MFU ", rounded(100 * x, 1), " %"));
    else if (name == "input_share")
      put(str("input ", rounded(100 * x, 1), " %"));
    else if (name == "seconds_left")
      put(duration_text(x) + " left");
    else
      put(str(name, " ", rounded(x, 3)));
  }
  return out.str();
}

}  // namespace

std::vector<CheckedFigure> check_figures(const TrainCheck& check) {
  std::vector<CheckedFigure> out;
  const auto add = [&](const char* label, const std::vector<model::MeasuredValue>& measures) {
    for (const model::MeasuredValue& m : measures)
      out.push_back({str(label, m.name), str(label, m.name), m.value});
  };
  add("train/", check.trained);
  if (check.validation) add("valid/", check.validation->measures);
  return out;
}

RunLog::RunLog(const model::Task& task, TrackChoice choice)
    : task_(task), choice_(std::move(choice)) {
  for (std::size_t i = 0; i < task.features.size(); ++i)
    if (task.features[i].name == task.tokens) token_feature_ = i;
}

void RunLog::begin(const RunFacts& facts, model::ReportLayout report) {
  facts_ = facts;
  since_line_.emplace(report);
  last_.emplace(std::move(report));
  line_step_ = facts.step;
  flops_per_example_ = facts.flops_per_example;
  if (!facts.exact_products) peak_ = pjrt::peak_flops(facts.device_kind, facts.products);
  if (peak_) {
    *peak_ *= static_cast<double>(facts.devices);
    log_info("MFU is relative to {:.1f} TFLOP/s ({} x {}, {}), with {:.4g} operations per example",
             *peak_ / 1e12, facts.devices, facts.device_kind, compiler::dtype_name(facts.products),
             flops_per_example_);
  }
  if (facts.folder.empty()) return;
  metrics_.emplace(facts.folder, facts.step, start_fields());
  events_ =
      std::make_unique<evaluation::EventLog>(io::join_path(facts.folder, "train"), facts.step + 1);
  const auto settings = evaluation::flat_settings(start_fields());
  add_events([&](evaluation::EventLog& events) { events.add_hyperparameters(settings); });
}

evaluation::Record RunLog::start_fields() const {
  evaluation::Record out{{"of", facts_.total},
                         {"model", task_.name},
                         {"batch_size", facts_.batch_size},
                         {"devices", facts_.devices},
                         {"device", facts_.device_kind},
                         {"examples", facts_.examples},
                         {"parameters", facts_.parameters},
                         {"flops_per_example", flops_per_example_}};
  if (facts_.clock) out["of_seconds"] = facts_.clock->total();
  if (peak_) out["peak_flops"] = *peak_;
  out["settings"] = choice_.settings.is_null() ? facts_.settings : choice_.settings;
  if (!facts_.data.is_null()) out["data"] = facts_.data;
  if (facts_.settings.is_object() && facts_.settings.contains(checkpoint::kVocabularyCrc32c))
    out[checkpoint::kVocabularyCrc32c] = facts_.settings[checkpoint::kVocabularyCrc32c];
  return out;
}

void RunLog::ready(const evaluation::Record& cost) {
  evaluation::Record fields = evaluation::Record::object();
  if (!cost.empty()) {
    fields["cost"] = cost;
    log_info("compiler's estimate for a step on each device: {}", cost_text(cost));
    const std::vector<io::NamedText> text{{"run/cost", cost_text(cost)}};
    add_events([&](evaluation::EventLog& events) { events.add(facts_.step, text); });
  }
  record("ready", facts_.step, fields);
  clock_.turn(evaluation::GoodputBucket::step);
  tally();
  line_times_ = {};
  progress_.emplace("train", facts_.total, "steps", facts_.step);
}

std::int64_t RunLog::tokens_in(const data::Batch& batch) const {
  std::int64_t count = 0;
  for (const std::int32_t id : batch.arrays[*token_feature_].values<std::int32_t>())
    count += id != 0;
  return count;
}

void RunLog::batch_started(const data::Batch& batch) {
  if (token_feature_) tokens_ahead_.push_back(tokens_in(batch));
}

void RunLog::tally() {
  const evaluation::SpentTimes times = clock_.take();
  since_record_ += times;
  line_times_ += times;
}

// Appends to metrics.jsonl. Only warns about errors, because a full disk must not end a run.
void RunLog::record(std::string_view kind, std::int64_t step, const evaluation::Record& fields) {
  tally();
  if (!metrics_) return;
  try {
    metrics_->add(kind, step, fields, since_record_);
    since_record_ = {};
  } catch (const Error& error) {
    if (!std::exchange(has_failed_, true)) log_warning("{}; training continues", error.what());
  }
}

// Writes TensorBoard events. Stops after an error, because a partial event makes the rest of the
// file unreadable.
void RunLog::add_events(const std::function<void(evaluation::EventLog&)>& add) {
  if (!events_) return;
  try {
    add(*events_);
  } catch (const Error& error) {
    log_warning("{}; no more events are written there until the run is restarted", error.what());
    events_.reset();
  }
}

void RunLog::step_done(std::int64_t step, std::span<const float> report) {
  since_line_->add(report);
  last_->clear();
  last_->add(report);
  if (!tokens_ahead_.empty()) {
    tokens_ += tokens_ahead_.front();
    tokens_ahead_.pop_front();
  }
  if ((!choice_.log_line || progress_->on_terminal()) && progress_->is_due(step))
    progress_->update(step, text_of_line(means()));
  const bool is_last = facts_.clock ? step == facts_.clock->last_step() : step == facts_.total;
  if (step % choice_.log_every == 0 || is_last) log_line(step);
}

void RunLog::went_back(std::int64_t step) {
  since_line_->clear();
  tokens_ahead_.clear();
  tokens_ = 0;
  line_step_ = step;
  line_times_ = {};
  facts_.step = std::min(facts_.step, step);
  tally();
  const auto try_to = [](const auto& take_back) {
    try {
      take_back();
    } catch (const Error& error) {
      log_warning("{}; training continues and appends to the existing records", error.what());
    }
  };
  if (metrics_)
    try_to([&] {
      metrics_->went_back(step, since_record_);
      since_record_ = {};
    });
  if (events_)
    try_to([&] {
      events_ =
          std::make_unique<evaluation::EventLog>(io::join_path(facts_.folder, "train"), step + 1);
    });
}

evaluation::Record RunLog::means() const {
  evaluation::Record out{{"loss", to_f32_digits(since_line_->figure("loss"))}};
  out.update(of_measures(since_line_->measures()));
  return out;
}

double RunLog::seconds_left(std::int64_t step) const {
  if (facts_.clock) return facts_.clock->total() - facts_.clock->seconds_at(step);
  return seconds() * static_cast<double>(facts_.total - step) /
         static_cast<double>(step - facts_.step);
}

void RunLog::add_rates(evaluation::Record& figures, std::int64_t step) {
  const double seconds =
      line_times_[evaluation::GoodputBucket::step] + line_times_[evaluation::GoodputBucket::input];
  const double rate = static_cast<double>((step - line_step_) * facts_.batch_size) / seconds;
  figures[kRate] = to_f32_digits(last_->figure(kRate));
  figures["gradient_norm"] = to_f32_digits(since_line_->figure("gradient_norm"));
  figures["sequences_per_second"] = to_f32_digits(rate);
  if (token_feature_)
    figures["tokens_per_second"] = to_f32_digits(static_cast<double>(tokens_) / seconds);
  if (peak_) figures["mfu"] = to_f32_digits(rate * flops_per_example_ / *peak_);
  figures["input_share"] = to_f32_digits(line_times_[evaluation::GoodputBucket::input] / seconds);
  figures["seconds_left"] = to_f32_digits(seconds_left(step));
}

void RunLog::log_line(std::int64_t step) {
  tally();
  evaluation::Record figures = means();
  add_rates(figures, step);
  if (choice_.log_line)
    progress_->line(choice_.log_line({.step = step,
                                      .total = facts_.total,
                                      .first_step = facts_.step,
                                      .seconds = seconds(),
                                      .loss = since_line_->figure("loss")}));
  else
    progress_->line(
        str("step ", step,
            facts_.clock ? str(", ", facts_.clock->progress_text(step)) : str("/", facts_.total),
            ": ", text_of_line(figures)));
  record("line", step, figures);
  std::vector<io::Scalar> scalars;
  for (const auto& [name, value] : figures.items())
    if (value.is_number() && name != "seconds_left")
      scalars.push_back({"run/" + name, value.get<float>()});
  add_events([&](evaluation::EventLog& events) { events.add(step, scalars); });
  since_line_->clear();
  tokens_ = 0;
  line_step_ = step;
  line_times_ = {};
}

void RunLog::check(const TrainCheck& check) {
  evaluation::Record fields{{"train", of_measures(check.trained)}};
  if (check.validation) {
    fields["valid"] = of_measures(check.validation->measures);
    fields["examples"] = check.validation->examples;
  }
  record("check", check.step, fields);
  OrderedJson event{{"step", check.step}};
  event.update(fields);
  send_event("training_evaluation", event);
  std::vector<io::Scalar> scalars;
  for (const execution::ParameterScale& p : check.parameters)
    scalars.push_back(
        {str("params/", p.name, " ", execution::tuple_text(p.dims)), static_cast<float>(p.rms)});
  for (const CheckedFigure& figure : choice_.figures(check)) {
    log_info("{} at step {}: {:f}", figure.name, check.step, figure.value);
    scalars.push_back({figure.tag, static_cast<float>(figure.value)});
  }
  add_events([&](evaluation::EventLog& events) { events.add(check.step, scalars); });
}

void RunLog::saved(std::int64_t step) {
  record("save", step, evaluation::Record::object());
  send_event("checkpoint",
             {{"step", step}, {"path", checkpoint::committed_path(facts_.folder, step)}});
}

void RunLog::sampled(std::int64_t step, const std::string& kind,
                     const std::vector<execution::TextSample>& samples) {
  evaluation::Record texts = evaluation::Record::array();
  std::vector<io::NamedText> events;
  for (const execution::TextSample& sample : samples) {
    texts.push_back(sample.fields);
    log_info("step {}: {}", step, sample.line);
    events.push_back({str(kind, "/", events.size()), sample.line});
  }
  record(kind, step, {{"texts", std::move(texts)}});
  add_events([&](evaluation::EventLog& log) { log.add(step, events); });
}

bool RunLog::wants_histograms(std::int64_t step) const {
  return events_ && choice_.histograms_every > 0 && step % choice_.histograms_every == 0;
}

void RunLog::histograms(std::int64_t step, const model::StateLayout& layout,
                        const execution::HostState& before, const execution::HostState& after,
                        const execution::HostState* gradients) {
  std::vector<io::NamedHistogram> all;
  checkpoint::Scratch scratch;
  const auto values_of = [&](const execution::HostState& state, const std::string& name) {
    return io::tensor_values<float>(checkpoint::whole(state.tensors.at(name), scratch));
  };
  for (const execution::ParameterScale& p : execution::parameter_scales(layout, after)) {
    std::vector<float> values = values_of(after, p.name);
    const std::vector<float> were = values_of(before, p.name);
    all.push_back({"weights/" + p.name, io::histogram_of(values)});
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= were[i];
    all.push_back({"updates/" + p.name, io::histogram_of(values)});
    if (gradients == nullptr) continue;
    const auto of_step = values_of(*gradients, p.name);
    if (of_step != were)  // equal if the parameter is frozen
      all.push_back({"gradients/" + p.name, io::histogram_of(of_step)});
  }
  add_events([&](evaluation::EventLog& events) { events.add(step, all); });
}

void RunLog::end(std::int64_t step, std::string_view why, std::string_view message) {
  evaluation::Record fields{{"why", why}};
  if (!message.empty()) fields["message"] = message;
  record("end", step, fields);
  metrics_.reset();  // only the first end is recorded
}

}  // namespace smelt::train
