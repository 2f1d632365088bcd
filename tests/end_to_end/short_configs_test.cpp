// Configurations of several files, and values from the environment.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {

TEST_CASE("several files and environment variables make a run that repeats without them", "[short-configs]") {
  const SmallRun run;
  write_text(run.path("b.yaml"), "train:\n  epochs: 2\n  seed: ${SEED}\n");
  const ProgramResult both = run.shell("SEED=3 $TRAINER a.yaml b.yaml -o both");
  INFO(both.err);
  REQUIRE(both.code == 0);
  CHECK_THAT(both.out, Catch::Contains("2 epochs x 5 steps") && Catch::Contains(", seed 3\n"));
  REQUIRE(run.trainer({"both/config.yaml", "-o", "again"}).code == 0);
  const std::string weights = "checkpoints/last/model.safetensors";
  CHECK(read_text(run.path("both/" + weights)) == read_text(run.path("again/" + weights)));
  CHECK_THAT(run.trainer({"both", "b.yaml"}).err,
             Catch::Contains("both resumes with the configuration that it has, without `b.yaml`"));
  CHECK_THAT(run.trainer({"a.yaml", "b.yaml"}).err,
             Catch::Contains("the environment variable `SEED` is not set\n  --> b.yaml:3:9"));
  CHECK(run.shell("SEED=3 $TRAINER check a.yaml b.yaml").code == 2);
  CHECK(run.shell("SEED=3 $TRAINER check --merge a.yaml b.yaml").out.find("a.yaml b.yaml: ok\n") == 0);
  const ProgramResult sweep = run.shell("SEED=3 $TRAINER sweep a.yaml b.yaml -s train.batch=[8,10] -o sweep");
  CHECK(sweep.out.find("sweep         a.yaml b.yaml: 2 trials") != std::string::npos);
  CHECK(run.trainer({"sweep", "sweep"}).code == 0);
}

}  // namespace trainer
