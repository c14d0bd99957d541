#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "base/str.h"

namespace smelt {
namespace {

struct CompletedCommand {
  std::string path;  // "smelt data bert"
  std::vector<const CLI::App*> commands;
  std::vector<std::string> flags;
  std::vector<std::pair<std::string, std::string>> values;  // a flag and what it may be, or ""
};

// "cpu gpu tpu" of an option that is one of a few; CLI11 has no better place to ask.
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return join(split(std::string_view(type).substr(open + 1, close - open - 1), ','), " ");
}

void collect(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& out) {
  CompletedCommand command{.path = path, .commands = {}, .flags = {}, .values = {}};
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) {
      command.flags.push_back("--" + name);
      if (option->get_expected_max() > 0)
        command.values.emplace_back("--" + name, choices_of(*option));
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

// Patterns of a shell's case, quoted.
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

// Flags of any value: what follows them is a file, for all that is known.
std::string free_flags(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> out;
  for (const CompletedCommand& command : commands)
    for (const auto& [flag, choices] : command.values)
      if (choices.empty()) out.push_back(str(command.path, " ", flag));
  return alternatives(out);
}

// A case for each flag of few values; `line` makes what is done from them.
std::string choice_cases(const std::vector<CompletedCommand>& commands, auto&& line) {
  std::string out;
  for (const CompletedCommand& command : commands)
    for (const auto& [flag, choices] : command.values)
      if (!choices.empty())
        out += str("    \"", command.path, " ", flag, "\") ", line(choices), " ;;\n");
  return out;
}

// As a word of zsh's _describe, in single quotes.
std::string described(const CLI::App& command) {
  std::string text;
  for (const char c : command.get_description()) {
    if (c == ':') text += '\\';
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return str("'", command.get_name(), ":", text, "'");
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  const auto commands = all_commands(root);
  std::string words;
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> names;
    for (const CLI::App* sub : command.commands) names.push_back(sub->get_name());
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
      choice_cases(commands, choose), "    ", free_flags(commands),
      ") return ;;\n  esac\n  case \"$at\" in\n", words,
      "  esac\n  if [[ $cur == -* ]]; then commands=$flags; fi\n"
      "  COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n}\n"
      "complete -o default -F _smelt smelt\n");
}

std::string zsh_completion(const CLI::App& root) {
  const auto commands = all_commands(root);
  std::string words;
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> names;
    for (const CLI::App* sub : command.commands) names.push_back(described(*sub));
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
      choice_cases(commands, choose), "    ", free_flags(commands),
      ") _files; return ;;\n  esac\n  case \"$at\" in\n", words,
      "  esac\n  if [[ $cur == -* ]]; then compadd -- $flags\n"
      "  elif (( $#commands )); then _describe command commands\n  else _files; fi\n}\n"
      "if [[ ${funcstack[1]} == _smelt ]]; then _smelt \"$@\"; else compdef _smelt smelt; fi\n");
}

}  // namespace smelt
