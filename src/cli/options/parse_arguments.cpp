#include "cli/options/parse_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>

#include "base/decimal.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/options/flag_file.h"

namespace smelt {
namespace {

// The innermost subcommand that was given.
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

// "--a.hidden_size" -> "hidden_size"
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
  // A field without, or below another, of its sections.
  for (const std::string& name : known)
    if (name.find('.') != name.npos && last_part(name) == last_part(flag))
      return str("did you mean '", name, "'?");
  if (flag.starts_with("--") && command->get_option_no_throw("--set") != nullptr &&
      !nearest_name(flag, known))
    return str(
        "a field of the recipe goes behind --set, as --set train.steps=10; `smelt help "
        "recipe` lists the fields, `",
        full_name(command), " --help` the flags");
  constexpr std::size_t kFew = 30;
  const bool many = known.size() > kFew || command->get_parent() == nullptr;
  if (many && !nearest_name(flag, known))
    return str("`", full_name(command), " --help` lists what it knows");
  return did_you_mean(flag, known);
}

// Whether it reads as a field's dotted name.
bool names_field(const std::string& word) {
  return word.find('.') != word.npos &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.") == word.npos;
}

// The form of --set that a word wants to be, if it does: "= b", "--train.steps=10",
// "train.steps=10",
// "--out mine". `next` follows it.
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

// A recipe for a command that takes none.
std::string recipe_meant(const CLI::App* command, const std::string& word) {
  if (command->get_option_no_throw("--set") != nullptr ||
      !(word.ends_with(".yaml") || word.ends_with(".yml")))
    return {};
  return str(full_name(command), " takes no recipe; `smelt run ", word,
             " --dry-run` says what a run would take");
}

// A program of the originals whose work a recipe does; empty for any other word.
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

// The form of --set that an unknown flag such as "--steps 10" stands for.
std::string field_meant(const CLI::App* command, const std::string& flag, const std::string& value,
                        const FieldNamed& field_named) {
  if (!flag.starts_with("--") || command->get_option_no_throw("--set") == nullptr) return {};
  std::string name = flag.substr(2);
  std::ranges::replace(name, '-', '_');
  const std::string field = field_named ? field_named(name) : "";
  if (field.empty()) return {};
  return str("recipe fields go behind --set: --set ", field, "=",
             value.empty() || value.starts_with("-") ? "VALUE" : value);
}

// A word that the command does not know.
[[noreturn]] void throw_unknown(const CLI::App* command, const FieldNamed& field_named) {
  const auto unknown = command->remaining();
  const std::string word = unknown.empty() ? "" : unknown.front();
  const std::string next = unknown.size() > 1 ? unknown[1] : "";
  std::string flag = word.substr(0, word.find('='));
  if (flag.empty()) flag = word;
  std::string hint = setting_meant(command, word, next);
  if (hint.empty()) hint = recipe_meant(command, word);
  if (hint.empty()) hint = original_meant(command, word);
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

// CLI11 says numbers and no more of an option that was given more often than it takes values.
void check_given_once(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options())
    if (option->count() > 1 && option->get_expected_max() == 1 &&
        option->get_multi_option_policy() != CLI::MultiOptionPolicy::TakeLast)
      throw UsageError(str(full_name(command), ": ", option->get_name(), " is given ",
                           option->count(), " times"),
                       "give it once");
}

// What CLI11 took for values.
void check_values(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options())
    for (const std::string& value : option->results()) {
      const std::string where = str(full_name(command), ": ", option->get_name());
      if (value.starts_with("--") && !option->get_positional())
        throw UsageError(str(where, " has no value: ", value, " follows it"),
                         str("put the value behind it, or leave ", option->get_name(), " out"));
      const std::size_t begin = option->check_lname("set") ? value.find('=') + 1 : 0;
      if (value.substr(begin).starts_with("~/"))
        throw UsageError(str(where, ": '", value, "': a shell puts no home in place of this ~"),
                         str("write ", value.substr(0, begin), "$HOME", value.substr(begin + 1)));
    }
}

// The kind of value that CLI11 could not make of a word.
std::string kind_wanted(const CLI::App* command, const std::string& message) {
  for (const CLI::Option* option : command->get_options())
    for (const std::string& name : option->get_lnames())
      if (message.find(str("--", name, " ")) != message.npos)
        return option->get_type_name().starts_with("FLOAT") ? "give a number, with a point"
                                                            : "give a whole number";
  return str("`", full_name(command), " --help` lists the flags");
}

// Returns the command of that name if it is one of the originals' programs with absl's flags, else
// null. ELECTRA's programs, which are commands of one, parse by argparse.
const CLI::App* command_of_absl(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* command) {
    return command->get_name() == name && command->get_group() == kOriginals &&
           command->get_subcommands(nullptr).empty();
  });
  return found.empty() ? nullptr : found.front();
}

// absl's own flags of logging, which every program that imports it takes. They have no effect here.
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

// Go's package of flags and absl take "-name" for "--name".
void give_two_dashes(std::vector<std::string>& words) {
  for (std::string& word : words)
    if (word.size() > 2 && word[0] == '-' && word[1] >= 'a' && word[1] <= 'z') word.insert(0, "-");
}

// As Python and absl read whole numbers; CLI11 takes those with a leading zero for octal ones.
void read_integers_as_decimal(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (const std::string type = option->get_type_name();
        type.starts_with("INT") || type.starts_with("UINT"))
      option->transform([](const std::string& value) { return without_leading_zeros(value); });
  for (CLI::App* command : app.get_subcommands(nullptr)) read_integers_as_decimal(*command);
}

}  // namespace

// CLI11 would take the next argument for the value of "--flag=".
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
      throw UsageError(str(word, " has no value"), "leave it out, or put a value behind the =");
    arguments.insert(arguments.end(), {flag, ""});
  }
  return arguments;
}

void parse(CLI::App& app, std::vector<std::string> arguments, const FieldNamed& field_named) try {
  read_integers_as_decimal(app);
  // Before its callback is run, which is the innermost command's.
  app.parse_complete_callback([&app] { check_values(innermost(&app)); });
  std::ranges::reverse(arguments);  // as CLI11 takes them
  app.parse(std::move(arguments));
} catch (const CLI::Success&) {
  throw;  // --help, --version
} catch (const CLI::ParseError& error) {
  // A misspelt flag is said before the required one that is missing because of it.
  const CLI::App* command = innermost(&app);
  if (!command->remaining().empty()) throw_unknown(command, field_named);
  check_given_once(command);
  const bool conversion = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  throw UsageError(str(full_name(command), ": ", error.what()),
                   conversion ? kind_wanted(command, error.what())
                              : str("`", full_name(command), " --help` lists the flags"));
}

}  // namespace smelt
