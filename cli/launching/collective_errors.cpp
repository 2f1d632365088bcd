#include "cli/launching/collective_errors.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include "cli/terminal/output.h"
#include "engine/core/escape.h"
#include "engine/system/exit_reason.h"

namespace trainer {
namespace {

std::string with_rank(int rank, const std::string& text) { return fmt::format("rank {}: {}", rank, text); }

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const CollectiveError& failure) {
    return {failure.code, failure.what()};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::failure,
            "error: not enough memory\nhelp: `accumulate: {fit: 4GiB}`, a smaller train.batch, or fewer "
            "processes on this host; `trainer summary CONFIG` shows what layers take"};
  } catch (const std::system_error& failure) {
    // Only the start of a thread throws this code.
    if (failure.code() == std::errc::resource_unavailable_try_again)
      return {ExitCode::failure,
              "error: the system allows no more threads\nhelp: fewer --threads, or a higher limit of "
              "processes (ulimit -u) "
              "or of memory (ulimit -d)"};
    return {ExitCode::failure, escaped_lines(fmt::format("error: {}", failure.what()))};
  } catch (const std::logic_error& bug) {
    return {ExitCode::failure, fmt::format("error: a bug in trainer: {}", bug.what())};
  } catch (const std::exception& failure) {
    return {ExitCode::failure, fmt::format("error: {}", failure.what())};
  }
}

void run_collectively(Communicator& world, const std::function<void()>& work) {
  Failure mine{.code = ExitCode::ok};
  try {
    work();
  } catch (...) {
    mine = current_failure();
  }
  std::string message(1, static_cast<char>(mine.code));
  message += mine.text;
  const auto messages = world.gather(std::as_bytes(std::span(message)), 0);
  Failure first{.code = ExitCode::ok};
  int failed = 0, first_rank = 0;
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    const std::string theirs(reinterpret_cast<const char*>(messages[rank].data()), messages[rank].size());
    const auto code = static_cast<ExitCode>(static_cast<unsigned char>(theirs.front()));
    if (code == ExitCode::ok) continue;
    if (failed++ > 0) continue;
    first = {code, theirs.substr(1)};
    first_rank = static_cast<int>(rank);
  }
  // Rank 0 is not named: it also does work that no other rank does.
  if (failed < world.size() && first_rank > 0) first.text = with_rank(first_rank, first.text);
  world.broadcast(std::as_writable_bytes(std::span(&first.code, 1)), 0);
  if (first.code != ExitCode::ok) throw CollectiveError(first);
}

void end_after_failure(Communicator& world) {
  const Failure failure = current_failure();
  if (failure.code == ExitCode::lost) {
    write_loss_report();
    write_exit_reason();
  }
  if (world.rank() == 0) {
    print_message(failure.text + "\n");
  } else if (failure.text.empty()) {
    // Rank 0 reports a collective failure and ends this rank, unless it cannot.
    std::this_thread::sleep_for(std::chrono::seconds(10));
  } else {
    // If all ranks failed alike, rank 0 reports it and ends this rank within that time.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    print_message(with_rank(world.rank(), failure.text) + "\n");
  }
  world.abort(failure.code);
  std::terminate();  // never reached; GCC 12 does not see that abort() does not return
}

}  // namespace trainer
