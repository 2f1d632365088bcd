#include "engine/system/topology.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "engine/system/cores.h"

namespace trainer {
namespace {

/// The cores of a machine that hwloc describes by this text.
std::vector<Core> machine(const std::string& text) {
  ::setenv("HWLOC_SYNTHETIC", text.c_str(), 1);
  const std::vector<Core> cores = read_topology();
  ::unsetenv("HWLOC_SYNTHETIC");
  return cores;
}

/// Two domains of three cores, whose hardware threads are numbered by turns, as many systems do.
std::vector<Core> two_domains() { return machine("node:2 core:3 pu:2(indexes=0,6,2,8,4,10,1,7,3,9,5,11)"); }

std::vector<int> first_threads(const std::vector<Core>& cores) {
  std::vector<int> numbers;
  numbers.reserve(cores.size());
  for (const Core& core : cores) numbers.push_back(core.hardware_threads.front());
  return numbers;
}

}  // namespace

TEST_CASE("cores are in the order of the machine, with their hardware threads and domain", "[core]") {
  const std::vector<Core> cores = two_domains();
  REQUIRE(cores.size() == 6);
  CHECK(cores[1] == Core{.hardware_threads = {2, 8}, .domain = 0});
  CHECK(first_threads(cores) == std::vector<int>{0, 2, 4, 1, 3, 5});
  CHECK(cores[3].domain == 1);
}

TEST_CASE("a core of which a process may use one hardware thread is a core", "[core]") {
  const std::vector<Core> cores = cores_with({0, 6, 9, 40}, two_domains());
  CHECK(cores == std::vector<Core>{{.hardware_threads = {0, 6}, .domain = 0},
                                   {.hardware_threads = {9}, .domain = 1},
                                   {.hardware_threads = {40}}});
}

TEST_CASE("by default a rank has a thread for each core of its part of the machine", "[core]") {
  const Placement first = place({.cores = two_domains(), .local_rank = 0, .local_ranks = 2});
  const Placement second = place({.cores = two_domains(), .local_rank = 1, .local_ranks = 2});
  CHECK(first.threads == 3);
  CHECK(first_threads(first.cores) == std::vector<int>{0, 2, 4});
  CHECK(first_threads(second.cores) == std::vector<int>{1, 3, 5});
}

TEST_CASE("a worker stays in one domain, in that of all workers if it has cores for them", "[core]") {
  const Placement all = place({.cores = two_domains()});
  CHECK(all.threads == 6);
  CHECK(first_threads(cores_of_worker(all, 2)) == std::vector<int>{0, 2, 4});
  CHECK(first_threads(cores_of_worker(all, 3)) == std::vector<int>{1, 3, 5});
  const Placement few = place({.cores = two_domains(), .threads = 3});
  CHECK(cores_of_worker(few, 2) == cores_of_worker(few, 0));
  const Placement many = place({.cores = two_domains(), .threads = 12});
  CHECK(first_threads(cores_of_worker(many, 11)) == std::vector<int>{1, 3, 5});
}

TEST_CASE("this machine has cores", "[core]") { CHECK_FALSE(read_topology().empty()); }

}  // namespace trainer
