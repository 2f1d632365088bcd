// Ranks and their launcher: cores, hosts, signals.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {

namespace fs = std::filesystem;

TEST_CASE("ranks stay on the cores that the launcher was given", "[launching]") {
  const SmallRun run;
  const ProgramResult result = run.shell(
      "core=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')\n"
      "taskset -c $core $TRAINER -n 2 --datapar --threads 2 a.yaml");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK((result.out + result.err).find("2 processes x 2 threads on 1 core:") != std::string::npos);
}

TEST_CASE("trainer -n that is stopped lets its ranks end by themselves", "[launching]") {
  const SmallRun run;
  const ProgramResult result = run.shell(
      "$TRAINER -n 2 --datapar a.yaml -q -s train.steps=1000000000 -s train.evaluate=never -s "
      "train.checkpoint=never & run=$!; until [ -e runs/a/results.csv ]; do sleep 0.1; done; kill -TERM "
      "$run; "
      "wait $run");
  CHECK_FALSE(result.timed_out);
  CHECK(result.code == 1);  // 130 stands for a saved run
  CHECK(result.err.find("; nothing is saved (train.checkpoint: never)\n") != std::string::npos);
}

TEST_CASE("a host without room in /dev/shm trains by MPI, and the header reports it", "[launching]") {
  const SmallRun run;
  const std::string small = "unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm && ";
  if (run.shell(small + "true'").code != 0) return;  // only root may
  // MPICH itself cannot begin without room there.
  if (run.trainer({"info"}).out.find("MPICH") != std::string::npos) return;
  // The folder of this test may itself lie in /dev/shm.
  const ProgramResult result = run.shell("disk=$(mktemp -d -p /tmp); cp -r . $disk; cd $disk; " + small +
                                         "$TRAINER -n 2 --datapar a.yaml'; code=$?; rm -r $disk; exit $code");
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("/dev/shm has too little room: gradients travel by MPI") != std::string::npos);
  CHECK(run.trainer({"a.yaml", "--datapar"}, 2).out.find("/dev/shm") == std::string::npos);
}

TEST_CASE("exit codes of processes arrive where the parent ignores SIGCHLD", "[launching]") {
  const SmallRun run;
  // dash does not ignore it.
  const auto code_of = [&](const std::string& words) {
    return run.shell("bash -c \"trap '' CHLD; exec $TRAINER " + words + "\"").code;
  };
  CHECK(code_of("-n 2 --datapar a.yaml") == 0);
  CHECK(code_of("-n 2 --datapar a.yaml -s train.optimizer.sgd.lr=1e30") == 5);
}

TEST_CASE("processes do not start processes", "[launching]") {
  const SmallRun run;
  const ProgramResult result = run.shell("$MPIRUN -n 2 $TRAINER -n 2 --datapar a.yaml");
  CHECK(result.code == 4);
  CHECK(occurrences(result.err, "error: ") == 1);
}

TEST_CASE("ranks on other hosts keep a launcher without local children alive", "[launching]") {
  const SmallRun run;
  if (run.trainer({"info"}).out.find("MPICH") != std::string::npos) return;
  // In place of ssh, so that the launcher starts its ranks through a process that leaves it.
  write_text(run.path("shell_of_host"), "#!/bin/sh\nshift\nexec setsid sh -c \"$*\"\n");
  fs::permissions(run.path("shell_of_host"), fs::perms::owner_all);
  const ProgramResult result = run.shell(
      "export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$PWD/shell_of_host OMPI_MCA_plm_rsh_no_tree_spawn=1\n"
      "OMPI_MCA_orte_default_hostfile=$PWD/hosts; export OMPI_MCA_orte_default_hostfile; echo elsewhere "
      "slots=2 > hosts\n"
      "$TRAINER -n 2 --datapar a.yaml -q -s train.steps=1000000000 -s train.evaluate=never -s "
      "train.log_every=1000000 & "
      "run=$!; until [ -e runs/a/results.csv ]; do sleep 0.1; done; sleep 13; kill -TERM $run; wait $run",
      60);
  INFO(result.err);
  CHECK(result.code == 130);
}

TEST_CASE("after SIGKILL of launcher and ranks, the next job removes the files of the one before",
          "[launching]") {
  const SmallRun run;
  if (run.trainer({"info"}).out.find("MPICH") != std::string::npos) return;
  fs::create_directory(run.path("tmp"));
  const std::string endless =
      "export TMPDIR=$PWD/tmp; $TRAINER -n 2 --datapar a.yaml -q -s train.steps=1000000000 -s "
      "train.evaluate=never "
      "& run=$!; until [ -e runs/a/results.csv ]; do sleep 0.1; done; ls tmp; ";
  const ProgramResult killed = run.shell(
      endless +
          "all=$(grep -lzxF \"HOME=$HOME\" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | grep -vx $$); "
          "kill -KILL $all 2>/dev/null; wait $run; "
          // They hold locks until their memory is given back.
          "for one in $all; do while [ -e /proc/$one/exe ]; do sleep 0.05; done; done; "
          "ls -d tmp/trainer-* > left",
      30);
  const std::string folder = killed.out.substr(0, killed.out.find('\n'));
  INFO(killed.out << killed.err);
  REQUIRE(folder.starts_with("trainer-"));
  CHECK(read_text(run.path("left")) == "tmp/" + folder + "\n");
  CHECK(fs::exists("/dev/shm/" + folder));
  CHECK(run.shell("TMPDIR=$PWD/tmp $TRAINER -n 2 --datapar a.yaml -q -o next").code == 0);
  CHECK(fs::is_empty(run.path("tmp")));
  CHECK_FALSE(fs::exists("/dev/shm/" + folder));
}

}  // namespace trainer
