// A checkpoint of any of the three forms that smelt reads: its own, TensorFlow's, Hugging Face's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/plural.h"
#include "io/formats/lazy_tensor.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

enum class ModelForm { smelt, tensorflow, hugging_face };

// What a T5 knows of words beside its config.
struct T5Words {
  std::optional<std::int64_t> extra_ids = {};  // sentinels on top of its vocabulary, if known
  std::string prefix = {};                     // before each text, of one that is fine-tuned
};

struct StoredModel {
  ModelForm form = ModelForm::smelt;
  std::string where;              // the checkpoint itself, of a folder's the newest
  std::string architecture = {};  // transformers' class, "BertForMaskedLM"; "" if not known
  std::int64_t step = 0;          // 0 where none is known
  LazyTensors tensors;            // by the original checkpoint's names; without global_step
  std::map<std::string, std::vector<std::string>> slices;  // "[0:4,0:8]", of what lies in several
  Json settings;                                           // a smelt checkpoint's state; null
  Json config;  // the model's, in smelt's words; null where it is not known
  // What it was trained to do, an ELECTRA's or a classifier's; null where it is not known.
  Json objective;
  std::string vocab_txt;  // what its file holds; empty where it is not known
  std::string vocab;      // its file
  std::optional<TokenizerOptions> tokenizer;
  std::optional<std::string> segment_command = {};  // what the user gives, as in TokenizerFlags
  T5Words t5;
  std::vector<std::string> skipped;  // tensors that smelt does not take, each with a word
  std::vector<std::shared_ptr<const void>> owners;

  // "where (BertForMaskedLM)", to begin a message with.
  std::string named() const { return where + in_brackets(architecture); }
};

// Takes "objective" out of what a bert_config.json or electra_config.json holds; null where it says
// none.
Json take_objective(Json& config);
// The same of a t5_config.json's "extra_ids" and "prefix"; and there again.
T5Words take_t5_words(Json& config);
void put_t5_words(const T5Words& words, Json& config);

// A checkpoint of smelt's or a folder of some (the newest that is whole; an error is logged where
// that is an older one), a TensorFlow prefix, index file or folder, or a
// Hugging Face folder of a BERT, an ELECTRA or a T5; a recipe's folder stands for its model/. One
// of smelt's is in memory and its checksums have been held; of the others each tensor is read, and
// of TensorFlow's checked, when it is wanted. UsageError beginning with `where` when it is none of
// these, for what cannot be read, for a generator whose sizes are none that smelt gives one beside
// its discriminator and, unless `any_names`, for names of TensorFlow's objects. A generator's
// folder alone is a masked LM.
StoredModel open_stored_model(const std::string& path, const std::string& where,
                              bool any_names = false);

// Removes the discriminator of an ELECTRA and renames the generator's parameters to those of a
// masked LM, as in an exported generator folder. Does nothing if the model is no ELECTRA or has no
// generator.
void take_generator(StoredModel& model);

// UsageError beginning with `where` if the model's vocabulary has ids beyond its embeddings.
void check_vocabulary_rows(const StoredModel& model, std::string_view where);

// The type of every fine-tuned classifier, whatever its family.
inline constexpr const char* kClassifierType = "classify";
// Returns the name of the family of a pretrained model ("bert", "t5") or kClassifierType, by the
// names of the tensors; "" for a model of no family.
std::string model_type_of(const LazyTensors& tensors);

// Returns the name of the file beside a checkpoint that has the model's sizes: bert_config.json,
// electra_config.json or t5_config.json.
std::string config_file_name(const StoredModel& model);
// Throws UsageError if the sizes are not known: neither the checkpoint nor a file beside it has
// them. The default hint is to put the file there.
void require_sizes(const StoredModel& model, const std::string& where,
                   const std::string& hint = "");
// Adds the sizes that the tensors of an ELECTRA show (with_electra_sizes()); returns all sizes of a
// T5 if `config` is null, and any other config as it is. `where` is the config's file.
Json with_sizes_of_tensors(Json config, const StoredModel& model, const std::string& where);

// Returns whether an ELECTRA's generator has an encoder of its own.
bool has_generator(const LazyTensors& tensors);
// Adds the tensors and the vocabulary of an opened Hugging Face folder to `out`. `vocabulary`
// replaces the path of the vocabulary if it is not empty.
struct OpenedFolder;
void take_folder(const OpenedFolder& folder, StoredModel& out, const std::string& vocabulary = {});

// Whether there are moving averages of weights (train.ema_decay).
bool has_averages(const LazyTensors& tensors);
// How many of the tensors are slots and averages.
std::size_t count_slots(const LazyTensors& tensors);

std::string_view name(ModelForm form);

}  // namespace smelt
