// Implements StoredFamily for JEstimator's BERT, in smelt and TensorFlow checkpoints only.
#include "checkpoint/interop/stored_family.h"

namespace smelt::checkpoint {
namespace {

class JestimatorBertFamily final : public StoredFamily {
 public:
  std::string_view name() const override { return "jestimator_bert"; }
  bool owns(const io::LazyTensors& tensors) const override {
    return any_begins(tensors, "encoder/embedder_block/");
  }
  std::string config_file() const override { return "bert_config.json"; }
  bool has_onnx() const override { return false; }
};

}  // namespace

const StoredFamily& jestimator_bert_stored_family() {
  static const JestimatorBertFamily kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
