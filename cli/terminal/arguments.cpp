#include "cli/terminal/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/terminal/argument_words.h"
#include "cli/terminal/command_flags.h"
#include "cli/terminal/quantities.h"
#include "cli/terminal/shell_line.h"
#include "engine/config/source.h"
#include "engine/config/synonyms.h"
#include "engine/core/error.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

[[noreturn]] void fail(std::string what, std::string help) {
  throw Error(ExitCode::usage, std::move(what), std::move(help));
}

/// "-n,--ranks": users know one of them.
std::string names_of(const CLI::Option& flag) { return flag.get_name(false, true); }

/// Reads a command line by the flags of its command.
class CommandLine {
 public:
  explicit CommandLine(Arguments& arguments)
      : arguments_(arguments),
        words_(arguments.words.begin() + 1, arguments.words.end()),
        flags_(arguments),
        app_(flags_.app()) {}
  void parse();

 private:
  const CLI::Option* find_flag(const std::string& word) const;
  const CLI::Option* flag_of_command(const std::string& name) const;
  bool takes_next_word(const std::string& word) const;
  std::vector<std::size_t> plain_words() const;
  void put_verb_first();
  void check_letters() const;
  void check_leftovers(const CLI::App& command) const;
  void check_values(const CLI::ParseError& mistake) const;
  /// The subcommand; null if its user asks for help or the version, which is then the message.
  const CLI::App* chosen_command();
  void check_flags() const;
  void take_texts();
  void take_search(const CLI::App& command);
  void take_overrides(const CLI::App& command);

  Arguments& arguments_;
  std::vector<std::string> words_;
  CommandFlags flags_;
  CLI::App& app_;
};

/// Any command's flag of that name, "-n" or "--ranks".
const CLI::Option* CommandLine::find_flag(const std::string& word) const {
  for (const CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; }))
    if (const CLI::Option* option = command->get_option_no_throw(word))
      if (!option->get_positional()) return option;
  return nullptr;
}

/// The flag of the subcommand; null for the name of anything else.
const CLI::Option* CommandLine::flag_of_command(const std::string& name) const {
  for (const CLI::App* command : app_.get_subcommands())
    if (const CLI::Option* option = command->get_option_no_throw(name))
      if (!option->get_positional()) return option;
  return nullptr;
}

/// Whether the next word is this flag's value.
bool CommandLine::takes_next_word(const std::string& word) const {
  const auto requires_value = [&](const std::string& flag) {
    const CLI::Option* option = find_flag(flag);
    return option && option->get_items_expected_min() > 0;
  };
  if (word.starts_with("--")) return requires_value(word);
  // Letters may be joined (-pn 4), and a value may be glued to its letter (-n4).
  for (std::size_t i = 1; i < word.size(); ++i)
    if (requires_value(std::string("-") + word[i])) return i + 1 == word.size();
  return false;
}

/// The positions of the words that are neither flags nor values of flags.
std::vector<std::size_t> CommandLine::plain_words() const {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (!words_[i].starts_with("-"))
      places.push_back(i);
    else if (takes_next_word(words_[i]))
      ++i;
  }
  return places;
}

void CommandLine::put_verb_first() {
  const std::vector<std::size_t> plain = plain_words();
  if (plain.empty()) {
    const bool asks = std::any_of(words_.begin(), words_.end(), [](const std::string& word) {
      return word == "-h" || word == "--help" || word == "--version";
    });
    if (!asks) {
      if (words_.empty()) fail("nothing to do: which config?", "trainer CONFIG, or trainer --help");
      words_.insert(words_.begin(), "train");
    }
    return;
  }
  const std::string word = words_[plain.front()];
  if (kVerbs.contains(word)) {
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(plain.front()));
    words_.insert(words_.begin(), word);
    return;
  }
  const bool after_unknown_flag = plain.front() > 0 && words_[plain.front() - 1].starts_with("-") &&
                                  !find_flag(words_[plain.front() - 1]);
  std::error_code ignored;
  const bool looks_like_a_file =
      word.find_first_of("./") != std::string::npos || std::filesystem::is_directory(word, ignored);
  if (!looks_like_a_file && !after_unknown_flag) {
    std::string hint = meaning_of("command", word, names_of(kVerbs)).hint;
    if (std::filesystem::is_regular_file(word, ignored)) hint = shell_line({"trainer", "./" + word});
    fail("unknown command " + in_quotes(word),
         hint.empty() ? "the commands are " + listed(names_of(kVerbs)) + "; or a YAML file to train" : hint);
  }
  words_.insert(words_.begin(), "train");
}

/// CLI11 takes "=2" of "-n=2" for the value, and "-q=1" for two flags.
void CommandLine::check_letters() const {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::string& word = words_[i];
    if (word == "--") return;
    const bool has_equals = word.size() > 2 && word[0] == '-' && word[2] == '=';
    const CLI::Option* flag = has_equals ? flag_of_command(word.substr(0, 2)) : nullptr;
    if (flag && flag->get_items_expected_min() == 0)
      fail(word.substr(0, 2) + " takes no value", "remove = and the text after it");
    if (flag)
      fail(names_of(*flag) + ": a value follows the letter without =",
           shell_line({word.substr(0, 2), word.size() > 3 ? word.substr(3) : flag->get_type_name()}));
    if (word.starts_with("-") && takes_next_word(word)) ++i;
  }
}

void CommandLine::check_leftovers(const CLI::App& command) const {
  std::vector<std::string> leftovers = command.remaining();
  std::erase(leftovers, "--");  // ends the flags
  if (leftovers.empty()) return;
  const auto flag = std::find_if(leftovers.begin(), leftovers.end(),
                                 [](const std::string& word) { return word.starts_with("-"); });
  const std::string see = "trainer " + command.get_name() + " --help";
  if (flag == leftovers.end()) fail("unexpected argument " + in_quotes(leftovers.front()), see);
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& text : option->get_lnames()) known.push_back("--" + text);
    for (const std::string& text : option->get_snames()) known.push_back("-" + text);
  }
  if (!name.starts_with("--"))
    fail("unknown flag " + in_quotes(name) + " of `trainer " + command.get_name() + "`", see);
  const std::string hint = meaning_of("flag", name, known).hint;
  const std::string key = path_of_meant_key(name, run_settings());
  if (hint.empty() && !key.empty())
    fail("unknown flag " + in_quotes(name), fmt::format("keys of the YAML are set with -s {}=VALUE", key));
  fail("unknown flag " + in_quotes(name) + " of `trainer " + command.get_name() + "`",
       hint.empty() ? see : hint);
}

/// Rephrases CLI11's "--ranks: 1 required N missing", "RUN: At least 2 required but received 1" and "datapar
/// was given a disallowed flag override".
void CommandLine::check_values(const CLI::ParseError& mistake) const {
  const std::string what = mistake.what(), name = what.substr(0, what.find(':'));
  if (const CLI::Option* flag = flag_of_command(name)) {
    const std::string names = names_of(*flag);
    if (what.ends_with(" missing"))
      fail(names + " expects a value", fmt::format("{} {}", name, flag->get_type_name()));
    if (what.find(": At Most ") != std::string::npos) fail(names + " is given more than once", "one of them");
    fail(names + what.substr(name.size()),
         "trainer " + app_.get_subcommands().front()->get_name() + " --help");
  }
  for (const CLI::App* command : app_.get_subcommands()) {
    const CLI::Option* run = command->get_option_no_throw("RUN");
    if (run != nullptr && name == "RUN" && what.find(" required but received ") != std::string::npos)
      fail(fmt::format("RUN expects {} run directories, got {}", run->get_expected_min(), run->count()),
           "trainer " + command->get_name() + " RUN1 RUN2");
    if (name == "FORMAT" && run != nullptr && kExportFormats.contains(run->results().front()))
      fail("the run is named before the format", "trainer export RUN " + run->results().front());
    const std::string file = name == "FORMAT" ? what.substr(what.rfind(" `") + 2) : "";
    for (const auto& [format, known] : kExportFormats)
      if (file.ends_with("." + format + "`"))
        fail("a format is expected before the file",
             "trainer export RUN " + format + " --out " + file.substr(0, file.size() - 1));
  }
  if (what.ends_with(" disallowed flag override"))
    fail("--" + what.substr(0, what.find(' ')) + " takes no value", "remove = and the text after it");
}

const CLI::App* CommandLine::chosen_command() {
  try {
    std::vector<std::string> backwards(words_.rbegin(), words_.rend());
    app_.parse(backwards);
    return app_.get_subcommands().front();
  } catch (const CLI::CallForHelp&) {
    arguments_.message = app_.help();
  } catch (const CLI::CallForVersion& asked) {
    arguments_.message = std::string(asked.what()) + "\n";
  } catch (const CLI::ParseError& mistake) {
    check_letters();
    // An unknown flag explains best why the rest does not fit.
    for (const CLI::App* command : app_.get_subcommands()) check_leftovers(*command);
    check_values(mistake);
    const auto commands = app_.get_subcommands();
    fail(mistake.what(),
         "trainer " + (commands.empty() ? "" : commands.front()->get_name() + " ") + "--help");
  }
  return nullptr;
}

void CommandLine::parse() {
  if (!words_.empty() && words_.front() == "help") words_.front() = "--help";
  put_verb_first();
  const CLI::App* const command = chosen_command();
  if (!command) {
    arguments_.verb = Verb::message;
    return;
  }
  check_letters();
  check_leftovers(*command);
  arguments_.verb = kVerbs.at(command->get_name());
  const CLI::Option* run = command->get_option_no_throw("RUN");
  if (run != nullptr && std::ranges::count(run->results(), "") > 0)
    fail("RUN is an empty word", "a run directory, such as runs/NAME; a variable of the shell may be unset");
  for (const CLI::Option* flag : command->get_options())
    if (!flag->get_positional() && flag->get_name() != "--set" && std::ranges::count(flag->results(), "") > 0)
      fail(names_of(*flag) + " expects a value that is not empty", "a variable of the shell may be unset");
  take_texts();
  check_flags();
  take_search(*command);
  take_overrides(*command);
}

/// Flags that need others, or exclude them.
void CommandLine::check_flags() const {
  if (arguments_.restarts > 0 && arguments_.ranks == 0)
    fail("--restarts needs -n: it restarts processes of this program", "trainer -n N --restarts K ...");
  if (arguments_.datapar && arguments_.modelpar && flags_.texts().mesh.empty())
    fail("--datapar and --modelpar together need --mesh DxM", "--mesh 2x2: 2 data ranks x 2 model ranks");
  const bool plans = arguments_.verb == Verb::plan || arguments_.verb == Verb::forecast;
  if (arguments_.link && !plans && !arguments_.chooses_mesh)
    fail("--link describes the hosts for --mesh auto", "--mesh auto --link 10Gbps,20us");
  if (arguments_.range.from >= arguments_.range.to)
    fail("--from expects a rate below that of --to", "--from 1e-6 --to 10");
  if (arguments_.until > 1)
    fail(fmt::format("--until expects a share of the steps, got {:g}", arguments_.until),
         "--until 0.5: half of them");
}

void CommandLine::take_search(const CLI::App& command) {
  if (arguments_.verb == Verb::sweep && command.get_option("--seed")->count() > 0) {
    arguments_.search.seed = static_cast<std::uint64_t>(flags_.texts().seed);
    arguments_.search.is_seeded = true;
  }
  if (const int ranks = arguments_.search.ranks; ranks > 1) {
    Arguments trial = arguments_;
    trial.ranks = ranks;
    mesh_of(trial, ranks);
  }
}

/// Flags that stand for keys.
void CommandLine::take_overrides(const CLI::App& command) {
  // First, so that -s train.async.staleness=N may follow.
  if (flags_.texts().async) {
    arguments_.overrides.insert(arguments_.overrides.begin(), "train.async={}");
    arguments_.datapar |= !arguments_.modelpar && flags_.texts().mesh.empty();
  }
  if (command.get_name() == "train" && command.get_option("--seed")->count() > 0)
    arguments_.overrides.push_back(fmt::format("train.seed={}", flags_.texts().seed));
}

void CommandLine::take_texts() {
  const CommandFlags::Texts& texts = flags_.texts();
  if (!texts.file.empty()) arguments_.files.insert(arguments_.files.begin(), texts.file);
  arguments_.progress = kProgressModes.at(texts.progress);
  if (const auto engine = kEngines.find(texts.engine); engine != kEngines.end())
    arguments_.engine = engine->second;
  else
    arguments_.engine_table = texts.engine;
  if (kEngines.contains(arguments_.engines))
    fail("--engines expects a file to write",
         "--engine " + arguments_.engines + " times steps with one engine");
  if (!arguments_.engines.empty() && arguments_.steps < 2)
    fail("--engines times the engines in turns: --steps expects at least 2", "--steps 50");
  arguments_.sharding = kShardingWords.at(texts.shard);
  arguments_.export_format = kExportFormats.at(texts.format);
  arguments_.chooses_mesh = texts.mesh == "auto";
  if (arguments_.chooses_mesh && arguments_.verb == Verb::plan)
    fail("--mesh auto: plan shows one mesh", "trainer forecast -n N ... finds the best one");
  if (!texts.mesh.empty() && !arguments_.chooses_mesh) arguments_.mesh = mesh_of_text(texts.mesh);
  const bool plans = arguments_.verb == Verb::plan;
  if (!texts.ranks.empty() || plans)
    arguments_.planned_ranks = rank_counts_of(texts.ranks.empty() ? "1" : texts.ranks, plans);
  if (!texts.link.empty()) arguments_.link = link_of(texts.link);
  if (!texts.memory.empty()) arguments_.memory = memory_of(texts.memory);
  if (!texts.steps.empty()) arguments_.range_of_steps = step_range_of(texts.steps);
  if (!texts.walltime.empty()) arguments_.walltime = seconds_of(texts.walltime);
  if (!texts.live.empty()) arguments_.live = live_address(texts.live);
  if (!texts.duration.empty()) arguments_.search.seconds = duration_of(texts.duration);
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments{.words = words};
  CommandLine(arguments).parse();
  return arguments;
}

std::string name_of(Verb verb) {
  for (const auto& [name, one] : kVerbs)
    if (one == verb) return name;
  return "";
}

const char* name_of(Engine engine) {
  return engine == Engine::native ? "native" : engine == Engine::openblas ? "openblas" : "auto";
}

}  // namespace trainer
