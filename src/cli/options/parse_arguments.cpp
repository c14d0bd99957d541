#include "cli/options/parse_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>

#include "base/decimal.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/options/flag_file.h"
#include "io/filesystem/folder.h"

namespace smelt::cli {
namespace {

// Returns the innermost subcommand that was given.
const CLI::App* innermost(const CLI::App* app) {
  for (;;) {
    const auto chosen = app->get_subcommands();
    if (chosen.empty()) return app;
    app = chosen.front();
  }
}

std::string full_name(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* up = app->get_parent(); up != nullptr; up = up->get_parent())
    name = str(up->get_name(), " ", name);
  return name;
}

// Returns the last part of a flag's name: "--a.hidden_size" -> "hidden_size".
std::string_view last_part(std::string_view flag) {
  const std::size_t dot = flag.find_last_of(".-");
  return dot == flag.npos ? flag : flag.substr(dot + 1);
}

std::string what_was_meant(const CLI::App* command, const std::string& flag) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const CLI::App* sub : command->get_subcommands(nullptr)) {
    known.push_back(sub->get_name());
    for (const std::string& alias : sub->get_aliases()) known.push_back(alias);
  }
  // Prefer the same field with or without its section, or in another section.
  for (const std::string& name : known)
    if (name.find('.') != name.npos && last_part(name) == last_part(flag))
      return str("did you mean '", name, "'?");
  if (flag.starts_with("--") && command->get_option_no_throw("--set") != nullptr &&
      !nearest_name(flag, known))
    return str(
        "set a recipe field with --set, such as --set train.steps=10; `smelt help "
        "recipe` lists the fields, `",
        full_name(command), " --help` the flags");
  constexpr std::size_t kFew = 30;
  const bool many = known.size() > kFew || command->get_parent() == nullptr;
  if (many && !nearest_name(flag, known))
    return str("`", full_name(command), " --help` lists the flags and subcommands");
  return did_you_mean(flag, known);
}

// Returns true if the word has the form of a field's dotted name.
bool names_field(const std::string& word) {
  return word.find('.') != word.npos &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.") == word.npos;
}

// Returns a hint with --set if the word looks like a recipe setting: "= b", "--train.steps=10",
// "train.steps=10", "--out mine". `next` is the word after it.
std::string setting_meant(const CLI::App* command, const std::string& word,
                          const std::string& next) {
  if (command->get_option_no_throw("--set") == nullptr) return {};
  if (word.starts_with("="))
    return "write --set name=value without a space, as --set train.steps=10";
  const bool dashes = word.starts_with("--");
  const std::string bare = dashes ? word.substr(2) : word;
  const std::size_t equals = std::min(bare.find('='), bare.size());
  const std::string name = bare.substr(0, equals);
  if (!(names_field(name) && (dashes || equals < bare.size())) && !(dashes && name == "out"))
    return {};
  const std::string value = equals < bare.size() ? bare.substr(equals + 1) : next;
  return str("write --set ", name, "=", value.empty() || value.starts_with("--") ? "…" : value);
}

// Returns a hint if a recipe was given to a command that does not take one.
std::string recipe_meant(const CLI::App* command, const std::string& word) {
  if (command->get_option_no_throw("--set") != nullptr ||
      !(word.ends_with(".yaml") || word.ends_with(".yml")))
    return {};
  return str(full_name(command), " does not accept a recipe; `smelt run ", word,
             " --dry-run` shows what a run would do");
}

// Returns a hint if the word is an original program that has a recipe instead of a command.
std::string original_meant(const CLI::App* command, const std::string& word) {
  static const std::map<std::string_view, std::string_view> kMeant{
      {"run_classifier", "classify-glue.yaml` fine-tunes a classifier, `smelt predict` runs it"},
      {"run_classifier_with_tfhub", "classify-glue.yaml` fine-tunes a classifier"},
      {"run_finetuning", "classify-glue.yaml` fine-tunes on GLUE, recipes/squad.yaml on SQuAD"},
      {"run_squad", "squad.yaml` fine-tunes on SQuAD, `smelt predict` finds answers"},
      {"run_ner", "classify-demo.yaml --set model.problem=token_labels` labels words"},
      {"run_glue", "classify-glue.yaml` fine-tunes on GLUE"},
      {"run_qa", "squad.yaml` fine-tunes on SQuAD"}};
  const bool at_top = command->get_parent() == nullptr || command->get_name() == "electra";
  const auto found = kMeant.find(std::string_view(word).substr(0, word.find(".py")));
  return at_top && found != kMeant.end() ? str("`smelt run recipes/", found->second) : "";
}

// Returns a hint if the word is a file, to which the shell may have expanded a pattern such as
// text/*.txt.
std::string pattern_meant(const std::string& word) {
  if (word.starts_with("-") || !io::exists(word)) return {};
  return str("the shell has replaced a pattern by several files; put the pattern in quotes, as in ",
             "'text/*.txt'");
}

// Returns a hint with --set if an unknown flag such as "--steps 10" names a recipe field.
std::string field_meant(const CLI::App* command, const std::string& flag, const std::string& value,
                        const FieldNamed& field_named) {
  if (!flag.starts_with("--") || command->get_option_no_throw("--set") == nullptr) return {};
  std::string name = flag.substr(2);
  std::ranges::replace(name, '-', '_');
  const std::string field = field_named ? field_named(name) : "";
  if (field.empty()) return {};
  return str("recipe fields are set with --set: --set ", field, "=",
             value.empty() || value.starts_with("-") ? "VALUE" : value);
}

// Throws UsageError for the first argument that the command does not know.
[[noreturn]] void throw_unknown(const CLI::App* command, const FieldNamed& field_named) {
  const auto unknown = command->remaining();
  const std::string word = unknown.empty() ? "" : unknown.front();
  const std::string next = unknown.size() > 1 ? unknown[1] : "";
  std::string flag = word.substr(0, word.find('='));
  if (flag.empty()) flag = word;
  std::string hint = setting_meant(command, word, next);
  if (hint.empty()) hint = recipe_meant(command, word);
  if (hint.empty()) hint = original_meant(command, word);
  if (hint.empty() && command->get_parent() != nullptr) hint = pattern_meant(word);
  if (hint.empty()) {
    const bool has_value = word.size() > flag.size();
    hint = field_meant(command, flag, has_value ? word.substr(flag.size() + 1) : next, field_named);
  }
  if (hint.empty()) hint = what_was_meant(command, flag);
  if (command->get_parent() == nullptr && !flag.starts_with("-"))
    throw UsageError(str("smelt: no command '", flag, "'"), hint);
  throw UsageError(
      str(full_name(command), ": unknown ", flag.starts_with("-") ? "flag " : "argument ", flag),
      hint);
}

// Throws a clear error if an option was given too often; CLI11's message has only the numbers.
void check_given_once(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options())
    if (option->count() > 1 && option->get_expected_max() == 1 &&
        option->get_multi_option_policy() != CLI::MultiOptionPolicy::TakeLast)
      throw UsageError(str(full_name(command), ": ", option->get_name(), " is given ",
                           option->count(), " times"),
                       "give it once");
}

// Throws UsageError if CLI11 took a flag for a value, or for a value that starts with ~/.
void check_values(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options())
    for (const std::string& value : option->results()) {
      const std::string where = str(full_name(command), ": ", option->get_name());
      if (value.starts_with("--") && !option->get_positional())
        throw UsageError(str(where, " has no value: ", value, " follows it"),
                         str("write the value after it, or remove ", option->get_name()));
      const std::size_t begin = option->check_lname("set") ? value.find('=') + 1 : 0;
      if (value.substr(begin).starts_with("~/"))
        throw UsageError(str(where, ": '", value, "': the shell does not expand this ~"),
                         str("write ", value.substr(0, begin), "$HOME", value.substr(begin + 1)));
    }
}

// Returns a hint with the type of value that the option in CLI11's message expects.
std::string kind_wanted(const CLI::App* command, const std::string& message) {
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames())
      if (message.find(str("--", name, " ")) != message.npos)
        return option->get_type_name().starts_with("FLOAT")
                   ? "expected a number, with a decimal point"
                   : "expected an integer";
  return str("`", full_name(command), " --help` lists the flags");
}

// Returns the command `name` if it is an original program with absl's flags, else null. The ELECTRA
// programs are subcommands and use argparse.
const CLI::App* command_of_absl(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* command) {
    return command->get_name() == name && command->get_group() == kOriginals &&
           command->get_subcommands(nullptr).empty();
  });
  return found.empty() ? nullptr : found.front();
}

// absl's logging flags, which every absl program accepts. They have no effect here.
constexpr std::array kLogSwitches{"logtostderr", "alsologtostderr", "showprefixforinfo"};
constexpr std::array kLogValues{"v", "verbosity", "stderrthreshold", "log_dir", "logger_levels"};

std::vector<std::string> without_log_flags(const CLI::App& command,
                                           const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string flag = words[i].substr(0, equals);
    const auto is = [&](const char* name) { return flag == str("--", name); };
    const auto is_off = [&](const char* name) { return flag == str("--no", name); };
    const bool has_value = std::ranges::any_of(kLogValues, is);
    if (command.get_option_no_throw(flag) != nullptr ||
        !(has_value || std::ranges::any_of(kLogSwitches, is) ||
          std::ranges::any_of(kLogSwitches, is_off)))
      out.push_back(words[i]);
    else if (has_value && equals == std::string::npos)
      ++i;
  }
  return out;
}

constexpr const char* kOfGo = "ctpu";

// Changes "-name" to "--name", which Go's flag package and absl treat alike.
void give_two_dashes(std::vector<std::string>& words) {
  for (std::string& word : words)
    if (word.size() > 2 && word[0] == '-' && word[1] >= 'a' && word[1] <= 'z') word.insert(0, "-");
}

// Makes integers with leading zeros decimal, as in Python and absl; CLI11 reads them as octal.
void read_integers_as_decimal(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (const std::string type = option->get_type_name();
        type.starts_with("INT") || type.starts_with("UINT"))
      option->transform([](const std::string& value) { return without_leading_zeros(value); });
  for (CLI::App* command : app.get_subcommands(nullptr)) read_integers_as_decimal(*command);
}

}  // namespace

// Rejects "--flag=" here, because CLI11 would take the next argument as its value.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc), arguments;
  if (const CLI::App* absl = words.empty() ? nullptr : command_of_absl(app, words.front())) {
    give_two_dashes(words);
    words = with_flag_files(words);
    give_two_dashes(words);
    words = without_log_flags(*absl, words);
  }
  if (!words.empty() && words.front() == kOfGo) give_two_dashes(words);
  const CLI::App* command = &app;
  bool original = false;
  for (const std::string& word : words) {
    const auto named =
        command->get_subcommands([&](const CLI::App* sub) { return sub->check_name(word); });
    if (!named.empty()) {
      command = named.front();
      original = original || command->get_group() == kOriginals;
    }
    if (!word.starts_with("--") || word.find('=') + 1 != word.size()) {
      arguments.push_back(word);
      continue;
    }
    const std::string flag = word.substr(0, word.size() - 1);
    const CLI::Option* option = command->get_option_no_throw(flag);
    if (!original || option == nullptr || option->get_type_name() != "TEXT")
      throw UsageError(str(word, " has no value"), "remove it, or write a value after the =");
    arguments.insert(arguments.end(), {flag, ""});
  }
  return arguments;
}

void parse(CLI::App& app, std::vector<std::string> arguments, const FieldNamed& field_named) try {
  read_integers_as_decimal(app);
  // Runs before the callback of the innermost command.
  app.parse_complete_callback([&app] { check_values(innermost(&app)); });
  std::ranges::reverse(arguments);  // CLI11 expects the arguments in reverse order
  app.parse(std::move(arguments));
} catch (const CLI::Success&) {
  throw;  // --help, --version
} catch (const CLI::ParseError& error) {
  // A misspelt flag is reported before the required flag that is missing because of it.
  const CLI::App* command = innermost(&app);
  if (!command->remaining().empty()) throw_unknown(command, field_named);
  check_given_once(command);
  const bool conversion = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  throw UsageError(str(full_name(command), ": ", error.what()),
                   conversion ? kind_wanted(command, error.what())
                              : str("`", full_name(command), " --help` lists the flags"));
}

}  // namespace smelt::cli
