#pragma once

#include <string>
#include <string_view>

namespace trainer {

/// Opens those of the descriptors 0, 1 and 2 that are closed, so that no file of a run takes their place.
/// What is written to one that was closed is lost, with an error.
void open_standard_streams();

// None of these throws: main() looks for errors of standard output at its end, and a message that cannot be
// written is lost. Text for people has its control characters made visible, newlines excepted.

/// Writes a result for people on standard output.
void print_result(std::string_view text);
/// Writes on standard output as it is: a format that programs read, or control sequences of this program.
void print_bytes(std::string_view bytes);
/// Writes a message on standard error.
void print_message(std::string_view text);
/// Shows a line at the end of a terminal that moves its cursor, until anything else is written; "" removes
/// it.
void print_status(std::string_view line);

/// Writes a text that comes in pieces on standard output, each piece at once. On a terminal its control
/// characters are made visible, newlines and tabs excepted; a pipe or a file gets the text as it is.
class TextStream {
 public:
  TextStream();
  explicit TextStream(bool is_terminal) : is_terminal_(is_terminal) {}
  /// `piece`: of whole characters.
  void add(std::string_view piece) const;

 private:
  bool is_terminal_;
};

/// True unless standard output has lost something; writes what is still in its buffer.
bool flush_output();

}  // namespace trainer
