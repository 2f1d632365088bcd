#include "cli/terminal/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/terminal/argument_words.h"
#include "cli/terminal/quantities.h"
#include "cli/terminal/validators.h"
#include "cli/terminal/version.h"
#include "engine/config/declared.h"
#include "engine/config/source.h"
#include "engine/core/error.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

constexpr std::int64_t kMaxRanks = 1'000'000, kMaxSteps = 1'000'000, kMaxBucket = std::int64_t{1} << 40;

[[noreturn]] void fail(std::string what, std::string help) {
  throw Error(ExitCode::usage, std::move(what), std::move(help));
}

/// The flags and commands as CLI11 knows them, bound to an Arguments.
class CommandLine {
 public:
  explicit CommandLine(Arguments& arguments);
  void parse();

 private:
  CLI::App* command(const std::string& name, const std::string& help);
  void add_settings(CLI::App& command);
  void add_ranks(CLI::App& command);
  void add_placement(CLI::App& command);
  void add_engine(CLI::App& command);
  void add_planning(CLI::App& command);
  const CLI::Option* find_flag(const std::string& word) const;
  bool takes_next_word(const std::string& word) const;
  std::vector<std::size_t> plain_words() const;
  void put_verb_first();
  void check_leftovers(const CLI::App& command) const;
  void check_values(const CLI::ParseError& mistake) const;

  Arguments& arguments_;
  std::vector<std::string> words_;
  std::string file_, mesh_, walltime_, progress_ = "auto", engine_ = "auto", format_ = "onnx";
  std::string ranks_, link_, memory_;  // of plan and forecast
  std::int64_t seed_ = 0;
  CLI::App app_{
      "Trains the neural network that a YAML file describes, in one process or in several under MPI."};
};

CommandLine::CommandLine(Arguments& arguments)
    : arguments_(arguments), words_(arguments.words.begin() + 1, arguments.words.end()) {
  app_.name("trainer");
  app_.set_version_flag("--version", fmt::format("trainer {}", version()), "Print the version and stop");
  app_.require_subcommand(1);

  CLI::App* train = command("train", "Train the network of a config");
  train
      ->add_option("CONFIG", file_,
                   "A YAML file; or a run directory or one of its checkpoints, to resume the run")
      ->required();
  add_ranks(*train);
  add_placement(*train);
  add_engine(*train);
  add_settings(*train);
  train->add_option("--seed", seed_, "Same as -s train.seed=SEED")
      ->type_name("SEED")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  train
      ->add_option("--bucket", arguments_.bucket,
                   "KiB of gradients in one message (default: chosen for the model and a 10 Gbit/s link)")
      ->type_name("KIB")
      ->check(whole_number(1, kMaxBucket));
  train
      ->add_option("--restarts", arguments_.restarts,
                   "With -n: after a lost process, resume from the newest checkpoint or snapshot without it, "
                   "up to K times")
      ->type_name("K")
      ->check(whole_number(0, kMaxRanks));
  train->add_option("-o,--out", arguments_.out, "Run directory (default: runs/NAME, then NAME-2 ...)")
      ->type_name("DIR");
  train->add_option("--name", arguments_.name, "NAME of the run directory (default: the config's name)")
      ->type_name("NAME");
  CLI::Option* weights =
      train->add_option("--init", arguments_.initial_weights, "Start from the weights of a safetensors file")
          ->type_name("FILE");
  train->add_flag("--resume", arguments_.resume, "Resume the run of a run directory")->excludes(weights);
  train->add_option("--walltime", walltime_, "Save and stop early enough to end within this time")
      ->type_name("HH:MM:SS");
  train->add_option("--progress", progress_, "auto, bar, plain, json (one object a line) or none")
      ->type_name("HOW")
      ->check(one_of(names_of(kProgressModes)));
  CLI::Option* quiet = train->add_flag("-q,--quiet", arguments_.quiet, "Print only the result");
  train
      ->add_flag("-v,--verbose", arguments_.verbose,
                 "Print more about the machine, the data and how gradients are sent")
      ->excludes(quiet);

  CLI::App* check = command("check", "Print every mistake in configs; of data files, read only the headers");
  check->add_option("CONFIG", arguments_.files, "YAML files")->required();
  add_settings(*check);

  CLI::App* config = command("config", "Print the resolved YAML with every default");
  config->add_option("CONFIG", file_, "The YAML file")->required();
  add_settings(*config);

  CLI::App* summary = command("summary", "Print layers, shapes, parameters, operations and memory per rank");
  summary->add_option("CONFIG", file_, "The YAML file")->required();
  add_ranks(*summary);
  add_placement(*summary);
  add_settings(*summary);

  CLI::App* plan =
      command("plan", "Print shapes, memory, messages and the predicted step time of a run on N ranks");
  plan->add_option("CONFIG", file_, "The YAML file")->required();
  plan->add_option("-n,--ranks", ranks_, "Ranks to plan (default: 1); none is started")->type_name("N");
  plan->add_option("--memory", memory_, "Memory of a host, as 16GiB (default: what this machine grants)")
      ->type_name("BYTES");
  add_placement(*plan);
  add_planning(*plan);
  add_engine(*plan);
  add_settings(*plan);

  CLI::App* forecast = command("forecast", "Print the predicted speed on several numbers of ranks");
  forecast->add_option("CONFIG", file_, "The YAML file")->required();
  forecast->add_option("-n,--ranks", ranks_, "Numbers of ranks: 1,2,4,...,1024; none is started")
      ->type_name("LIST")
      ->required();
  forecast->add_flag("--weak", arguments_.weak, "train.batch samples on each rank (default: on all together)")
      ->disable_flag_override();
  forecast->add_flag("--csv", arguments_.csv, "Print a comma-separated table")->disable_flag_override();
  forecast->add_option("--svg", arguments_.svg, "Write a chart, too")->type_name("FILE");
  add_placement(*forecast);
  forecast->remove_option(forecast->get_option("--mesh"));  // the command finds the best one
  add_planning(*forecast);
  add_engine(*forecast);
  add_settings(*forecast);

  CLI::App* time = command("time", "Print the time of each layer in a training step; saves nothing");
  time->add_option("CONFIG", file_, "The YAML file")->required();
  time->add_option("--steps", arguments_.steps, "Steps to time, after N steps of warm-up (default: 50)")
      ->type_name("N")
      ->check(whole_number(1, kMaxSteps));
  time->add_option("--trace", arguments_.trace,
                   "Write when each layer ran on each rank and thread to a file for Perfetto")
      ->type_name("FILE");
  add_ranks(*time);
  add_placement(*time);
  add_engine(*time);
  add_settings(*time);

  CLI::App* eval = command("eval", "Print loss and metrics of a run's best weights");
  eval->add_option("RUN", file_, "A run directory, or a checkpoint inside one")->required();
  eval->add_option("--split", arguments_.split, "train, valid or test (default: test, else valid)")
      ->type_name("SPLIT")
      ->check(one_of({"train", "valid", "test"}));
  eval->add_option("--data", arguments_.given,
                   "Other samples in the format of training, repeatable: a table, a folder of class folders, "
                   "a text, an archive; arrays, or images and labels, as two files")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->excludes("--split");
  add_ranks(*eval);
  add_placement(*eval);
  add_engine(*eval);
  add_settings(*eval);

  CLI::App* predict = command("predict", "Print a run's predictions for images, tables, arrays and texts");
  predict->add_option("RUN", file_, "A run directory, or a checkpoint inside one")->required();
  predict
      ->add_option("FILES", arguments_.files,
                   "Images, folders of images, .npy and .npz arrays, tables, texts; - for standard input")
      ->required();
  const auto add_format = [&](const char* flag, PredictionFormat format, const char* what) {
    return predict->add_flag_callback(
        flag, [this, format] { arguments_.prediction_format = format; }, what);
  };
  CLI::Option* json =
      add_format("--json", PredictionFormat::json, "Print one JSON object for each sample, with all outputs");
  CLI::Option* csv =
      add_format("--csv", PredictionFormat::csv, "Print a comma-separated table with all outputs");
  csv->excludes(json);
  add_format("--npy", PredictionFormat::npy, "Print all outputs in NumPy's format")
      ->excludes(json)
      ->excludes(csv);
  CLI::Option* top = predict->add_option("--top", arguments_.top, "The K likeliest classes")
                         ->type_name("K")
                         ->check(whole_number(1, kMaxRanks));
  predict->get_option("--npy")->excludes(top);
  predict->add_option("--id", arguments_.id, "The column of a table that holds ids, by name or number")
      ->type_name("COLUMN");
  predict->add_option("--array", arguments_.array, "The array of an archive")->type_name("NAME");
  add_ranks(*predict);
  predict
      ->add_option("--threads", arguments_.threads,
                   "Threads of each process (default: OMP_NUM_THREADS, else cores / processes)")
      ->type_name("T")
      ->check(whole_number(1, kMaxThreads));
  add_engine(*predict);
  add_settings(*predict);

  CLI::App* generate = command("generate", "Continue a text with a run's best weights");
  generate->add_option("RUN", file_, "A run directory, or a checkpoint inside one")->required();
  generate->add_option("--prompt", arguments_.prompt, "The text to continue")->type_name("TEXT")->required();
  generate->add_option("--tokens", arguments_.tokens, "Tokens to generate (default: 500)")
      ->type_name("N")
      ->check(whole_number(1, kMaxSteps));
  generate
      ->add_option("--temperature", arguments_.temperature,
                   "0: always the likeliest token; 1: the model's own probabilities (default: 0.8)")
      ->type_name("T")
      ->check(CLI::Range(0.0, 100.0).description(""));
  add_engine(*generate);
  add_settings(*generate);

  CLI::App* exported = command("export", "Write a run's best weights in a format of other programs");
  exported->add_option("RUN", file_, "A run directory, or a checkpoint inside one")->required();
  exported
      ->add_option("FORMAT", format_,
                   "onnx: the network, for ONNX Runtime and others; c: the same as one C99 file; npz: the "
                   "weights, for NumPy")
      ->required()
      ->check(one_of(names_of(kExportFormats)));
  exported->add_option("-o,--out", arguments_.out, "The file (default: model.FORMAT in the run directory)")
      ->type_name("FILE");
  add_settings(*exported);

  CLI::App* fetch = command("fetch", "Download public datasets and check their SHA-256");
  fetch->add_option("NAMES", arguments_.files, "Datasets");
  fetch->add_flag("--list", arguments_.list, "Print the names and sizes of all datasets")
      ->disable_flag_override();
  fetch
      ->add_option(
          "--to", arguments_.out,
          "The data directory (default: TRAINER_DATA, else ~/.cache/trainer): where configs find datasets")
      ->type_name("DIR");

  CLI::App* report = command("report", "Write a run's report.html again, also during the run");
  report->add_option("RUN", file_, "A run directory")->required();
  report->add_flag("--tensorboard", arguments_.tensorboard,
                   "Write RUN/tensorboard, event files for TensorBoard, instead");

  CLI::App* compare = command("compare", "Print the results of runs, and the settings in which they differ");
  compare->add_option("RUN", arguments_.files, "Run directories")->required();

  CLI::App* schema =
      command("schema", "Print the JSON Schema of the YAML (draft-07), or all keys as Markdown");
  schema->add_flag("--keys", arguments_.keys, "Print the reference of all keys (docs/keys.md)");
  command("info", "Print cores, instructions, engines, MPI and versions");
  // Last, because commands inherit it.
  app_.footer(
      "`train` may be left out: trainer configs/mnist-small.yaml. `trainer COMMAND --help` shows a command's "
      "flags.\n"
      "Exit codes: 0 done, 1 failure, 2 YAML or flags, 3 data, 4 number of processes, 5 diverged, 6 "
      "weights,\n"
      "7 a process was lost, 130 stopped with a checkpoint.");
}

CLI::App* CommandLine::command(const std::string& name, const std::string& help) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->allow_extras();  // check_leftovers() reports them, with a suggestion
  command->get_formatter()->column_width(34);
  return command;
}

void CommandLine::add_settings(CLI::App& command) {
  command
      .add_option("-s,--set", arguments_.overrides,
                  "Override a key, repeatable: -s train.epochs=1 -s model.layers[0].conv.kernel=3")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

void CommandLine::add_ranks(CLI::App& command) {
  command.add_option("-n,--ranks", arguments_.ranks, "Start N processes here (runs the MPI launcher)")
      ->type_name("N")
      ->check(whole_number(1, kMaxRanks));
}

void CommandLine::add_placement(CLI::App& command) {
  command.add_flag("-p,--datapar", arguments_.datapar, "Divide each batch among the processes")
      ->disable_flag_override();
  command.add_flag("-m,--modelpar", arguments_.modelpar, "Divide dense layers among the processes")
      ->disable_flag_override();
  command.add_option("--mesh", mesh_, "Both: D data ranks x M model ranks")->type_name("DxM");
  command
      .add_option("--ranks-per-node", arguments_.ranks_per_node,
                  "Treat K consecutive processes as a node (for tests)")
      ->type_name("K")
      ->check(whole_number(1, kMaxRanks));
  command
      .add_option("--threads", arguments_.threads,
                  "Threads of each process (default: OMP_NUM_THREADS, else cores / processes)")
      ->type_name("T")
      ->check(whole_number(1, kMaxThreads));
}

void CommandLine::add_engine(CLI::App& command) {
  command
      .add_option(
          "--engine", engine_,
          "Library for matrix products: native (kernels of this program), openblas, or auto (default: "
          "native on processors with AVX2)")
      ->type_name("ENGINE")
      ->check(one_of(names_of(kEngines)));
}

/// After add_placement().
void CommandLine::add_planning(CLI::App& command) {
  command.get_option("--ranks-per-node")
      ->description("Ranks of each host (default: 1 for forecast and with --link, else all)");
  command
      .add_option(
          "--link", link_,
          "Link of each host: BANDWIDTH,LATENCY, as 10Gbps,20us; a third time is what a message costs "
          "its sender (default: 1us)")
      ->type_name("LINK");
  command
      .add_option("--rate", arguments_.rate,
                  "GFLOP/s of a thread over a step, as `trainer time` prints (default: measured here)")
      ->type_name("GFLOPS")
      ->check(positive_number());
}

/// Any command's flag of that name, "-n" or "--ranks".
const CLI::Option* CommandLine::find_flag(const std::string& word) const {
  for (const CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; }))
    if (const CLI::Option* option = command->get_option_no_throw(word))
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
    const std::string meant = nearest(word, names_of(kVerbs));
    fail("unknown command " + in_quotes(word),
         meant.empty() ? "the commands are " + listed(names_of(kVerbs)) + "; or a YAML file to train"
                       : "did you mean `" + meant + "`?");
  }
  words_.insert(words_.begin(), "train");
}

void CommandLine::check_leftovers(const CLI::App& command) const {
  const std::vector<std::string> leftovers = command.remaining();
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
  const std::string meant = name.starts_with("--") ? nearest(name, known) : "";
  const std::string key = name.starts_with("--") ? path_of_key(name.substr(2), run_settings()) : "";
  if (meant.empty() && !key.empty())
    fail("unknown flag " + in_quotes(name), fmt::format("keys of the YAML are set with -s {}=VALUE", key));
  fail("unknown flag " + in_quotes(name) + " of `trainer " + command.get_name() + "`",
       meant.empty() ? see : "did you mean `" + meant + "`?");
}

/// Rephrases CLI11's "--ranks: 1 required N missing" and "datapar was given a disallowed flag override".
void CommandLine::check_values(const CLI::ParseError& mistake) const {
  const std::string what = mistake.what(), name = what.substr(0, what.find(':'));
  const CLI::Option* flag = find_flag(name);
  if (flag && what.ends_with(" missing"))
    fail(name + " expects a value", fmt::format("{} {}", name, flag->get_type_name()));
  if (what.ends_with(" disallowed flag override"))
    fail("--" + what.substr(0, what.find(' ')) + " takes no value", "remove = and the text after it");
}

void CommandLine::parse() {
  if (!words_.empty() && words_.front() == "help") words_.front() = "--help";
  put_verb_first();
  const CLI::App* chosen = &app_;
  try {
    std::vector<std::string> backwards(words_.rbegin(), words_.rend());
    app_.parse(backwards);
    chosen = app_.get_subcommands().front();
  } catch (const CLI::CallForHelp&) {
    arguments_.message = app_.help();
  } catch (const CLI::CallForVersion& asked) {
    arguments_.message = std::string(asked.what()) + "\n";
  } catch (const CLI::ParseError& mistake) {
    // An unknown flag explains best why the rest does not fit.
    for (const CLI::App* command : app_.get_subcommands()) check_leftovers(*command);
    check_values(mistake);
    const auto commands = app_.get_subcommands();
    fail(mistake.what(),
         "trainer " + (commands.empty() ? "" : commands.front()->get_name() + " ") + "--help");
  }
  if (!arguments_.message.empty()) {
    arguments_.verb = Verb::message;
    return;
  }
  check_leftovers(*chosen);
  arguments_.verb = kVerbs.at(chosen->get_name());
  if (!file_.empty()) arguments_.files.insert(arguments_.files.begin(), file_);
  arguments_.progress = kProgressModes.at(progress_);
  arguments_.engine = kEngines.at(engine_);
  arguments_.export_format = kExportFormats.at(format_);
  if (!mesh_.empty()) arguments_.mesh = mesh_of_text(mesh_);
  if (!ranks_.empty() || arguments_.verb == Verb::plan)
    arguments_.planned_ranks = rank_counts_of(ranks_.empty() ? "1" : ranks_, arguments_.verb == Verb::plan);
  if (!link_.empty()) arguments_.link = link_of(link_);
  if (!memory_.empty()) arguments_.memory = memory_of(memory_);
  if (arguments_.restarts > 0 && arguments_.ranks == 0)
    fail("--restarts needs -n: it restarts processes of this program", "trainer -n N --restarts K ...");
  if (!walltime_.empty()) arguments_.walltime = seconds_of(walltime_);
  if (arguments_.datapar && arguments_.modelpar && !arguments_.mesh)
    fail("--datapar and --modelpar together need --mesh DxM", "--mesh 2x2: 2 data ranks x 2 model ranks");
  if (chosen->get_name() == "train" && chosen->get_option("--seed")->count() > 0)
    arguments_.overrides.push_back(fmt::format("train.seed={}", seed_));
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
