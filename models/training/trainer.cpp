#include "models/training/trainer.h"

#include <cmath>
#include <functional>
#include <utility>

#include "engine/math/elementwise.h"
#include "models/training/step_clock.h"
#include "models/training/waiting.h"

namespace trainer {

void Trainer::train(Progress& run, Hook& hooks) {
  TrainingParts& parts = parts_;
  BatchRunner& model = parts.batch;
  GradientReducer& reducer = *parts.reducer;

  bool are_arriving = false;  // parameters of the last step
  Waiting waiting(parts.session.mesh().nodes() == 1, parts.session.mesh().data().rank());
  hooks.on_start(run.step);
  if (run.is_pending) hooks.between_steps(run);
  while (!run.is_done()) {
    const std::int64_t step = run.step;
    StepTimes& times = run.begin_step(parts.rate(step));
    StepClock clock;
    parts.session.mesh().world().heartbeat().set_step(step + 1);
    hooks.before_step(step);

    reducer.take_waiting_time();  // of evaluations
    parts.take_statistics_time();
    model.clear();
    for (MicroBatch batch = parts.first_micro_batch(step); !batch.samples.empty();
         batch = parts.next_micro_batch(batch)) {
      const bool overlaps = !hooks.holds_gradients(batch);
      reducer.begin();
      model.begin(batch, parts.loader);
      const auto work = [&](int worker) {
        model.load(worker);
        model.forward(worker, &reducer);  // calls reducer.acquire()
        model.loss(worker);
        model.backward(worker, overlaps ? &reducer : nullptr);  // calls reducer.ready()
      };
      parts.session.pool().run(std::ref(work));
      if (std::exchange(are_arriving, false)) {
        reducer.receive();
        hooks.after_publish(step);
      }
      const std::chrono::nanoseconds arrivals = reducer.take_waiting_time();
      times.arrivals += arrivals;
      times.publish += arrivals;
      hooks.after_backward(batch);
      clock.lap();
      for (int worker = 0; worker < parts.session.pool().size() && !overlaps; ++worker)
        reducer.ready(worker, 0);
      const std::chrono::nanoseconds statistics = parts.take_statistics_time();
      times.statistics += statistics;
      times.reduce += statistics;
      waiting.reach_reduce(statistics);
      reducer.compress(parts.compresses(step));
      reducer.measure_error(run.report.logged && batch.is_last());
      reducer.finish();  // reduce-scatter of gradients
      parts.accumulate(batch);
      clock.lap(times.reduce);
    }
    times.data = model.data_time();

    const std::uint32_t largest = parts.shard.largest_gradient();
    Signals mine{.diverged = !is_finite_magnitude(largest) || !std::isfinite(model.own_loss()),
                 .largest = static_cast<double>(largest)};
    hooks.before_consensus(run, mine);
    clock.lap();
    waiting.reach_consensus(mine);
    const Signals all = parts.consensus.reduce(mine, model.sums());  // all-reduce of loss, metrics, signals
    clock.lap(times.consensus);
    waiting.take_from(all, parts.session.mesh().data().size(), times);
    run.slowest = waiting.slowest();
    model.scores(parts.consensus.sums(), std::ssize(parts.order.batch(step)), run.report.scores);
    run.report.compression_error = run.report.logged ? reducer.compression_error() : std::nullopt;
    run.note(run.report.scores.loss, all.stop);
    if (all.diverged) divergence_.fail(run, hooks);

    hooks.before_update(step, all);
    hooks.before_arrivals(step);
    const bool updates = !hooks.skips_update();
    if (updates) parts.update(step, run.report.rate);
    clock.lap(times.update);
    hooks.before_publish(step);
    updates ? reducer.start_publish_update() : reducer.start_publish();  // all-gather of parameters
    are_arriving =
        step + 1 < run.total_steps && !run.result.stopped && !hooks.reads_parameters(run, step + 1);
    if (!are_arriving) {
      reducer.receive();
      hooks.after_publish(step + 1);
    }
    clock.lap(times.publish);

    times.training = clock.total();
    run.end_step(model.metric_sums());
    hooks.after_step(run);
    hooks.between_steps(run);
  }
  divergence_.check_arrays(run, hooks);
  hooks.on_end(run);
}

}  // namespace trainer
