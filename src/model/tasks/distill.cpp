#include "model/tasks/distill.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::logistic;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::rsqrt;
using compiler::stop_gradient;
using compiler::Tensor;
namespace {

using LayerPairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// ---- checks ----

std::int64_t layer_number(std::string_view text, std::int64_t last, const std::string& model,
                          const std::string& all) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || number < 0 || number > last)
    throw UsageError(str("distill.layers: '", all, "': '", text, "' is not a layer of the ", model,
                         ", whose layers are 0 (embeddings) to ", last),
                     "use pairs such as 0:0,1:2,2:4, or auto or last");
  return number;
}

void require_same(const std::string& what, std::int64_t teacher, std::int64_t student,
                  const std::string& where, const std::string& hint) {
  if (teacher != student)
    throw UsageError(str(where, " has ", teacher, " ", what, ", the student ", student), hint);
}

void check_outputs_match(const Task& student, const Teacher& t) {
  const OutputSpec &own = student.tells->sizes, &its = t.sizes;
  if (own.of_words != its.of_words || own.scores != its.scores ||
      own.stacks.size() != its.stacks.size())
    throw UsageError(str(t.model.where, " was trained for another problem than ", student.name),
                     "use a teacher that was trained for the same problem");
  for (const auto& [name, value] : t.asked.items())
    if (const Json asked = student.settings.value(name, Json()); asked != value)
      throw UsageError(
          str(t.model.where, " has ", name, " ", value.dump(), ", the student ", asked.dump()),
          "use a teacher with the same problem and classes in the same order (data.labels sets "
          "it)");
  if (its.vocab_size < own.vocab_size || (own.of_words && its.vocab_size != own.vocab_size))
    require_same("words", its.vocab_size, own.vocab_size, t.model.where,
                 "use the same vocabulary and number of embedding rows for both");
  constexpr std::int64_t kSegmentsOfData = 2;
  if (its.segments < std::min(own.segments, kSegmentsOfData))
    require_same("segment types (type_vocab_size)", its.segments, own.segments, t.model.where,
                 "lower the student's model.type_vocab_size");
  require_same(own.of_words ? "words" : "classes", its.columns, own.columns, t.model.where,
               "use a teacher with the same classes");
}

void check_lengths_match(const Task& student, const Teacher& t) {
  for (const io::Feature& feature : student.features)
    if (feature.name == student.tokens && t.sizes.positions > 0 &&
        t.sizes.positions < feature.row[0])
      throw UsageError(str(t.model.where, " has a maximum sequence length of ", t.sizes.positions,
                           ", the student uses ", feature.row[0]),
                       "lower data.seq_length, or use a teacher for longer sequences");
}

void check_layers_match(const Task& student, const Teacher& t, const Distillation& d) {
  const auto& own = student.tells->sizes.stacks;
  bool has_attention_pair = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const StackSizes& its = t.sizes.stacks[i];
    for (const auto& [student_layer, teacher_layer] :
         layer_pairs(d.layers, own[i].layers, its.layers))
      has_attention_pair = has_attention_pair || (student_layer > 0 && teacher_layer > 0);
    if (d.attention > 0 && its.heads == 0)
      throw UsageError(str("distill.attention: a ", student.name, " provides no attention scores"),
                       "set distill.attention to 0");
    if (d.attention > 0)
      require_same(str("heads in its ", its.what), its.heads, own[i].heads, t.model.where,
                   "set distill.attention to 0, or use the same number of heads");
    if (d.cosine > 0)
      require_same(str("dimensions of the hidden state of its ", its.what), its.width, own[i].width,
                   t.model.where,
                   "set distill.cosine to 0; distill.hidden supports different widths");
  }
  if (d.attention > 0 && !has_attention_pair)
    throw UsageError(str("distill.layers: ", d.layers,
                         " contains no pair of attention layers, but "
                         "distill.attention is ",
                         d.attention),
                     "add pairs of layers from 1 on, such as 1:2, or set distill.attention to 0");
}

void check_distillation(const Distillation& d) {
  const auto require = [](const char* field, double value, bool fine, const char* range) {
    if (!fine || !std::isfinite(value))
      throw UsageError(str("distill.", field, " is ", value, ", must be ", range),
                       "see `smelt help recipe`");
  };
  require("temperature", d.temperature, d.temperature > 0, "above 0");
  for (const auto& [field, value] : {std::pair{"ce", d.ce},
                                     {"kd", d.kd},
                                     {"hidden", d.hidden},
                                     {"attention", d.attention},
                                     {"cosine", d.cosine}})
    require(field, value, value >= 0, "at least 0");
  const double all = d.ce + d.kd + d.hidden + d.attention + d.cosine;
  require("kd", d.kd, all > 0, "above 0 unless another loss has a factor");
  if (d.precision != "auto" && d.precision != "f32" && d.precision != "bf16")
    throw UsageError(str("distill.precision is '", d.precision, "'"), "use auto, f32 or bf16");
}

// ---- the losses ----

Tensor sum_all(Tensor x) {
  Dims axes;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return reduce_sum(x, axes);
}

// Returns [I] from scores [I,C]: temperature^2 KL(teacher || student), or squared differences for
// Scores::numbers.
Tensor divergence(Scores kind, Tensor student, Tensor teacher, double temperature) {
  const std::int64_t I = student.dim(0);
  if (kind == Scores::numbers) return reduce_sum(square(student - teacher), {1});
  const double inverse = 1 / temperature, factor = temperature * temperature;
  const Tensor s = student * inverse, t = teacher * inverse;
  if (kind == Scores::labels) {
    const Tensor wanted = logistic(t);
    const Tensor both = sigmoid_cross_entropy(s, wanted) - sigmoid_cross_entropy(t, wanted);
    return reshape(mean(both, {1}), {I}) * factor;
  }
  return divergence_of_scores(s, t) * factor;
}

// Returns [I]: the mean divergence over all compared scores.
Tensor divergences(const Scope& root, const Distillation& d, Scores kind,
                   const ForwardOutputs& student, const ForwardOutputs& teacher) {
  if (student.words)
    return word_divergence(root, *student.words, *teacher.words, d.temperature) *
           (d.temperature * d.temperature);
  Tensor sum;
  for (std::size_t i = 0; i < student.scores.size(); ++i) {
    const Tensor one =
        divergence(kind, student.scores[i], stop_gradient(teacher.scores[i]), d.temperature);
    sum = sum ? sum + one : one;
  }
  return sum * (1 / static_cast<double>(student.scores.size()));
}

// Returns the loss kd_loss: the divergence of the outputs, weighted and normalized like the task's
// first loss.
Metric kd_loss(const Scope& root, const Distillation& d, Scores kind, const ForwardOutputs& student,
               const ForwardOutputs& teacher, const Metric& own) {
  const Tensor rows = divergences(root, d, kind, student, teacher);
  return {.name = "kd_loss",
          .sum = reduce_sum(rows * student.weights, {0}),
          .weight = own.weight,
          .norm = own.norm,
          .factor = d.kd};
}

Tensor token_mask(const LayerStates& states) { return convert(states.mask, DType::f32); }  // [B,S]

// Returns the loss hidden_loss: the mean squared difference of hidden states over tokens, summed
// over pairs of layers.
Metric hidden_loss(const Scope& root, const Distillation& d, const ForwardOutputs& student,
                   const ForwardOutputs& teacher, const std::vector<LayerPairs>& pairs) {
  Tensor sum, weight;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const LayerStates &own = student.stacks[i], &its = teacher.stacks[i];
    const std::int64_t H = own.hidden[0].dim(2), W = its.hidden[0].dim(2);
    const Tensor tokens = token_mask(own);
    Tensor kernel;
    if (H != W)
      kernel =
          (root / "distill" / str("hidden_", i)).parameter("kernel", {H, W}, glorot_uniform(H, W));
    for (const auto& [student_layer, teacher_layer] : pairs[i]) {
      Tensor x = in_f32(own.hidden[static_cast<std::size_t>(student_layer)]);
      if (kernel) x = einsum("bsh,hw->bsw", x, kernel);
      const Tensor wanted =
          stop_gradient(in_f32(its.hidden[static_cast<std::size_t>(teacher_layer)]));
      const Tensor squares = reshape(mean(square(x - wanted), {2}), tokens.dims());
      const Tensor one = sum_all(squares * tokens);
      sum = sum ? sum + one : one;
    }
    const Tensor count = sum_all(tokens);
    weight = weight ? weight + count : count;
  }
  return {.name = "hidden_loss", .sum = sum, .weight = weight, .factor = d.hidden};
}

// Returns f32 [B,N,S,S]: q k / sqrt(D).
Tensor attention_scores(const LayerStates& states, std::int64_t layer) {
  const auto at = static_cast<std::size_t>(layer - 1);
  const Tensor q = in_f32(states.q[at]), k = in_f32(states.k[at]);
  return einsum("bqnd,bknd->bnqk", q, k) * (1 / std::sqrt(q.dim(3)));
}

// Returns the loss attention_loss: the mean squared difference of attention scores over heads and
// pairs of tokens, summed over pairs of layers.
Metric attention_loss(const Distillation& d, const ForwardOutputs& student,
                      const ForwardOutputs& teacher, const std::vector<LayerPairs>& pairs) {
  Tensor sum, weight;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Tensor tokens = token_mask(student.stacks[i]);
    const std::int64_t B = tokens.dim(0), S = tokens.dim(1);
    const Tensor seen = reshape(tokens, {B, S, 1}) * reshape(tokens, {B, 1, S});
    for (const auto& [student_layer, teacher_layer] : pairs[i]) {
      if (student_layer == 0 || teacher_layer == 0) continue;  // the embeddings have no attention
      const Tensor difference = attention_scores(student.stacks[i], student_layer) -
                                stop_gradient(attention_scores(teacher.stacks[i], teacher_layer));
      const Tensor one = sum_all(reshape(mean(square(difference), {1}), seen.dims()) * seen);
      sum = sum ? sum + one : one;
    }
    const Tensor count = sum_all(seen);
    weight = weight ? weight + count : count;
  }
  return {.name = "attention_loss", .sum = sum, .weight = weight, .factor = d.attention};
}

// 1 - cosine similarity of the last hidden states, over tokens.
Metric cosine_loss(const Distillation& d, const ForwardOutputs& student,
                   const ForwardOutputs& teacher) {
  constexpr double kTiny = 1e-12;  // for padding that is all zeros
  const auto dot = [](Tensor a, Tensor b) { return reduce_sum(a * b, {2}); };
  Tensor sum, weight;
  for (std::size_t i = 0; i < student.stacks.size(); ++i) {
    const Tensor a = in_f32(student.stacks[i].hidden.back());
    const Tensor b = stop_gradient(in_f32(teacher.stacks[i].hidden.back()));
    const Tensor tokens = token_mask(student.stacks[i]), count = sum_all(tokens);
    const Tensor cosine = dot(a, b) * rsqrt((dot(a, a) + kTiny) * (dot(b, b) + kTiny));
    const Tensor one = sum_all((1.0 - cosine) * tokens);
    sum = sum ? sum + one : one;
    weight = weight ? weight + count : count;
  }
  return {.name = "cosine_loss", .sum = sum, .weight = weight, .factor = d.cosine};
}

// Returns the compute policy of the teacher: the student's, with the precision and dimension names
// of the teacher. Nothing is stored for a backward pass, because the teacher has none.
ComputePolicy teacher_compute(ComputePolicy c, const Teacher& t, const Distillation& d) {
  if (d.precision != "auto") c.dtype = d.precision == "bf16" ? DType::bf16 : DType::f32;
  c.save = RematPolicy::none;
  if (c.partition) {
    PartitionRules own = *c.partition;
    own.names = t.model.dim_names;
    c.partition = std::make_shared<const PartitionRules>(std::move(own));
  }
  return c;
}

Objective distilled_objective(const Task& own, const Teacher& t, const Distillation& d,
                              const Scope& root, const Inputs& in) {
  ForwardOutputs teacher, student;
  for (ForwardOutputs* outputs : {&teacher, &student}) {
    outputs->stacks.resize(t.sizes.stacks.size());
    for (LayerStates& states : outputs->stacks) states.with_heads = d.attention > 0;
  }
  // The teacher comes first because its parameters must precede all others
  // (model/train_step/program.h).
  t.forward(root.held(teacher_compute(root.compute(), t, d)), in, teacher);
  Objective out = own.tells->objective(root, in, student);
  std::vector<LayerPairs> pairs;
  for (std::size_t i = 0; i < t.sizes.stacks.size(); ++i)
    pairs.push_back(
        layer_pairs(d.layers, own.tells->sizes.stacks[i].layers, t.sizes.stacks[i].layers));
  std::vector<Metric> more;
  if (d.kd > 0)
    more.push_back(kd_loss(root, d, t.sizes.scores, student, teacher, out.losses.front()));
  if (d.hidden > 0) more.push_back(hidden_loss(root, d, student, teacher, pairs));
  if (d.attention > 0) more.push_back(attention_loss(d, student, teacher, pairs));
  if (d.cosine > 0) more.push_back(cosine_loss(d, student, teacher));
  if (d.ce == 0) {
    out.metrics.insert(out.metrics.begin(), out.losses.begin(), out.losses.end());
    out.losses.clear();
  }
  for (Metric& loss : out.losses) loss.factor *= d.ce;
  out.losses.insert(out.losses.end(), more.begin(), more.end());
  return out;
}

}  // namespace

LayerPairs layer_pairs(const std::string& layers, std::int64_t student, std::int64_t teacher) {
  if (layers == "last") return {{student, teacher}};
  LayerPairs out;
  if (layers == "auto") {
    for (std::int64_t i = 0; i <= student; ++i)
      out.emplace_back(i, (2 * i * teacher + student) / (2 * student));
    return out;
  }
  for (const std::string_view word : split(layers, ',')) {
    const std::string_view pair = trim(word);
    const auto colon = pair.find(':');
    if (colon == pair.npos)
      throw UsageError(
          str("distill.layers: '", pair, "' in '", layers, "' is not a pair of layers"),
          "use pairs such as 0:0,1:2,2:4, auto or last");
    out.emplace_back(layer_number(trim(pair.substr(0, colon)), student, "student", layers),
                     layer_number(trim(pair.substr(colon + 1)), teacher, "teacher", layers));
  }
  return out;
}

Task distilled(Task student, const Teacher& teacher, const Distillation& d) {
  if (!student.tells)
    throw UsageError(str("distill.teacher: distillation is not supported for ", student.name),
                     "use a classifier, BERT pretraining or a T5");
  check_distillation(d);
  check_outputs_match(student, teacher);
  check_lengths_match(student, teacher);
  check_layers_match(student, teacher, d);
  Task out = student;
  out.can_be_packed = false;  // the teacher's inputs and hidden states are not packed
  out.settings["distill"] = io::config_json(d);
  out.settings["distill"]["teacher"] = teacher.settings;
  out.frozen = teacher.model;
  out.objective = [student = std::move(student), teacher, d](const Scope& root, const Inputs& in) {
    if (!root.training()) return student.objective(root, in);
    return distilled_objective(student, teacher, d, root, in);
  };
  return out;
}

}  // namespace smelt::model
