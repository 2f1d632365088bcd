#include "cli/reports/live_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/html.h"
#include "cli/reports/report.h"
#include "engine/core/error.h"
#include "engine/system/module.h"

namespace trainer {
namespace {

std::unique_ptr<LiveServer> started([[maybe_unused]] const LiveAddress& address,
                                    [[maybe_unused]] std::function<std::string()> page) {
#ifdef TRAINER_LIVE
  const auto start =
      reinterpret_cast<StartLiveServer*>(module_function("libtrainer-live.so", "trainer_start_live_server"));
  return std::unique_ptr<LiveServer>(start(address.host, address.port, std::move(page)));
#else
  throw Error(ExitCode::usage, "this trainer was built without cpp-httplib: it has no --live",
              "install libcpp-httplib-dev and build again with -Dlive=enabled");
#endif
}

}  // namespace

LivePage::LivePage(const LiveAddress& address)
    : host_(address.host), server_(started(address, [this] { return page(); })) {}

std::string LivePage::url() const {
  const bool is_v6 = host_.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", is_v6 ? "[" : "", host_, is_v6 ? "]" : "", server_->port());
}

void LivePage::show(const std::filesystem::path& run) {
  const std::lock_guard lock(run_mutex_);
  run_ = run;
}

std::string LivePage::page() {
  // At most a twentieth of one core is spent, however long the log and however many the clients.
  constexpr auto kLeast = std::chrono::seconds(2);
  constexpr int kPause = 20;
  const std::lock_guard lock(page_mutex_);
  const Clock::time_point now = Clock::now();
  if (now < due_) return page_;
  std::filesystem::path run;
  {
    const std::lock_guard run_lock(run_mutex_);
    run = run_;
  }
  try {
    page_ = run.empty() ? html_page("trainer", "<p>The run is about to begin.</p>\n", PageUse::live)
                        : report_html(run, PageUse::live);
  } catch (const std::exception& error) {
    page_ = html_page("trainer", "<p>" + html_text(error.what()) + "</p>\n", PageUse::live);
  }
  due_ = now +
         (run.empty() ? Clock::duration{} : std::max<Clock::duration>(kLeast, kPause * (Clock::now() - now)));
  return page_;
}

}  // namespace trainer
