#include "cli/launching/rank_messages.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a launcher learns how the run ended and which ranks survive on which hosts", "[launching]") {
  CHECK(read_reports({}).survivors == 0);
  CHECK_FALSE(read_reports({"run stopped"}).stopped);
  CHECK(read_reports({"run runs/a", "stopped"}).stopped);
  const RankReports unsaved = read_reports({"run runs/a", "stopped unsaved"});
  CHECK((unsaved.stopped_unsaved && !unsaved.stopped));
  CHECK(read_reports({"run runs/a", "finished"}).finished);
  CHECK_FALSE(read_reports({"run lost", "survivor 0 1 vm"}).lost);
  CHECK(read_reports({"lost", "survivor 0 1 vm"}).lost);
  const RankReports alone =
      read_reports({"run runs/a", "survivor 0 1 vm", "survivor 2 1 vm", "survivor 2 1 vm"});
  CHECK(alone.run == "runs/a");
  CHECK(alone.survivors == 2);
  CHECK(alone.hosts.empty());
  const RankReports spread =
      read_reports({"survivor 5 3 h3", "run my runs/b", "survivor 0 3 h1", "survivor 1 3 h1", "survivor x"});
  CHECK(spread.run == "my runs/b");
  CHECK(spread.survivors == 3);
  REQUIRE(spread.hosts.size() == 2);
  CHECK((spread.hosts[0].host == "h1" && spread.hosts[0].ranks == 2));
  CHECK((spread.hosts[1].host == "h3" && spread.hosts[1].ranks == 1));
  CHECK(list_of(spread.hosts) == "h1:2,h3:1");
}

TEST_CASE("the path of a run may hold any character", "[launching]") {
  CHECK(read_reports({"run a%0ab%25%1b"}).run == "a\nb%\x1b");
}

}  // namespace trainer
