#include "cli/commands/step_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "engine/system/host.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

/// A name of a row or of a group of rows.
Json label(const char* what, int rank, std::size_t worker, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", worker}, {"args", {{"name", name}}}};
}

}  // namespace

StepTrace::StepTrace(TrainingParts& parts, std::int64_t first, std::int64_t end)
    : parts_(parts),
      world_(parts.session.mesh().world()),
      network_(parts.session.network()),
      first_(first),
      end_(end),
      events_(static_cast<std::size_t>(parts.session.pool().size())) {
  parts.batch.watch(*this);
}

void StepTrace::watch_layers() {
  std::vector<Sequence::Entry>& entries = network_.layers().entries();
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!entries[i].traits.view)
      entries[i].layer = std::make_unique<TimedLayer>(
          std::move(entries[i].layer), [i, this](const TimedLayer::Work& work) { add(i, work); });
}

void StepTrace::add(std::size_t layer, const TimedLayer::Work& work) {
  if (!records_) return;
  events_[static_cast<std::size_t>(work.worker)].push_back(
      {network_.layers().entries()[layer].name, work.forward ? "forward" : "backward", work.begin, work.end});
}

void StepTrace::before_step(std::int64_t step) {
  if (step == first_) {
    // Clocks of hosts differ.
    world_.barrier();
    start_ = Clock::now();
  }
  records_ = step >= first_ && step < end_;
  phase_ = Clock::now();
}

void StepTrace::after_backward(const MicroBatch& batch) {
  if (batch.is_last()) end_phase("load, forward, backward");
}

/// A worker begins to load at the start of the step, or where it ended the micro-batch before.
void StepTrace::on_load(int worker, const Rows&) {
  if (!records_) return;
  std::vector<Event>& events = events_[static_cast<std::size_t>(worker)];
  const auto begin = events.empty() ? phase_ : std::max(phase_, events.back().end);
  events.push_back({"load", "data", begin, Clock::now()});
}

void StepTrace::add_exchanges() {
  if (!records_) return;
  int bucket = 0;
  for (const GradientReducer::Exchange& exchange : parts_.reducer->exchanges())
    exchanges_.push_back({fmt::format("bucket {}", bucket++), "messages", exchange.begin, exchange.end});
}

void StepTrace::end_phase(const char* name) {
  const auto now = Clock::now();
  if (records_) events_.front().push_back({name, "step", phase_, now});
  phase_ = now;
}

std::string StepTrace::json_of_rank() const {
  const auto microseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  const int rank = world_.rank();
  Json list{label("process_name", rank, 0, "rank " + std::to_string(rank) + " on " + host_name())};
  for (std::size_t worker = 0; worker < events_.size(); ++worker) {
    list.push_back(label("thread_name", rank, worker, "thread " + std::to_string(worker)));
    for (const Event& event : events_[worker])
      list.push_back({{"name", event.name},
                      {"cat", event.category},
                      {"ph", "X"},
                      {"ts", microseconds(event.begin - start_)},
                      {"dur", microseconds(event.end - event.begin)},
                      {"pid", rank},
                      {"tid", worker}});
  }
  // Buckets overlap, so they are pairs of asynchronous events.
  for (std::size_t i = 0; i < exchanges_.size(); ++i)
    for (const auto& [phase, time] : {std::pair("b", exchanges_[i].begin), {"e", exchanges_[i].end}})
      list.push_back({{"name", exchanges_[i].name},
                      {"cat", exchanges_[i].category},
                      {"ph", phase},
                      {"id", fmt::format("{}.{}", rank, i)},
                      {"ts", microseconds(time - start_)},
                      {"pid", rank},
                      {"tid", 0}});
  const std::string text = list.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

std::string StepTrace::json() const {
  const std::string mine = json_of_rank();
  const auto texts = world_.gather(std::as_bytes(std::span(mine)), 0);
  if (world_.rank() != 0) return "";
  std::string all = R"({"displayTimeUnit":"ms","traceEvents":[)";
  for (const auto& text : texts) {
    if (&text != &texts.front()) all += ",\n";
    all.append(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return all + "]}\n";
}

}  // namespace trainer
