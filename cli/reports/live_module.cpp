// The module libtrainer-live.so: cpp-httplib and its libraries would take longer to load than the program.
#include <fmt/format.h>
#include <httplib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/reports/live_server.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

/// httplib::Server ignores SIGPIPE in the whole process, for which `trainer ... | head` has a use.
class KeptPipeSignal {
 public:
  KeptPipeSignal() { sigaction(SIGPIPE, nullptr, &before_); }
  ~KeptPipeSignal() { sigaction(SIGPIPE, &before_, nullptr); }
  KeptPipeSignal(const KeptPipeSignal&) = delete;
  KeptPipeSignal& operator=(const KeptPipeSignal&) = delete;

 private:
  struct sigaction before_ {};
};

/// The host of a request as a browser sends it, without its port.
std::string host_of(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  const std::size_t colon = host.rfind(':');
  return colon == std::string::npos || host.ends_with(']') ? host : host.substr(0, colon);
}

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost" || host == "::1" || host == "[::1]";
}

class HttpServer final : public LiveServer {
 public:
  HttpServer(const std::string& host, int port, std::function<std::string()> page) {
    {
      const KeptPipeSignal kept;
      server_ = std::make_unique<httplib::Server>();
    }
    constexpr int kThreads = 2, kSeconds = 5;
    constexpr std::size_t kLongestBody = 1024;
    server_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // Not SO_REUSEPORT, the default, with which two runs share a port.
    server_->set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server_->set_keep_alive_max_count(1);
    server_->set_read_timeout(kSeconds);
    server_->set_write_timeout(kSeconds);
    server_->set_payload_max_length(kLongestBody);
    // A page of another site whose name leads here (DNS rebinding) may not read the report.
    server_->set_pre_routing_handler(
        [is_private = is_loopback(host)](const httplib::Request& request, httplib::Response& response) {
          if (!is_private || is_loopback(host_of(request)))
            return httplib::Server::HandlerResponse::Unhandled;
          response.status = 403;
          return httplib::Server::HandlerResponse::Handled;
        });
    server_->Get("/", [page = std::move(page)](const httplib::Request&, httplib::Response& response) {
      response.set_header("Content-Security-Policy",
                          "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
      response.set_header("Cache-Control", "no-store");
      response.set_header("X-Content-Type-Options", "nosniff");
      response.set_content(page(), "text/html; charset=utf-8");
    });
    bind(host, port);
    start();
  }

  ~HttpServer() override {
    server_->stop();
    thread_.join();
  }

  int port() const override { return port_; }

 private:
  void bind(const std::string& host, int port) {
    errno = 0;
    if (port == 0)
      port_ = server_->bind_to_any_port(host.c_str());
    else
      port_ = server_->bind_to_port(host.c_str(), port) ? port : -1;
    if (port_ > 0) return;
    const int error = errno;
    throw Error(
        ExitCode::usage,
        fmt::format("--live cannot serve at {}:{}: {}", host, port,
                    error == 0 ? "this machine has no such address" : std::generic_category().message(error)),
        error == EADDRINUSE ? "another port, or 0 for any that is free" : "--live 8090");
  }

  void start() {
    sigset_t all{}, before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] {
      constexpr int kLowest = 19;
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowest);
      server_->listen_after_bind();
      has_ended_ = true;
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // stop() has no effect before.
    while (!server_->is_running() && !has_ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::unique_ptr<httplib::Server> server_;
  int port_ = -1;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

}  // namespace
}  // namespace trainer

trainer::LiveServer* trainer_start_live_server(const std::string& host, int port,
                                               std::function<std::string()> page) {
  return new trainer::HttpServer(host, port, std::move(page));
}
