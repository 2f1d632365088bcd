// Fetching of public datasets, from a server of the test.
#include "datasets/fetching/fetch.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "engine/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// What a program prints on standard output, without its last newline.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  for (int character = std::fgetc(pipe); character != EOF; character = std::fgetc(pipe))
    text += static_cast<char>(character);
  REQUIRE(pclose(pipe) == 0);
  return text.empty() ? text : text.substr(0, text.size() - 1);
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// tests/datasets/fetching/server.py, until the end of its scope.
class Server {
 public:
  explicit Server(const fs::path& folder) : folder_(folder) {
    const fs::path port = folder / "port";
    process_.reset(
        popen(fmt::format("python3 {} {} {}", FETCH_SERVER, folder.string(), port.string()).c_str(), "w"));
    for (int i = 0; i < 500 && !fs::exists(port); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    REQUIRE(fs::exists(port));
    address_ = "http://127.0.0.1:" + read_text(port) + "/";
  }
  std::string url(const std::string& path) const { return address_ + path; }
  std::string requests() const { return read_text(folder_ / "requests"); }

 private:
  struct Close {
    void operator()(std::FILE* process) const { pclose(process); }
  };
  fs::path folder_;
  std::unique_ptr<std::FILE, Close> process_;
  std::string address_;
};

/// A file of 100 kB on a server, and the folder into which a test fetches it.
struct Fetching {
  Fetching() {
    fs::create_directory(web);
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += fmt::format("{:09}\n", i);
    std::ofstream(web / "data.txt", std::ios::binary) << text;
    server.emplace(web);
  }
  /// Fetches `name` from these paths of the server.
  void run(const std::vector<std::string>& paths, const std::string& name = "data.txt",
           const std::vector<std::string>& members = {}) {
    PublicFile file{.name = name, .members = members};
    file.bytes = static_cast<std::int64_t>(fs::file_size(web / name));
    file.sha256 = output_of("sha256sum " + (web / name).string()).substr(0, 64);
    for (const std::string& path : paths) file.urls.push_back(server->url(fmt::format("{}/{}", path, name)));
    events.clear();
    fetch({.name = "set", .files = {file}}, to, [&](const FetchEvent& event) {
      if (event.kind != FetchEvent::Kind::arriving) events.push_back(event.kind);
      arrived = event.bytes;
    });
  }
  /// The one message of a fetch that fails.
  std::string failure(const std::vector<std::string>& paths) {
    try {
      run(paths);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
      return error.diagnostics().front().text();
    }
    return "";
  }
  bool is_whole() const { return read_text(to / "data.txt") == read_text(web / "data.txt"); }
  bool left_nothing_else() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(to)) names.insert(entry.path().filename().string());
    return names == std::set<std::string>{"data.txt"};
  }

  TemporaryFolder folder;
  fs::path web = folder.path() / "web", to = folder.path() / "to";
  std::optional<Server> server;
  std::vector<FetchEvent::Kind> events;
  std::int64_t arrived = 0;
};

using Kind = FetchEvent::Kind;

}  // namespace

TEST_CASE("a file is fetched once, also through a redirection", "[fetching]") {
  Fetching fetching;
  fetching.run({GENERATE("whole", "redirect", "plain")});
  CHECK(fetching.is_whole());
  CHECK(fetching.left_nothing_else());
  CHECK(fetching.events == std::vector{Kind::fetched});
  fetching.run({"absent"});
  CHECK(fetching.events == std::vector{Kind::present});
}

TEST_CASE("a download that was cut continues where it ended", "[fetching]") {
  Fetching fetching;
  CHECK(Catch::Contains("closed with 50000 bytes remaining").match(fetching.failure({"cut"})));
  CHECK_FALSE(fs::exists(fetching.to / "data.txt"));
  SECTION("by the server's rest of the file") {
    fetching.run({"whole"});
    CHECK(Catch::Contains("/whole/data.txt bytes=50000-").match(fetching.server->requests()));
  }
  SECTION("or anew, where a server cannot resume") { fetching.run({"plain"}); }
  CHECK(fetching.is_whole());
  CHECK(fetching.left_nothing_else());
}

TEST_CASE("wrong bytes are never kept, and the next mirror is tried", "[fetching]") {
  Fetching fetching;
  const std::string bad = GENERATE("corrupt", "long", "absent", "away");
  fetching.run({bad, "whole"});
  CHECK(fetching.events == std::vector{Kind::failed_mirror, Kind::fetched});
  CHECK(fetching.is_whole());
  CHECK(fetching.left_nothing_else());
}

TEST_CASE("a fetch that fails names the URL, the reason and the remedy", "[fetching]") {
  Fetching fetching;
  const auto check = [&](const std::string& path, const std::string& reason) {
    const std::string text = fetching.failure({path});
    CHECK_THAT(text, Catch::Contains("cannot fetch data.txt") &&
                         Catch::Contains(fetching.server->url(path)) && Catch::Contains(reason) &&
                         Catch::Contains(fetching.to.string()));
    CHECK_FALSE(fs::exists(fetching.to / "data.txt"));
  };
  check("corrupt", "SHA-256 is ");
  check("long", "longer than 100000 bytes");
  check("absent", "404");
  check("away", "Protocol \"file\" not supported");
}

TEST_CASE("the files of an archive are unpacked without their folders", "[fetching]") {
  Fetching fetching;
  fs::create_directory(fetching.web / "folder");
  fs::copy(fetching.web / "data.txt", fetching.web / "folder/b.bin");
  output_of("cd " + fetching.web.string() + " && tar czf set.tar.gz folder data.txt && echo done");
  fetching.run({"whole"}, "set.tar.gz", {"b.bin", "data.txt"});
  CHECK(fetching.is_whole());
  CHECK(read_text(fetching.to / "b.bin") == read_text(fetching.web / "data.txt"));
  CHECK_FALSE(fs::exists(fetching.to / "set.tar.gz.part"));
  fetching.run({"absent"}, "set.tar.gz", {"b.bin", "data.txt"});
  CHECK(fetching.events == std::vector{Kind::present});
  CHECK_THROWS_WITH(fetching.run({"whole"}, "set.tar.gz", {"c.bin"}), Catch::Contains("has no c.bin"));
}

TEST_CASE("every public dataset has files with sizes, sums and addresses", "[fetching]") {
  for (const PublicSet& set : public_sets()) {
    INFO(set.name);
    CHECK(&find_public_set(set.name) == &set);
    REQUIRE_FALSE(set.files.empty());
    for (const PublicFile& file : set.files) {
      CHECK(file.bytes > 0);
      CHECK(file.sha256.size() == 64);
      CHECK_FALSE(file.urls.empty());
    }
  }
  CHECK_THROWS_WITH(find_public_set("mnits"), Catch::Contains("mnits"));
}

}  // namespace trainer
