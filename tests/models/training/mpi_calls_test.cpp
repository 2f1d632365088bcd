// Counts MPI calls through MPI's own profiling interface, so it is a program of its own.
#include <mpi.h>

#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "models/runs/training_run.h"
#include "tests/support/mpi_main.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace {
long calls = 0, bytes_sent = 0;
}

// Every call by which engine/parallel waits for, sends to or receives from another rank.
extern "C" {
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++calls;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  ++calls;
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  ++calls;
  return PMPI_Ibarrier(comm, request);
}
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  ++calls;
  return PMPI_Ibcast(data, count, type, root, comm, request);
}
int MPI_Igather(const void* from, int count, MPI_Datatype type, void* to, int count_to, MPI_Datatype type_to,
                int root, MPI_Comm comm, MPI_Request* request) {
  ++calls;
  return PMPI_Igather(from, count, type, to, count_to, type_to, root, comm, request);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++calls;
  int size = 0;
  MPI_Type_size(type, &size);
  bytes_sent += static_cast<long>(count) * size;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++calls;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Testsome(int count, MPI_Request* requests, int* finished, int* which, MPI_Status* statuses) {
  ++calls;
  return PMPI_Testsome(count, requests, finished, which, statuses);
}
}

namespace trainer {
namespace {

/// Notes the calls and the bytes sent after the first step or round and after the last.
class Watch final : public Observer {
 public:
  void on_step(const StepReport& report) override {
    if (first_step_ == 0) calls_begin_ = calls, bytes_begin_ = bytes_sent, first_step_ = report.step;
    calls_end_ = calls;
    bytes_end_ = bytes_sent;
    last_step_ = report.step;
  }
  long in_steps() const { return calls_end_ - calls_begin_; }
  double bytes_of_step() const {
    return static_cast<double>(bytes_end_ - bytes_begin_) / static_cast<double>(last_step_ - first_step_);
  }

 private:
  long calls_begin_ = 0, calls_end_ = 0, bytes_begin_ = 0, bytes_end_ = 0;
  std::int64_t first_step_ = 0, last_step_ = 0;
};

/// A run of eleven steps, seven of them in an epoch, as rank 0 sees it.
Watch watched(int ranks_per_node, int threads, const std::string& mode = "") {
  const ConfigTree tree(
      {.file = "test.yaml",
       .text = "data: {dataset: digits}\nmodel: {layers: [{conv: {filters: 4, kernel: 3}}, batch_norm, relu, "
               "{residual: [{conv: {filters: 4, kernel: 3, pad: same}}, batch_norm]}, {dense: 10}], loss: "
               "softmax_cross_entropy}\ntrain: {" +
               mode +
               "batch: 16, steps: 11, metrics: [accuracy], optimizer: {sgd: "
               "{lr: 0.01, momentum: 0.9}}, evaluate: never, checkpoint: never}\n"},
      run_settings());
  Mesh mesh(test_world(), {.data = test_world().size(), .ranks_per_node = ranks_per_node});
  ThreadPool pool(threads, true);
  Data data{.name = "noise", .train = std::make_unique<NoiseDataset>(100, Shape{8, 8, 1}, 10, 1)};
  Session session(tree.root(), std::move(data), mesh, pool);
  TrainingRun trainer(tree.root(), session, {.reducer = {.bucket_floats = 100, .oversubscribed = true}});
  Watch watch;
  const TemporaryFolder folder;
  trainer.run({&watch}, folder.path());
  return watch;
}

/// MPI calls that rank 0 makes in ten steps.
long calls_in_ten_steps(int ranks_per_node, int threads, const std::string& mode = "") {
  return watched(ranks_per_node, threads, mode).in_steps();
}

}  // namespace

TEST_CASE("on one node a step of training with batch normalisation makes no MPI call", "[training]") {
  const int threads = GENERATE(1, 2);
  const std::string mode = GENERATE("", "exact: true, clip_norm: 0.1, ");
  CAPTURE(threads, mode);
  constexpr int kOneNode = 0;
  CHECK(calls_in_ten_steps(kOneNode, threads, mode) == 0);
}

TEST_CASE("between nodes a step makes MPI calls, so they are counted", "[training]") {
  const long between_nodes = calls_in_ten_steps(1, 1);
  if (test_world().rank() == 0) CHECK(between_nodes > 10);
}

TEST_CASE("a round of local SGD sends between nodes what one step of synchronous training sends",
          "[training]") {
  // Rounds of 5, 2 and 4 steps; messages of the last two are counted.
  const std::string local = "local: {steps: 5, virtual_workers: 4, outer: nesterov}, ";
  const Watch rounds = watched(1, 1, local), steps = watched(1, 1, "exact: true, virtual_workers: 4, ");
  if (test_world().rank() != 0) return;
  CHECK(rounds.in_steps() > 0);
  CHECK(rounds.bytes_of_step() < 1.1 * steps.bytes_of_step() * 2 / 6);
}

}  // namespace trainer
