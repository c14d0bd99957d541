// Opens a checkpoint in any of the three formats that smelt reads: its own, TensorFlow's, Hugging
// Face's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/plural.h"
#include "checkpoint/interop/bert_gelu.h"
#include "io/formats/lazy_tensor.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt::checkpoint {

enum class ModelForm { smelt, tensorflow, hugging_face };

// The text format of a T5, which its config does not include.
struct T5Words {
  std::optional<std::int64_t> extra_ids = {};  // sentinels after the vocabulary's pieces, if known
  std::string prefix = {};                     // put before each text by a fine-tuned model
};

// A model whose tensors are read on demand.
struct StoredModel {
  ModelForm form = ModelForm::smelt;
  std::string where;              // path of the checkpoint; the newest one if a folder is given
  std::string architecture = {};  // transformers' class, "BertForMaskedLM"; "" if not known
  std::int64_t step = 0;          // 0 if unknown
  io::LazyTensors tensors;        // keys: the original checkpoint's names; without global_step
  // for each tensor that is stored in several slices, texts such as "[0:4,0:8]"
  std::map<std::string, std::vector<std::string>> slices;
  Json settings;  // the state of a smelt checkpoint, else null
  Json config;    // the model's config in smelt's terms; null if unknown
  // The training objective of an ELECTRA or a classifier; null if unknown.
  Json objective;
  std::string vocab_txt;  // content of the vocabulary file; empty if unknown
  std::string vocab;      // path of that file
  std::optional<text::TokenizerOptions> tokenizer;
  std::optional<std::string> segment_command = {};  // given by the user, as in TokenizerFlags
  T5Words t5;
  std::vector<std::string> skipped;  // descriptions of tensors that smelt does not read
  std::vector<std::shared_ptr<const void>> owners;

  // Returns "where (BertForMaskedLM)", for the beginning of a message.
  std::string named() const { return where + in_brackets(architecture); }
};

// Removes "objective" from the content of a bert_config.json or electra_config.json and returns it;
// null if it is missing.
Json take_objective(Json& config);
// Removes "extra_ids" and "prefix" from the content of a t5_config.json and returns them.
T5Words remove_t5_fields(Json& config);
// Adds "extra_ids" and "prefix" to `config`.
void add_t5_fields(const T5Words& words, Json& config);

// Opens the model at `path`: a smelt checkpoint or a folder of them, a TensorFlow prefix, index
// file or folder, a Hugging Face folder of a readable model type (readable_model_types()), or a
// recipe's run folder (its model/). Takes the newest intact checkpoint of a folder and logs an
// error if a newer one is damaged. A smelt checkpoint is read and checked now. Tensors of the other
// formats are read on demand; TensorFlow's checksums are then checked. The folder of an ELECTRA
// generator alone opens as a masked LM. Throws UsageError that begins with `where` if the path has
// another format or cannot be read, or if a generator does not fit its discriminator. Unless
// `any_names` is true, also throws it if a TensorFlow checkpoint has names of Python objects.
StoredModel open_stored_model(const std::string& path, const std::string& where,
                              bool any_names = false, BertGelu gelu = BertGelu::tanh);

// Removes the discriminator of an ELECTRA and renames the generator's parameters to those of a
// masked LM, as in an exported generator folder. Does nothing if the model is not an ELECTRA or has
// no generator.
void take_generator(StoredModel& model);

// Throws UsageError that begins with `where` if the vocabulary has ids without a row in the
// embeddings.
void check_vocabulary_rows(const StoredModel& model, std::string_view where);

// The model type of every fine-tuned classifier of any family.
inline constexpr const char* kClassifierType = "classify";
// Infers the model type from the names of the tensors: kClassifierType, or the name of the family
// of a pretrained model ("bert", "t5"). Returns "" if the model belongs to no family.
std::string model_type_of(const io::LazyTensors& tensors);

// Returns the name of the config file next to a checkpoint, which has the model's sizes, such as
// bert_config.json or t5_config.json.
std::string config_file_name(const StoredModel& model);
// Throws UsageError if the model's sizes are in neither the checkpoint nor its config file. The
// default hint is to add the config file.
void require_sizes(const StoredModel& model, const std::string& where,
                   const std::string& hint = "");
// Returns `config` with sizes from the shapes of the tensors: missing sizes of an ELECTRA
// (with_electra_sizes()), or all sizes of a T5 if `config` is null. Returns any other config
// unchanged. `where` is the config's path.
Json with_sizes_of_tensors(Json config, const StoredModel& model, const std::string& where);

// Returns whether an ELECTRA's generator has a separate encoder.
bool has_generator(const io::LazyTensors& tensors);
struct OpenedFolder;
// Adds the tensors and the vocabulary of an opened Hugging Face folder to `out`. If `vocabulary` is
// not empty, it replaces the path of the folder's vocabulary.
void take_folder(const OpenedFolder& folder, StoredModel& out, const std::string& vocabulary = {});

// Whether `tensors` include moving averages of weights (train.ema_decay).
bool has_averages(const io::LazyTensors& tensors);
// Returns the number of optimizer slots and moving averages among the tensors.
std::size_t count_slots(const io::LazyTensors& tensors);

// Returns the name of a format for messages: "TensorFlow", "Hugging Face" or "smelt".
std::string_view name(ModelForm form);

}  // namespace smelt::checkpoint
