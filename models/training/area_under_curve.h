#pragma once

#include "engine/parallel/communicator.h"
#include "models/metrics/metric.h"

namespace trainer {

/// How likely a sample of the class has a higher score than one of the others, where each rank has the scores
/// of some: pairs in the right order, level ones half. Counts of pairs are whole numbers, so it has the same
/// bits however the samples are distributed. NaN when a score is, or when one of both has no samples.
/// Collective; no rank holds more than its own scores and those of another one.
double area_under_curve(ClassScores mine, Communicator& ranks);

}  // namespace trainer
