#include <smelt.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/choice.h"
#include "base/error.h"
#include "c_api/arrays.h"
#include "c_api/guard.h"
#include "c_api/options.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/record_features.h"
#include "data/input_pipeline/record_index_file.h"
#include "io/formats/example_slots.h"

using smelt::c_api::check_pointer;
using smelt::c_api::check_stop;
using smelt::c_api::guarded;
using smelt::c_api::Options;

struct smelt_batches {
  std::unique_ptr<const smelt::data::ExampleSource> source;
  bool in_file_order = false;
  smelt::data::HostShare share = {};
};

namespace smelt::c_api {
namespace {

constexpr std::int64_t kAnyId = std::int64_t{1} << 31;

io::Feature feature_of(const io::ExampleFeature& found) {
  const bool integers = found.kind == io::ExampleKind::integers;
  compiler::Dims row{static_cast<std::int64_t>(found.count)};
  if (found.count == 1) row = {};
  return {.name = found.name,
          .dtype = integers ? compiler::DType::s32 : compiler::DType::f32,
          .row = row,
          .limit = kAnyId,
          .limit_name = "2^31"};
}

// Returns the numeric features of the first record, or those that are named.
io::Features record_features(const std::string& input, const std::vector<std::string>& names) {
  const auto found = data::first_features(data::RecordIndex(data::record_files(input, "batches")));
  io::Features out;
  std::vector<std::string> known;
  for (const io::ExampleFeature& feature : found) {
    if (feature.kind != io::ExampleKind::integers && feature.kind != io::ExampleKind::reals)
      continue;
    known.push_back(feature.name);
    if (names.empty() && out.size() < io::kMostSlots) out.push_back(feature_of(feature));
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(
          str("batches: the records of ", input, " have no numeric feature '", name, "'"),
          str("use one of: ", join(known, ", ")));
    out.push_back(feature_of(*std::ranges::find(found, name, &io::ExampleFeature::name)));
  }
  return out;
}

data::RecordOptions record_options(const Options& options) {
  data::RecordOptions out{.input = options.text("input", ""), .features = {}};
  if (out.input.empty())
    throw UsageError("batches: the option input is missing",
                     "name TFRecord files, token stores or patterns with input");
  out.seed = static_cast<std::uint64_t>(options.number("seed", 12345, 0));
  out.lengths = options.numbers("lengths");
  out.tokens = options.text("tokens", "");
  if (out.lengths.empty() != out.tokens.empty())
    throw UsageError("batches: lengths and tokens belong together", "pass both, or neither");
  if (data::holds_tokens(data::data_paths(out.input, "batches").front())) {
    out.features = {
        {"targets", compiler::DType::s32, {options.number("window", 512, 1)}, kAnyId, "2^31"}};
    return out;
  }
  if (options.is_set("window"))
    throw UsageError(str("batches: window is for token stores, but ", out.input, " has records"),
                     "remove window");
  out.features = record_features(out.input, options.texts("features"));
  if (!out.tokens.empty() &&
      std::ranges::find(out.features, out.tokens, &io::Feature::name) == out.features.end())
    throw UsageError(str("batches: the records have no feature '", out.tokens, "'"),
                     "name the feature with the token ids, such as input_ids");
  return out;
}

std::int32_t dtype_of(compiler::DType dtype) {
  CHECK(dtype == compiler::DType::s32 || dtype == compiler::DType::f32);
  return dtype == compiler::DType::s32 ? SMELT_I32 : SMELT_F32;
}

OrderedJson batches_json(const data::ExampleSource& source) {
  OrderedJson out{{"examples", source.size()},
                  {"epoch_examples", source.epoch_size()},
                  {"features", OrderedJson::array()},
                  {"files", source.files()}};
  for (const io::Feature& feature : source.features())
    out["features"].push_back(
        {{"name", feature.name},
         {"dtype", feature.dtype == compiler::DType::s32 ? "int32" : "float32"},
         {"shape", std::vector<std::int64_t>(feature.row.begin(), feature.row.end())}});
  const auto description = source.description();
  out["description"] = description ? OrderedJson(description->all) : OrderedJson();
  return out;
}

// Returns the arrays of a batch. They share its ownership.
std::unique_ptr<smelt_arrays> batch_arrays(data::Batch made, const io::Features& features) {
  const auto batch = std::make_shared<const data::Batch>(std::move(made));
  auto out = std::make_unique<smelt_arrays>();
  for (std::size_t i = 0; i < batch->arrays.size(); ++i) {
    const data::HostArray& array = batch->arrays[i];
    out->add(features[i].name, dtype_of(array.shape.dtype),
             {array.shape.dims.begin(), array.shape.dims.end()}, array.bytes.data(), batch);
  }
  return out;
}

}  // namespace
}  // namespace smelt::c_api

int smelt_batches_open(const char* options, smelt_batches** out) {
  return guarded([&] {
    check_pointer(out, "out");
    const Options given(
        options, "batches",
        {"input", "seed", "order", "features", "lengths", "tokens", "window", "host", "hosts"});
    auto made = std::make_unique<smelt_batches>();
    made->in_file_order = smelt::choose<bool>("batches: order", given.text("order", "training"),
                                              {{"training", false}, {"file", true}});
    made->share = {.host = given.number("host", 0, 0), .hosts = given.number("hosts", 1, 1)};
    if (made->share.host >= made->share.hosts)
      throw smelt::UsageError(
          smelt::str("batches: host is ", made->share.host, ", hosts is ", made->share.hosts),
          "number the hosts from 0");
    made->source = smelt::data::open_examples(smelt::c_api::record_options(given));
    *out = made.release();
  });
}

void smelt_batches_free(smelt_batches* batches) { delete batches; }

int smelt_batches_describe(const smelt_batches* batches, smelt_arrays** out) {
  return guarded([&] {
    check_pointer(batches, "batches");
    check_pointer(out, "out");
    *out = smelt::c_api::json_arrays(smelt::c_api::batches_json(*batches->source)).release();
  });
}

int smelt_batch(const smelt_batches* batches, uint64_t step, int64_t rows, const smelt_stop* stop,
                smelt_arrays** out) {
  return guarded([&] {
    check_pointer(batches, "batches");
    check_pointer(out, "out");
    check_stop(stop);
    if (rows < 1)
      throw smelt::UsageError(smelt::str("batch: the number of rows is ", rows),
                              "pass a batch size of at least 1");
    const smelt::data::ExampleSource& source = *batches->source;
    smelt::data::Batch batch = batches->in_file_order
                                   ? source.batch_in_order(step, rows, batches->share)
                                   : source.batch(step, rows, batches->share);
    *out = smelt::c_api::batch_arrays(std::move(batch), source.features()).release();
  });
}
