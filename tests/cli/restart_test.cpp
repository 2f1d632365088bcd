#include "cli/restart.h"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace trainer {

TEST_CASE("a rank fewer goes on, in whole columns where there is a mesh, and one is left at least", "[cli]") {
  Arguments plain, mesh;
  mesh.mesh = MeshShape{.data = 2, .model = 2};
  CHECK(ranks_after_loss(plain, 4) == 3);
  CHECK(ranks_after_loss(plain, 1) == 1);
  CHECK(ranks_after_loss(mesh, 4) == 2);
  CHECK(ranks_after_loss(mesh, 7) == 6);
  CHECK(ranks_after_loss(mesh, 2) == 1);
}

TEST_CASE("a process that is started again goes on with the run that was noted", "[cli]") {
  const RunNote note;
  CHECK(note.run().empty());
  note_run("runs/a");
  CHECK(note.run() == "runs/a");

  Arguments arguments{.files = {"a.yaml"}, .mesh = MeshShape{.data = 2, .model = 2}, .name = "b"};
  apply_restart(arguments, 4);
  CHECK(arguments.name == "b");
  restart_from(note.run());
  apply_restart(arguments, 2);
  CHECK(arguments.files == std::vector<std::string>{note.run().string()});
  CHECK(arguments.name.empty());
  CHECK((arguments.mesh->data == 1 && arguments.mesh->model == 2));
  restart_from("");
  arguments = {.files = {"a.yaml"}, .name = "b"};
  apply_restart(arguments, 3);
  CHECK(arguments.files == std::vector<std::string>{"a.yaml"});
  ::unsetenv("TRAINER_RESTART");
}

TEST_CASE("a process that is started again counts its time from the job's start", "[cli]") {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  CHECK(start_of_job(now) == now);
  note_start(now - 100s);
  CHECK(std::chrono::abs(start_of_job(now) - (now - 100s)) < 2s);
  ::unsetenv("TRAINER_START");
}

}  // namespace trainer
