#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "cli/reports/live_server.h"
#include "cli/terminal/arguments.h"

namespace trainer {

/// The report of a run under way as a page that renews itself, served over HTTP until this object is
/// destroyed. It reads files of the run directory and writes none.
class LivePage {
 public:
  /// Error(usage) if the address cannot be taken, or the program was built without cpp-httplib.
  explicit LivePage(const LiveAddress& address);

  /// "http://127.0.0.1:8090/"
  std::string url() const;
  /// From here on the page is about this run directory.
  void show(const std::filesystem::path& run);

 private:
  using Clock = std::chrono::steady_clock;

  std::string page();

  std::string host_;
  std::mutex run_mutex_, page_mutex_;
  std::filesystem::path run_;  ///< empty: none yet
  std::string page_;
  Clock::time_point due_ = Clock::now();  ///< of the next page
  std::unique_ptr<LiveServer> server_;    ///< destroyed first: its threads call page()
};

}  // namespace trainer
