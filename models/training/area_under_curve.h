#pragma once

#include "engine/parallel/communicator.h"
#include "models/metrics/metric.h"

namespace trainer {

/// The area under the ROC curve over the scores of all ranks (Mann-Whitney U): the fraction of pairs in the
/// right order, equal scores counting half. Pairs are counted as integers, so the bits do not depend on the
/// distribution of samples. NaN if a score is, or if one list is empty. Collective; a rank holds at most its
/// own scores and those of one other rank.
double area_under_curve(ClassScores mine, Communicator& ranks);

}  // namespace trainer
