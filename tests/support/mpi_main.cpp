#include "tests/support/mpi_main.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/parallel/mpi_world.h"
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS  // a rank that is ended because another failed has nothing to report
#include <catch2/catch.hpp>

namespace trainer {
namespace {

constexpr unsigned kSecondsPerTest = 100;  // generous, for a busy machine

/// A tag of test cases, and whether so many ranks can run them. Cases without such a tag run on any number.
struct RankTag {
  std::string_view tag;
  bool (*fits)(int ranks);
};
constexpr RankTag kRankTags[] = {{"1 rank", [](int ranks) { return ranks == 1; }},
                                 {"1-2 ranks", [](int ranks) { return ranks <= 2; }},
                                 {"2+ ranks", [](int ranks) { return ranks >= 2; }},
                                 {"4 ranks", [](int ranks) { return ranks == 4; }},
                                 {"even ranks", [](int ranks) { return ranks % 2 == 0; }},
                                 {"ranks divide 4", [](int ranks) { return 4 % ranks == 0; }}};

Communicator* world = nullptr;
std::ostringstream quiet_output;  // the output of all ranks but 0
char current_test[200] = "";

/// Ends the program from a rank that hangs, naming the test.
void end_hanging_test(int) {
  const char words[] = "\na test took too long: ";
  const bool written = write(STDERR_FILENO, words, sizeof words - 1) > 0 &&
                       write(STDERR_FILENO, current_test, std::strlen(current_test)) > 0 &&
                       write(STDERR_FILENO, "\n", 1) > 0;
  _exit(written ? 1 : 2);
}

/// Ends all ranks when one fails: the others would wait in a collective for ever.
struct EndAllOnFailure : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    std::strncpy(current_test, test.name.c_str(), sizeof current_test - 1);
    alarm(kSecondsPerTest);
  }
  void sectionEnded(const Catch::SectionStats& section) override {
    if (section.assertions.failed == 0) return;
    std::cout.flush();
    std::cerr << quiet_output.str() << "\nfailed on rank " << world->rank() << " of " << world->size()
              << "\n";
    world->abort(ExitCode::failure);
  }
  void testCaseEnded(const Catch::TestCaseStats&) override { alarm(0); }
};
CATCH_REGISTER_LISTENER(EndAllOnFailure)

/// Removes the test cases that need another number of ranks from the session, and returns their names.
std::vector<std::string> skip_other_ranks(Catch::Session& session, int ranks) {
  const auto fits = [&](const std::string& tag) {
    const auto* const found = std::ranges::find(kRankTags, tag, &RankTag::tag);
    return found == std::end(kRankTags) || found->fits(ranks);
  };
  std::vector<std::string> filter;
  const auto exclude_others = [&] {
    for (const RankTag& rank_tag : kRankTags)
      if (!rank_tag.fits(ranks)) filter.push_back("~[" + std::string(rank_tag.tag) + "]");
  };
  // A comma separates alternatives: the exclusion belongs to each of them.
  for (const std::string& given : session.configData().testsOrTags) {
    std::istringstream alternatives(given);
    for (std::string alternative; std::getline(alternatives, alternative, ',');) {
      if (!filter.empty()) filter.emplace_back(",");
      filter.push_back(alternative);
      exclude_others();
    }
  }
  if (filter.empty()) exclude_others();
  session.configData().testsOrTags = filter;
  std::vector<std::string> skipped;
  for (const Catch::TestCase& test : Catch::getAllTestCasesSorted(session.config()))
    if (!std::ranges::all_of(test.tags, fits)) skipped.push_back(test.name);
  return skipped;
}

/// The last line is read by tests/support/total.py.
void report_skipped(const std::vector<std::string>& names, int ranks) {
  if (names.empty()) return;
  for (const std::string& name : names) std::cout << "skipped: " << name << "\n";
  std::cout << names.size() << (names.size() == 1 ? " test case" : " test cases")
            << " skipped: they need another number of ranks than " << ranks << std::endl;
}

}  // namespace

Communicator& test_world() { return *world; }

}  // namespace trainer

int main(int argc, char** argv) {
  const auto world = trainer::start_world();
  trainer::world = world.get();
  std::signal(SIGALRM, trainer::end_hanging_test);
  std::streambuf* const terminal = std::cout.rdbuf();
  if (world->rank() > 0) std::cout.rdbuf(trainer::quiet_output.rdbuf());
  Catch::Session session;
  if (const int error = session.applyCommandLine(argc, argv); error != 0) return error;
  const bool is_all = session.configData().testsOrTags.empty();
  const std::vector<std::string> skipped = trainer::skip_other_ranks(session, world->size());
  const int failures = session.run();
  if (is_all) trainer::report_skipped(skipped, world->size());
  std::cout.rdbuf(terminal);
  return failures;
}
