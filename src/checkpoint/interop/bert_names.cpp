#include "checkpoint/interop/bert_names.h"

#include "base/error.h"
#include "checkpoint/interop/cut_heads.h"

namespace smelt::checkpoint {

std::int64_t config_size(const Json& config, const char* name) {
  if (!config.is_object() || !config.contains(name))
    throw UsageError(str("BERT config: ", name, " is missing"), str("set ", name));
  const Json& value = config.at(name);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1)
    throw UsageError(str("BERT config: ", name, " is ", value.dump(), ", must be at least 1"),
                     str("set ", name, " to a positive integer"));
  return value.get<std::int64_t>();
}

std::vector<ParameterName> bert_names(const Json& config) {
  const std::int64_t hidden = config_size(config, "hidden_size");
  const std::int64_t vocab = config_size(config, "vocab_size");
  const std::int64_t intermediate = config_size(config, "intermediate_size");
  ParameterNames names;
  names.embeddings({"bert/embeddings", "bert.embeddings"},
                   {.words = vocab,
                    .kinds = config_size(config, "type_vocab_size"),
                    .positions = config_size(config, "max_position_embeddings")},
                   hidden);
  const bool is_cut = config.contains(kHeadWidth);
  names.encoder({"bert", "bert"},
                {.layers = config_size(config, "num_hidden_layers"),
                 .hidden = hidden,
                 .attention = is_cut ? config_size(config, "num_attention_heads") *
                                           config_size(config, kHeadWidth)
                                     : hidden,
                 .intermediate = intermediate});
  names.dense({"bert/pooler/dense", "bert.pooler.dense"}, hidden, hidden);
  names.dense({"cls/predictions/transform/dense", "cls.predictions.transform.dense"}, hidden,
              hidden);
  names.layer_norm({"cls/predictions/transform", "cls.predictions.transform"}, hidden);
  names.plain({"cls/predictions/output_bias", "cls.predictions.bias"}, {vocab});
  names.plain({"cls/seq_relationship/output_weights", "cls.seq_relationship.weight"}, {2, hidden});
  names.plain({"cls/seq_relationship/output_bias", "cls.seq_relationship.bias"}, {2});
  names.plain({"cls/squad/output_weights", "qa_outputs.weight"}, {2, hidden});
  names.plain({"cls/squad/output_bias", "qa_outputs.bias"}, {2});
  if (config.contains(kNumLabels)) {
    const std::int64_t labels = config_size(config, kNumLabels);
    names.plain({"output_weights", "classifier.weight"}, {labels, hidden});
    names.plain({"output_bias", "classifier.bias"}, {labels});
  }
  return names.take();
}

}  // namespace smelt::checkpoint
