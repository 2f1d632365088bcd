#pragma once

#include <vector>

#include "models/training/hook.h"

namespace trainer {

/// Notifies observers, on world rank 0 only.
class Observers final : public Hook {
 public:
  Observers(const std::vector<Observer*>& observers, bool is_here) {
    if (is_here) observers_ = observers;
  }

  /// event(observer) for each.
  template <class Event>
  void notify(const Event& event) const {
    for (Observer* observer : observers_) event(*observer);
  }
  void after_step(Progress& run) override {
    notify([&](Observer& observer) { observer.on_step(run.report); });
  }

 private:
  std::vector<Observer*> observers_;
};

}  // namespace trainer
