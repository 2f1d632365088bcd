#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cli/terminal/arguments.h"
#include "models/training/observer.h"

namespace trainer {

/// What a terminal can do.
struct TerminalFacts {
  int columns = 0;  ///< 0: not a terminal
  bool colour = false;
  bool moves = false;  ///< the cursor: understands \r and "clear the line"
  bool utf8 = true;    ///< shows characters beyond ASCII
};

/// That of standard output, by the system and by NO_COLOR and TERM.
TerminalFacts standard_output();

/// The observer that shows the progress of training on standard output. `run`: the run directory.
/// `has_heading`: the table gets one. `pause`: between two lines within an epoch where there is no bar.
std::unique_ptr<Observer> make_progress(ProgressMode mode, const TerminalFacts& terminal,
                                        const std::string& run, bool has_heading = true,
                                        std::chrono::milliseconds pause = std::chrono::minutes(1));

/// The same under --quiet: with `json` the object of the end alone, otherwise nothing.
std::unique_ptr<Observer> make_quiet_progress(ProgressMode mode, const std::string& run);

/// One line on the current epoch and the time that is left of the run, no wider than the terminal; without a
/// bar if it is none.
std::string bar_line(const RunFacts& facts, const StepReport& report, const Scores& epoch_so_far,
                     double seconds_left, const TerminalFacts& terminal);

/// Why a run ended before its last step: "ended early, after step 70 of 600: ..."; else empty.
std::string ending_text(const RunFacts& facts, const RunResult& result);

/// "best  epoch 5: test accuracy 98.63%      total 10s, 4% of it communication, 52.0 MiB of memory"
std::string result_line(const RunFacts& facts, const RunResult& result);

/// Advice when one node would be faster than all: computing takes it `nodes` times as long, and communication
/// nothing. Empty otherwise.
std::string nodes_note(const RunFacts& facts, const RunResult& result);

}  // namespace trainer
