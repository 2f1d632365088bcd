#include "cli/terminal/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainer {
namespace {

struct Flag {
  std::vector<std::string> names;  ///< "-n", "--ranks"
  std::string value;               ///< "FILE"; empty: it takes none
  std::string words;               ///< that its value may be, separated by spaces
  std::string help;
  bool is_argument = false;  ///< and no flag: `value` names it
};

struct Command {
  std::string name, help;
  std::vector<Flag> flags;
};

std::string words_of(const CLI::Option& option) {
  try {
    return const_cast<CLI::Option&>(option).get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return "";
  }
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    Command command{.name = one->get_name(), .help = one->get_description(), .flags = {}};
    for (const CLI::Option* option : one->get_options()) {
      Flag flag{.names = {},
                .value = "",
                .words = words_of(*option),
                .help = option->get_description(),
                .is_argument = option->get_positional()};
      for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
      if (flag.is_argument)
        flag.value = option->get_single_name();
      else if (option->get_items_expected_min() > 0)
        flag.value = option->get_type_name();
      command.flags.push_back(std::move(flag));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string joined(const std::vector<std::string>& words, const std::string& separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string names_of(const std::vector<Command>& commands, const std::string& separator = " ") {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name);
  return joined(names, separator);
}

/// What -s is given of each key: "train.epochs=", but "model.layers[", which an index follows.
std::vector<std::string> beginnings(const std::vector<std::string>& keys) {
  std::vector<std::string> words;
  words.reserve(keys.size());
  for (const std::string& key : keys) words.push_back(key.ends_with('[') ? key : key + "=");
  return words;
}

/// `text` inside of single quotes.
std::string quoted(const std::string& text) {
  std::string inside;
  for (const char c : text) inside += c == '\'' ? "'\\''" : std::string(1, c);
  return "'" + inside + "'";
}

bool is_file(const Flag& flag) { return flag.value.ends_with("FILE") || flag.value == "DIR"; }

/// The cases of a shell's `case` over the flag before the cursor: `words`, and `files` for those that name a
/// file. Flags of a name take the same values with every command.
std::string value_cases(const std::vector<Command>& commands, const std::string& words,
                        const std::string& files) {
  std::string cases;
  std::vector<std::string> done;
  for (const Command& command : commands)
    for (const Flag& flag : command.flags) {
      if (flag.is_argument || flag.value.empty() || flag.value == "KEY=VALUE") continue;
      if (std::ranges::count(done, flag.names.back()) > 0) continue;
      done.push_back(flag.names.back());
      std::vector<std::string> actions;
      if (!flag.words.empty()) actions.push_back(fmt::format(fmt::runtime(words), flag.words));
      if (is_file(flag)) actions.push_back(files);
      cases += fmt::format("    {}) {}; return ;;\n", joined(flag.names, "|"),
                           actions.empty() ? ":" : joined(actions, "; "));
    }
  return cases;
}

std::string flag_names(const Command& command) {
  std::string names;
  for (const Flag& flag : command.flags)
    for (const std::string& name : flag.names) names += (names.empty() ? "" : " ") + name;
  return names;
}

/// The words of a command's own argument, such as a format.
std::string argument_words(const Command& command) {
  std::string words;
  for (const Flag& flag : command.flags)
    if (flag.is_argument && !flag.words.empty()) words += (words.empty() ? "" : " ") + flag.words;
  return words;
}

std::string bash_script(const std::vector<Command>& commands, const std::vector<std::string>& keys) {
  std::string flags, arguments;
  for (const Command& command : commands) {
    flags += fmt::format("    {}) flags={} ;;\n", command.name, quoted(flag_names(command)));
    if (const std::string words = argument_words(command); !words.empty())
      arguments += fmt::format("    {}) words={} ;;\n", command.name, quoted(words));
  }
  return fmt::format(
      R"(# bash completion for trainer; made by `trainer completion bash`
_trainer() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local verb='' flags='' words='' word
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {}) verb=$word; break ;; esac
  done
  case $previous in
    -s|--set)
      COMPREPLY=($(compgen -W {} -- "$current"))
      compopt -o nospace 2>/dev/null
      return ;;
{}  esac
  case ${{verb:-train}} in
{}  esac
  case $verb in
    '') words={} ;;
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags --help" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _trainer trainer
)",
      names_of(commands, "|"), quoted(joined(beginnings(keys))),
      value_cases(commands, "COMPREPLY=($(compgen -W '{}' -- \"$current\"))",
                  "COMPREPLY+=($(compgen -f -- \"$current\")); compopt -o filenames 2>/dev/null"),
      flags, quoted(names_of(commands)), arguments);
}

/// "name:help" for zsh's _describe.
std::string described(const std::string& name, const std::string& help) {
  std::string before;
  for (const char c : name) before += c == ':' ? "\\:" : std::string(1, c);
  return quoted(before + ":" + help);
}

std::string zsh_script(const std::vector<Command>& commands, const std::vector<std::string>& keys) {
  std::string verbs, flags, arguments;
  for (const Command& command : commands) {
    verbs += " " + described(command.name, command.help);
    flags += fmt::format("    {}) flags=(", command.name);
    for (const Flag& flag : command.flags)
      for (const std::string& name : flag.names) flags += " " + described(name, flag.help);
    flags += ") ;;\n";
    if (const std::string words = argument_words(command); !words.empty())
      arguments += fmt::format("    {}) compadd -- {} ;;\n", command.name, words);
  }
  return fmt::format(
      R"(#compdef trainer
# zsh completion for trainer; made by `trainer completion zsh`
_trainer() {{
  local verb='' word
  local -a verbs flags
  verbs=({})
  for word in ${{words[2,CURRENT-1]}}; do
    case $word in {}) verb=$word; break ;; esac
  done
  case ${{words[CURRENT-1]}} in
    -s|--set) compadd -S '' -- {}; return ;;
{}  esac
  case ${{verb:-train}} in
{}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe -o flag flags
    return
  fi
  [[ -z $verb ]] && _describe command verbs
  case $verb in
{}    *) ;;
  esac
  _files
}}
if [[ ${{funcstack[1]}} == _trainer ]]; then _trainer "$@"; else compdef _trainer trainer; fi
)",
      verbs, names_of(commands, "|"),
      [&] {
        std::string all;
        for (const std::string& key : beginnings(keys)) all += (all.empty() ? "" : " ") + quoted(key);
        return all;
      }(),
      value_cases(commands, "compadd -- {}", "_files"), flags, arguments);
}

/// Words that fish evaluates: an open bracket would be an index.
std::string for_fish(const std::string& words) {
  std::string text;
  for (const char c : words) text += c == '[' ? "\\[" : std::string(1, c);
  return text;
}

std::string fish_script(const std::vector<Command>& commands, const std::vector<std::string>& keys) {
  std::string text = "# fish completion for trainer; made by `trainer completion fish`\n";
  for (const Command& command : commands)
    text += fmt::format("complete -c trainer -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.help));
  for (const Command& command : commands) {
    // `train` may be left out.
    const std::string when = command.name == "train"
                                 ? "not __fish_seen_subcommand_from " + names_of(commands) +
                                       "; or __fish_seen_subcommand_from train"
                                 : "__fish_seen_subcommand_from " + command.name;
    for (const Flag& flag : command.flags) {
      if (flag.is_argument && flag.words.empty()) continue;
      text += "complete -c trainer -n " + quoted(when);
      for (const std::string& name : flag.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (flag.value == "KEY=VALUE")
        text += " -x -a " + quoted(for_fish(joined(beginnings(keys))));
      else if (!flag.words.empty())
        text += (is_file(flag) ? " -r -F -a " : " -x -a ") + quoted(flag.words);
      else if (!flag.value.empty())
        text += is_file(flag) ? " -r -F" : " -x";
      text += " -d " + quoted(flag.help) + "\n";
    }
  }
  return text;
}

/// Text of a line of troff.
std::string troff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  if (result.starts_with(".") || result.starts_with("'")) result.insert(0, "\\&");
  return result;
}

std::string troff_lines(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += troff(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return result;
}

}  // namespace

std::string completion_script(const std::string& shell, const CLI::App& app,
                              const std::vector<std::string>& keys) {
  const std::vector<Command> commands = commands_of(app);
  return shell == "bash"  ? bash_script(commands, keys)
         : shell == "zsh" ? zsh_script(commands, keys)
                          : fish_script(commands, keys);
}

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".TH TRAINER 1 \"\" \"trainer {}\" \"User commands\"\n.SH NAME\ntrainer \\- train neural networks that "
      "a "
      "YAML file describes\n.SH SYNOPSIS\n.B trainer\n.RI [ command ]\n.I config\\-or\\-run\n.RI [ flags ]\n"
      ".SH DESCRIPTION\n{}.SH COMMANDS\n",
      troff(version), troff_lines(app.get_description()));
  for (const Command& command : commands_of(app)) {
    std::string arguments;
    for (const Flag& flag : command.flags)
      if (flag.is_argument) arguments += " " + flag.value;
    text +=
        fmt::format(".SS trainer {}{}\n{}", troff(command.name), troff(arguments), troff_lines(command.help));
    for (const Flag& flag : command.flags)
      text += fmt::format(".TP\n.B {}{}\n{}", troff(flag.is_argument ? flag.value : joined(flag.names, ", ")),
                          flag.is_argument || flag.value.empty() ? "" : " " + troff(flag.value),
                          troff_lines(flag.help));
  }
  return text + ".SH NOTES\n" + troff_lines(app.get_footer());
}

}  // namespace trainer
