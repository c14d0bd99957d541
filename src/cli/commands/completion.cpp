#include "cli/commands/completion.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "base/str.h"

namespace smelt::cli {
namespace {

constexpr const char* kSet = "--set";

struct CompletedCommand {
  std::string path;  // full name, "smelt data bert"
  std::vector<const CLI::App*> commands;
  std::string words;  // values of an argument without a flag
  std::vector<std::string> flags;
  // Flags with a value, and the choices of each, or "".
  std::vector<std::pair<std::string, std::string>> values;
};

// Returns the choices of an option, "cpu gpu tpu", or "". They are parsed from CLI11's description.
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return join(split(std::string_view(type).substr(open + 1, close - open - 1), ','), " ");
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& out) {
  CompletedCommand command{.path = path, .commands = {}, .words = {}, .flags = {}, .values = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) command.words += choices_of(*option);
    for (const std::string& name : option->get_lnames()) {
      command.flags.push_back("--" + name);
      if (option->get_expected_max() > 0)
        command.values.emplace_back("--" + name, choices_of(*option));
    }
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    command.commands.push_back(sub);
  out.push_back(command);
  for (const CLI::App* sub : command.commands) collect(*sub, str(path, " ", sub->get_name()), out);
}

std::vector<CompletedCommand> all_commands(const CLI::App& root) {
  std::vector<CompletedCommand> out;
  collect(root, root.get_name(), out);
  return out;
}

// Returns quoted patterns for a shell's `case`.
std::string alternatives(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(str("\"", text, "\""));
  return join(quoted, "|");
}

std::string all_paths(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < commands.size(); ++i) paths.push_back(commands[i].path);
  return alternatives(paths);
}

// Returns the flags without fixed choices; they complete file names.
std::string free_flags(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> out;
  for (const CompletedCommand& command : commands)
    for (const auto& [flag, choices] : command.values)
      if (choices.empty() && flag != kSet) out.push_back(str(command.path, " ", flag));
  return alternatives(out);
}

// Returns a `case` branch for each flag with choices; `line` returns its body.
std::string choice_cases(const std::vector<CompletedCommand>& commands, auto&& line) {
  std::string out;
  for (const CompletedCommand& command : commands)
    for (const auto& [flag, choices] : command.values)
      if (!choices.empty())
        out += str("    \"", command.path, " ", flag, "\") ", line(choices), " ;;\n");
  return out;
}

// Returns the field names with "=": "train.steps= train.device= …".
std::string names_of_fields(const std::vector<CompletedField>& fields) {
  std::string out;
  for (const CompletedField& field : fields) out += str(out.empty() ? "" : " ", field.path, "=");
  return out;
}

// Returns a `case` branch for each field with choices; `line` returns its body.
std::string field_cases(const std::vector<CompletedField>& fields, const char* before,
                        const char* after, auto&& line) {
  std::string out;
  for (const CompletedField& field : fields)
    if (!field.choices.empty())
      out += str("    ", before, field.path, after, ") ", line(field), " ;;\n");
  return out;
}

// Returns the command as a word for zsh's _describe, in single quotes.
std::string described(const CLI::App& command) {
  std::string text;
  for (const char c : command.get_description()) {
    if (c == ':') text += '\\';
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return str("'", command.get_name(), ":", text, "'");
}

// Returns the paths of all commands, each in quotes.
std::string join_quoted(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < commands.size(); ++i)
    paths.push_back(str("\"", commands[i].path, "\""));
  return join(paths, " ");
}

// Quotes a text for fish.
std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '\'' || c == '\\' ? str("\\", std::string(1, c)) : std::string(1, c);
  return str("'", out, "'");
}

// Returns fish's options for the values of a flag: none for a switch, its choices, fields, or
// files.
std::string fish_values(const CompletedCommand& command, const std::string& flag) {
  if (flag == kSet) return " -x -a \"$__smelt_fields\"";
  for (const auto& [name, choices] : command.values)
    if (name == flag) return choices.empty() ? " -r" : str(" -x -a '", choices, "'");
  return "";
}

}  // namespace

std::string bash_completion(const CLI::App& root, const std::vector<CompletedField>& fields) {
  const auto commands = all_commands(root);
  std::string words;
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> names;
    for (const CLI::App* sub : command.commands) names.push_back(sub->get_name());
    if (!command.words.empty()) names.push_back(command.words);
    words += str("    \"", command.path, "\") flags=\"", join(command.flags, " "),
                 "\"; commands=\"", join(names, " "), "\" ;;\n");
  }
  const auto choose = [](const std::string& choices) {
    return str("COMPREPLY=($(compgen -W \"", choices, "\" -- \"$cur\")); return");
  };
  return str(
      "# Completion of smelt for bash: source <(smelt completion bash)\n_smelt() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=smelt i\n"
      "  local flags commands\n  COMPREPLY=()\n"
      "  if [[ $cur == = ]]; then cur=; fi\n"
      "  if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$at ${COMP_WORDS[i]}\" in\n      ",
      all_paths(commands),
      ") at=\"$at ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n  case \"$at $prev\" in\n",
      choice_cases(commands, choose),
      field_cases(fields, "*\" ", "\"",
                  [&](const CompletedField& field) { return choose(join(field.choices, " ")); }),
      "    *\" --set\") compopt -o nospace 2>/dev/null; ", choose(names_of_fields(fields)),
      " ;;\n    ", free_flags(commands), ") return ;;\n  esac\n  case \"$at\" in\n", words,
      "  esac\n  if [[ $cur == -* ]]; then commands=$flags; fi\n"
      "  COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n}\n"
      "complete -o default -F _smelt smelt\n");
}

std::string zsh_completion(const CLI::App& root, const std::vector<CompletedField>& fields) {
  const auto commands = all_commands(root);
  std::string words;
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> names;
    for (const CLI::App* sub : command.commands) names.push_back(described(*sub));
    if (!command.words.empty()) names.push_back(command.words);
    words += str("    \"", command.path, "\") flags=(", join(command.flags, " "), "); commands=(",
                 join(names, " "), ") ;;\n");
  }
  const auto choose = [](const std::string& choices) {
    return str("compadd -- ", choices, "; return");
  };
  return str(
      "#compdef smelt\n# Completion of smelt for zsh: source <(smelt completion zsh)\n"
      "_smelt() {\n  local at=smelt cur=${words[CURRENT]} prev=${words[CURRENT-1]}\n"
      "  local -a flags commands\n  integer i\n  for ((i = 2; i < CURRENT; i++)); do\n"
      "    case \"$at ${words[i]}\" in\n      ",
      all_paths(commands),
      ") at=\"$at ${words[i]}\" ;;\n    esac\n  done\n  case \"$at $prev\" in\n",
      choice_cases(commands, choose), "    *\" --set\") case \"$cur\" in\n",
      field_cases(fields, "\"", "=\"*",
                  [&](const CompletedField& field) {
                    return str("compadd -P ", field.path, "= -- ", join(field.choices, " "),
                               "; return");
                  }),
      "    esac; compadd -S '' -- ", names_of_fields(fields), "; return ;;\n    ",
      free_flags(commands), ") _files; return ;;\n  esac\n  case \"$at\" in\n", words,
      "  esac\n  if [[ $cur == -* ]]; then compadd -- $flags\n"
      "  elif (( $#commands )); then _describe command commands\n  else _files; fi\n}\n"
      "if [[ ${funcstack[1]} == _smelt ]]; then _smelt \"$@\"; else compdef _smelt smelt; fi\n");
}

std::string fish_completion(const CLI::App& root, const std::vector<CompletedField>& fields) {
  const auto commands = all_commands(root);
  std::vector<std::string> values;
  for (const CompletedField& field : fields) {
    values.push_back(field.path + "=");
    for (const std::string& choice : field.choices) values.push_back(str(field.path, "=", choice));
  }
  std::string out =
      str("# Completion of smelt for fish: smelt completion fish | source\n"
          "function __smelt_at\n  set -l at smelt\n"
          "  for word in (commandline -opc)[2..-1]\n"
          "    if contains -- \"$at $word\" ",
          join_quoted(commands),
          "\n"
          "      set at \"$at $word\"\n    end\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n"
          "set -g __smelt_fields ",
          join(values, " "), "\n");
  for (const CompletedCommand& command : commands) {
    const std::string line = str("complete -c smelt -n '__smelt_at \"", command.path, "\"' ");
    for (const CLI::App* sub : command.commands)
      out += str(line, "-f -a ", sub->get_name(), " -d ", fish_text(sub->get_description()), "\n");
    if (!command.words.empty()) out += str(line, "-f -a '", command.words, "'\n");
    for (const std::string& flag : command.flags)
      out += str(line, "-l ", flag.substr(2), fish_values(command, flag), "\n");
  }
  return out;
}

}  // namespace smelt::cli
