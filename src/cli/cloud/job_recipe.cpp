#include "cli/cloud/job_recipe.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "checkpoint/interop/folder_weights.h"
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "cloud/job_journal.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/objectives/load_recipe.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::cli {
namespace {

// Throws UsageError if the recipe does not use all devices of the TPU. The CPU of the TPU's host is
// allowed only if the recipe sets train.device=cpu and the type has one host.
void check_device(const pipeline::Recipe& r, const cost_model::Accelerator& type) {
  const std::string hint = str("--set train.device=tpu --set train.devices=", type.devices,
                               "; the batch size must be a multiple of ", type.devices);
  const auto device = r.sections.at("train").at("device").get<std::string>();  // may be "auto"
  const bool is_chosen = device == "cpu" && r.is_set("train.device") && type.hosts == 1;
  if (device != "tpu" && !is_chosen)
    throw UsageError(str("train.device: ", device, ": a job must use the TPU of the ", type.name),
                     hint);
  if (device == "tpu" && r.train.devices != type.devices)
    throw UsageError(str("train.devices: ", r.train.devices, ": a ", type.name, " has ",
                         type.devices, " devices"),
                     hint);
}

std::string judge(const pipeline::Recipe& recipe, const cost_model::Accelerator* type,
                  std::optional<cost_model::RunTime>& planned) {
  if (type != nullptr) {
    check_device(recipe, *type);
    (void)staged_recipe(recipe,
                        "gs://bucket/job");  // checks that its files exist and can be uploaded
  }
  const pipeline::DryRun run = pipeline::dry_run(recipe, {}, type);
  if (!run.misfit.empty())
    throw UsageError(run.misfit, "run `smelt plan RECIPE` to find machines and settings that fit");
  planned = run.planned;
  return str(recipe.type->name, ", ",
             recipe.train.seconds > 0 ? recipe.train.length : str(recipe.train.steps, " steps"),
             " of ", recipe.train.batch_size, " on ", recipe.train.devices, " x ",
             recipe.train.device);
}

constexpr const char* kLists[] = {"text.input", "data.records",    "data.heldout",
                                  "data.train", "data.validation", "data.test"};
constexpr const char* kWeights[] = {"model.like", "train.init_from", "distill.teacher"};

bool is_one_of(const auto& names, const std::string& name) {
  return std::ranges::find(names, name) != std::end(names);
}

// Returns a file name without characters that have a meaning in a list of patterns or a gs:// path:
// wildcards, commas, options, white space at the ends.
std::string staged_name(std::string name) {
  for (char& c : name)
    if (std::string_view("*?[],&").find(c) != std::string_view::npos ||
        static_cast<unsigned char>(c) < ' ')
      c = '_';
  if (name.starts_with(' ')) name.front() = '_';
  if (name.ends_with(' ')) name.back() = '_';
  return name;
}

class Stager {
 public:
  Stager(std::string folder, StagedRecipe& out) : folder_(std::move(folder)), out_(out) {}

  // Stages the files of a list field. Returns their paths in the bucket, separated by commas.
  std::string list(const std::string& field, const std::string& value) {
    if (value.empty()) return value;
    if (pipeline::is_row_command(value))
      throw UsageError(str(field, ": ", value, " is a command on this machine"),
                       "write its output to a file and use that file");
    std::vector<std::string> there;
    std::set<std::string> names;
    for (const std::string& file : io::expand_files(value, field)) {
      if (io::is_remote(file)) {
        there.push_back(list_entry(field, kept(field, file)));
        continue;
      }
      const std::string own = staged_name(io::path_name(file));
      std::string name = own;
      for (int i = 2; !names.insert(name).second; ++i) name = str(i, "-", own);
      there.push_back(put(file, io::join_path(place(field), name)));
    }
    return join(there, ",");
  }
  std::string folder(const std::string& field, const std::string& value) {
    if (io::is_remote(value)) return kept(field, value);
    return value.empty() ? value : tables(value, place(field));
  }
  // Stages the vocabulary and the tokenizer settings next to it. Returns its path in the bucket.
  std::string vocabulary(const std::string& file) {
    if (io::is_remote(file)) return kept("vocab.file", file);
    if (file.empty()) return file;
    const std::string there = io::join_path(place("vocab.file"), staged_name(io::path_name(file)));
    for (const auto& [beside, to] : std::map<std::string, std::string>{
             {io::join_path(io::parent_path(file), "tokenizer_config.json"),
              io::join_path(place("vocab.file"), "tokenizer_config.json")},
             {text::tokenizer_config_path(file), text::tokenizer_config_path(there)}})
      if (io::exists(beside)) put(beside, to);
    return put(file, there);
  }
  // Stages weights and returns their path in the bucket. Stages the model of a run folder, only the
  // newest checkpoint of a model folder, and a TensorFlow checkpoint with its config.
  std::string weights(const std::string& field, const std::string& value) {
    if (io::is_remote(value)) return kept(field, value);
    if (value.empty()) return value;
    const std::string from = checkpoint::model_in_run(value, field).value_or(value),
                      to = place(field);
    if (checkpoint::is_checkpoint_path(from))
      return model_files(from, io::join_path(to, io::path_name(from)));
    if (const auto newest =
            io::is_folder(from) ? checkpoint::latest_checkpoint(from) : std::nullopt) {
      const std::string checkpoint = checkpoint::committed_path(from, *newest);
      model_files(checkpoint, io::join_path(to, io::path_name(checkpoint)));
      return model_files(from, to);
    }
    if (const auto prefix = checkpoint::tensorflow_prefix(from)) return tensorflow(*prefix, to);
    for (const std::string& folder : checkpoint::hugging_face_folders(from))
      hugging_face(folder, folder == from ? to : io::join_path(to, io::path_name(folder)));
    return to;
  }

 private:
  std::string place(const std::string& field) const {
    return io::join_path(folder_, "input/" + field);
  }
  // Returns `path`, an object that the job reads in place. Throws UsageError if it is in the job's
  // own input folder, where the job would delete it.
  const std::string& kept(const std::string& field, const std::string& path) const {
    const std::string own = io::join_path(folder_, "input");
    if (io::is_path_inside(path, own))
      throw UsageError(str(field, ": ", path, " is in ", own,
                           ", where the job deletes all files that it has not uploaded"),
                       "use another folder with --name NAME, or move the file");
    return path;
  }
  // Returns a list entry that matches only this object: wildcards in its path are escaped. Throws
  // UsageError if the path contains a comma.
  static std::string list_entry(const std::string& field, const std::string& path) {
    const io::RemotePath parts = io::parse_remote(path);
    if (parts.key.find(',') != std::string::npos)
      throw UsageError(
          str(field, ": ", path,
              ": the name contains a comma, which separates entries of the list"),
          str("copy it to a name without a comma: smelt storage cp '", path, "' NAME"));
    const bool is_plain = parts.key.find_first_of("*?[") == std::string::npos &&
                          !parts.key.starts_with(' ') && !parts.key.ends_with(' ');
    return is_plain ? path : parts.literal();
  }
  // Adds `file` to the files to upload and returns `to`, its target. Throws UsageError if another
  // file has the same target: staged_name() may map two names to one.
  std::string put(const std::string& file, const std::string& to) {
    (void)io::file_size(file);  // throws if it does not exist
    const auto [other, is_new] = sources_.emplace(to, file);
    if (!is_new && other->second != file)
      throw UsageError(str(other->second, " and ", file, " would both become ", to),
                       "rename one of them");
    out_.files.push_back({file, to});
    return to;
  }
  // Stages only the files that a model is loaded from.
  std::string model_files(const std::string& from, const std::string& to) {
    static const std::set<std::string_view> names{checkpoint::kCommitFile,
                                                  checkpoint::kManifestFile,
                                                  "config.json",
                                                  "bert_config.json",
                                                  "t5_config.json",
                                                  "electra_config.json",
                                                  "vocab.txt",
                                                  checkpoint::kT5VocabularyFile,
                                                  "vocab.model",
                                                  "spm.model",
                                                  "sentencepiece.bpe.model",
                                                  "vocab.json",
                                                  "merges.txt",
                                                  "tokenizer.json",
                                                  checkpoint::kCompressedFile,
                                                  "generation_config.json",
                                                  "added_tokens.json",
                                                  "tokenizer_config.json",
                                                  "special_tokens_map.json"};
    for (const std::string& name : io::list_folder(from)) {
      const bool is_shard = name.starts_with("tensors-") && name.ends_with(".safetensors");
      if (names.contains(name) || is_shard) put(io::join_path(from, name), io::join_path(to, name));
    }
    return to;
  }
  // Stages a Hugging Face folder with its weights in one format: the one that smelt loads.
  void hugging_face(const std::string& from, const std::string& to) {
    model_files(from, to);
    if (!io::exists(checkpoint::weights_path(from))) return;
    std::set<std::string> files{checkpoint::weights_path(from)};
    for (const std::string& file : checkpoint::weights_files(from)) files.insert(file);
    for (const std::string& file : files) put(file, io::join_path(to, io::path_name(file)));
  }
  // Stages the .tsv files of GLUE tasks in `from` and its subfolders. Returns `to`.
  std::string tables(const std::string& from, const std::string& to) {
    for (const std::string& name : io::list_folder(from)) {
      const std::string path = io::join_path(from, name),
                        there = io::join_path(to, staged_name(name));
      if (name.starts_with('.')) continue;
      if (io::is_folder(path))
        tables(path, there);
      else if (name.ends_with(".tsv"))
        put(path, there);
    }
    return to;
  }
  std::string tensorflow(const std::string& prefix, const std::string& to) {
    const std::string from = io::parent_path(prefix), name = io::path_name(prefix);
    for (const std::string& file : io::list_folder(from.empty() ? "." : from))
      if (file.starts_with(name + ".") || file.ends_with("config.json"))
        put(io::join_path(from, file), io::join_path(to, staged_name(file)));
    return io::join_path(to, staged_name(name));
  }

  std::string folder_;
  StagedRecipe& out_;
  std::map<std::string, std::string> sources_;  // source file by target
};

}  // namespace

// Writes only the fields that were set, because defaults may depend on other fields.
StagedRecipe staged_recipe(const pipeline::Recipe& r, const std::string& folder) {
  StagedRecipe out;
  Stager stager(folder, out);
  std::map<std::string, std::string> sections;
  for (const std::string& field : r.set) {
    const std::size_t dot = field.find('.');
    const std::string section = dot == std::string::npos ? "" : field.substr(0, dot);
    const std::string name = dot == std::string::npos ? field : field.substr(dot + 1);
    Json value = r.sections.at(section).at(name);
    if (field == "out") continue;
    if (is_one_of(kLists, field)) value = stager.list(field, value.get<std::string>());
    if (is_one_of(kWeights, field)) value = stager.weights(field, value.get<std::string>());
    if (field == "data.glue_folder") value = stager.folder(field, value.get<std::string>());
    if (field == "vocab.file") continue;
    sections[section] += str(section.empty() ? "" : "  ", name, ": ", value.dump(), "\n");
  }
  if (const std::string vocab = stager.vocabulary(pipeline::given_vocabulary(r)); !vocab.empty())
    sections["vocab"] += str("  file: ", Json(vocab).dump(), "\n");
  out.text = str("out: ", Json(io::join_path(folder, "run")).dump(), "\n");
  for (const auto& [section, lines] : sections)
    out.text += (section.empty() ? "" : section + ":\n") + lines;
  return out;
}

namespace {

// Returns the fields of a StagedRecipe's text that must not change on resume, with their values:
// "train.seed" -> "12345".
std::map<std::string, std::string> fixed_fields(const std::string& text) {
  static const std::set<std::string> free{"", "train", "eval", "compress", "track"};
  static const std::set<std::string> held{"train.batch_size", "train.seed", "train.optimizer.type",
                                          "train.ema_decay", "train.init_from"};
  std::map<std::string, std::string> out;
  std::string section;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("  ")) section = line.substr(0, line.find(':'));
    if (!line.starts_with("  ") || colon == std::string_view::npos) continue;
    const std::string name = str(section, ".", line.substr(2, colon - 2));
    if (!free.contains(section) || held.contains(name)) out[name] = line.substr(colon + 2);
  }
  return out;
}

}  // namespace

void require_same_run(const StagedRecipe& staged, const std::string& folder) {
  const std::string recipe = io::join_path(folder, "recipe.yaml");
  if (!checkpoint::latest_checkpoint(io::join_path(folder, "run/model")) || !io::exists(recipe))
    return;
  const auto was = fixed_fields(io::read_file(recipe, io::kSmallFileBytes)),
             is = fixed_fields(staged.text);
  std::set<std::string> names;
  for (const auto& fields : {was, is})
    for (const auto& [name, value] : fields) names.insert(name);
  const auto value_in = [](const auto& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string("not set") : found->second;
  };
  for (const std::string& name : names)
    if (value_in(was, name) != value_in(is, name))
      throw UsageError(str(folder, ": its run has checkpoints of another recipe: ", name, " was ",
                           value_in(was, name), ", is ", value_in(is, name)),
                       "use --name NAME to start another job");
}

CheckedRecipe judge_recipe(const std::string& path, const std::vector<std::string>& settings,
                           const cost_model::Accelerator* type) {
  CheckedRecipe out;
  out.check = cloud::run_check("recipe", [&] {
    const pipeline::Recipe recipe = pipeline::load_recipe(path, settings);
    if (!io::exists(io::join_path(recipe.out, cloud::kJournalName)))
      return judge(recipe, type, out.planned);
    // `out` may hold results of this or an earlier job, but the dry run must not see them.
    std::vector<std::string> elsewhere = settings;
    elsewhere.push_back("out=" + io::join_path(recipe.out, "run"));
    return judge(pipeline::load_recipe(path, elsewhere), type, out.planned);
  });
  return out;
}

}  // namespace smelt::cli
