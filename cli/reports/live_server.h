#pragma once

#include <functional>
#include <string>

namespace trainer {

/// Serves one page over HTTP, read-only, until it is destroyed.
class LiveServer {
 public:
  virtual ~LiveServer() = default;
  virtual int port() const = 0;
};

/// What the module libtrainer-live.so does. `host`: a name or an address of this machine; `port` 0: any that
/// is free. `page`: called on threads of the server, which have the lowest priority and get no signals.
/// Error(usage) if the address cannot be taken.
using StartLiveServer = LiveServer*(const std::string& host, int port, std::function<std::string()> page);

}  // namespace trainer

extern "C" trainer::LiveServer* trainer_start_live_server(const std::string& host, int port,
                                                          std::function<std::string()> page);
