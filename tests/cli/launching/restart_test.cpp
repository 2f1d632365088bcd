#include "cli/launching/restart.h"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace trainer {

TEST_CASE("the survivors resume, or one rank fewer if they are unknown, in whole columns of a mesh",
          "[launching]") {
  Arguments plain, mesh;
  mesh.mesh = MeshShape{.data = 2, .model = 2};
  CHECK(ranks_to_resume_with(plain, 4, {}) == 3);
  CHECK(ranks_to_resume_with(plain, 4, {.survivors = 2}) == 2);
  // All report, although one of them made the job fail.
  CHECK(ranks_to_resume_with(plain, 4, {.survivors = 4}) == 3);
  CHECK(ranks_to_resume_with(plain, 1, {}) == 1);
  CHECK(ranks_to_resume_with(mesh, 4, {}) == 2);
  CHECK(ranks_to_resume_with(mesh, 8, {.survivors = 5}) == 4);
  CHECK(ranks_to_resume_with(mesh, 2, {}) == 1);
}

TEST_CASE("a restarted process resumes the run that was reported", "[launching]") {
  Arguments arguments{.files = {"a.yaml"}, .mesh = MeshShape{.data = 2, .model = 2}, .name = "b"};
  apply_restart(arguments, 4);
  CHECK(arguments.name == "b");
  set_restart("runs/a");
  apply_restart(arguments, 2);
  CHECK(arguments.files == std::vector<std::string>{"runs/a"});
  CHECK(arguments.name.empty());
  CHECK((arguments.mesh->data == 1 && arguments.mesh->model == 2));
  set_restart("");
  arguments = {.files = {"a.yaml"}, .name = "b"};
  apply_restart(arguments, 3);
  CHECK(arguments.files == std::vector<std::string>{"a.yaml"});
  ::unsetenv(kRestartVariable);
}

}  // namespace trainer
