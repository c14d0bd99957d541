// The models that `smelt serve` holds in memory, and its requests (docs/reference/serve.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "io/formats/json_field.h"
#include "pipeline/objectives/pretrained_model.h"

namespace smelt::cli {

// A float array that is sent as raw bytes after the JSON line of an answer.
struct ServedArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // in row-major order
};

struct ServedAnswer {
  OrderedJson json = OrderedJson::object();
  std::vector<ServedArray> arrays = {};
};

// Called after each batch group with the number of texts that are done and the total. Throws
// Stopped to end the request.
using ServeProgress = std::function<void(std::size_t done, std::size_t total)>;

class ServedModels {
 public:
  // Performs the request {"do": NAME, ...} and returns its answer. Throws UsageError for an unknown
  // request or field, for a value of the wrong type and for an unknown model, and the errors of
  // PretrainedModel.
  ServedAnswer answer(const Json& request, const ServeProgress& progress);

 private:
  // A loaded model. Its generator and embedder are kept while their options stay the same.
  struct Model {
    pipeline::PretrainedModel loaded;
    std::optional<execution::Generator> generator = {};
    execution::GenerateOptions options = {};
    std::optional<execution::TextEmbedder> embedder = {};
    pipeline::EmbedChoice embed_choice = {};
  };

  ServedAnswer load(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer close(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer fill_mask(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer detect(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer embed(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer classify(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer token_labels(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer answer_question(const io::JsonField& request, const ServeProgress& progress);
  ServedAnswer generate(const io::JsonField& request, const ServeProgress& progress);
  Model& model_of(const io::JsonField& request);

  std::map<std::int64_t, Model> models_;  // by the number that load() returned
  std::int64_t next_ = 1;
};

}  // namespace smelt::cli
