#include "cli/terminal/argument_words.h"
#include "cli/terminal/command_flags.h"
#include "cli/terminal/validators.h"

// Commands that take a run.
namespace trainer {

void CommandFlags::add_eval() {
  CLI::App* eval = command("eval", "Print loss and metrics of a run's best weights");
  eval->add_option("RUN", texts_.file, "A run directory, or a checkpoint inside one")->required();
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
  eval->add_flag("--run-programs", arguments_.runs_programs,
                 "Start the programs among the run's metrics: only for a run whose config you trust")
      ->disable_flag_override();
  add_ranks(*eval);
  add_placement(*eval);
  add_engine(*eval);
  add_settings(*eval);
}

void CommandFlags::add_predict() {
  CLI::App* predict = command("predict", "Print a run's predictions for images, tables, arrays and texts");
  predict->add_option("RUN", texts_.file, "A run directory, or a checkpoint inside one")->required();
  predict
      ->add_option(
          "FILES", arguments_.files,
          "Images, folders of images, .npy and .npz arrays, HDF5, tables, texts; - for standard input")
      ->required();
  const auto add_format = [&](const char* flag, PredictionFormat format, const char* what) {
    return predict
        ->add_flag_callback(
            flag, [this, format] { arguments_.prediction_format = format; }, what)
        ->disable_flag_override();
  };
  CLI::Option* json =
      add_format("--json", PredictionFormat::json, "Print one JSON object for each sample, with all outputs");
  CLI::Option* csv =
      add_format("--csv", PredictionFormat::csv, "Print a comma-separated table with all outputs");
  csv->excludes(json);
  add_format("--npy", PredictionFormat::npy, "Print all outputs in NumPy's format")
      ->excludes(json)
      ->excludes(csv);
  CLI::Option* top = predict->add_option("--top", arguments_.top, "The K likeliest classes or labels")
                         ->type_name("K")
                         ->check(whole_number(1, kMaxRanks));
  CLI::Option* threshold =
      predict
          ->add_option("--threshold", arguments_.threshold,
                       "Of several labels name those with a higher probability (default: 0.5)")
          ->type_name("P")
          ->check(number_within(0, 1));
  predict->get_option("--npy")->excludes(top)->excludes(threshold);
  predict->add_option("--id", arguments_.id, "The column of a table that holds ids, by name or number")
      ->type_name("COLUMN");
  predict->add_option("--array", arguments_.array, "The array of an archive or HDF5 file")->type_name("NAME");
  add_ranks(*predict);
  add_threads(*predict);
  add_engine(*predict);
  add_settings(*predict);
}

void CommandFlags::add_generate() {
  CLI::App* generate = command("generate", "Continue texts with a run's best weights");
  generate->add_option("RUN", texts_.file, "A run directory, or a checkpoint inside one")->required();
  CLI::Option* prompt = generate->add_option("--prompt", arguments_.prompts, "A text to continue, repeatable")
                            ->type_name("TEXT")
                            ->expected(1)
                            ->allow_extra_args(false)
                            ->take_all()
                            ->check(not_empty());
  generate
      ->add_option("--prompts", arguments_.prompt_file, "A file with a prompt a line; - for standard input")
      ->type_name("FILE")
      ->excludes(prompt);
  generate->add_option("--tokens", arguments_.tokens, "Tokens to generate (default: 500)")
      ->type_name("N")
      ->check(whole_number(1, kMaxSteps));
  generate
      ->add_option("--temperature", arguments_.temperature,
                   "0: always the likeliest token; 1: the model's own probabilities (default: 0.8)")
      ->type_name("T")
      ->check(number_within(0, 100));
  generate->add_option("--top-k", arguments_.top_k, "Choose among the K likeliest tokens (default: all)")
      ->type_name("K")
      ->check(whole_number(1, kMaxSteps));
  generate
      ->add_option("--top-p", arguments_.top_p,
                   "Choose among the fewest likeliest tokens with this probability together (default: 1)")
      ->type_name("P")
      ->check(number_within(0, 1));
  generate->add_option("--stop", arguments_.stops, "A text before which the answer ends, repeatable")
      ->type_name("TEXT")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(not_empty());
  generate
      ->add_flag_callback(
          "--json", [this] { arguments_.prediction_format = PredictionFormat::json; },
          "Print one JSON object for each prompt: the prompt and the text that continues it")
      ->disable_flag_override();
  add_threads(*generate);
  add_engine(*generate);
  add_settings(*generate);
}

void CommandFlags::add_export() {
  CLI::App* exported = command("export", "Write a run's best weights in a format of other programs");
  exported->add_option("RUN", texts_.file, "A run directory, or a checkpoint inside one")->required();
  exported
      ->add_option("FORMAT", texts_.format,
                   "onnx: the network, for ONNX Runtime and others; c: the same as one C99 file; npz, "
                   "safetensors: the weights; hf: GPT-2, Llama or ResNet as a directory for Hugging Face's "
                   "programs; gguf: GPT-2 or Llama as a file for llama.cpp")
      ->required()
      ->check(one_of(names_of(kExportFormats)));
  exported
      ->add_option("-o,--out", arguments_.out,
                   "The file (default: model.FORMAT in the run directory), or of hf the directory (default: "
                   "huggingface)")
      ->type_name("FILE");
  add_settings(*exported);
}

void CommandFlags::add_report() {
  CLI::App* report = command("report", "Write a run's report.html again, also during the run");
  report->add_option("RUN", texts_.file, "A run directory")->required();
  report
      ->add_flag("--tensorboard", arguments_.tensorboard,
                 "Write RUN/tensorboard, event files for TensorBoard, instead")
      ->disable_flag_override();
}

void CommandFlags::add_compare() {
  CLI::App* compare = command("compare", "Print the results of runs, and the settings in which they differ");
  compare->add_option("RUN", arguments_.files, "Run directories, or folders of them")->required();
  CLI::Option* html =
      compare
          ->add_option("--html", arguments_.html, "Write a page with their curves over one another instead")
          ->type_name("FILE");
  compare->add_flag("--json", arguments_.json, "Print one JSON object for each run instead")
      ->disable_flag_override()
      ->excludes(html);
}

}  // namespace trainer
