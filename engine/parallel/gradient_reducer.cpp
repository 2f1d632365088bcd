#include "engine/parallel/gradient_reducer.h"

#include <utility>

#include "engine/parallel/low_rank_reducer.h"
#include "engine/parallel/mpi_reducer.h"
#include "engine/parallel/ordered_reducer.h"
#include "engine/parallel/parameter_gathering.h"
#include "engine/parallel/sign_reducer.h"
#include "engine/parallel/window_reducer.h"

namespace trainer {

std::unique_ptr<GradientReducer> make_gradient_reducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                                                       const std::vector<CompressedParameter>& parameters) {
  if (window.compression().method == Compression::Method::powersgd)
    return std::make_unique<LowRankReducer>(mesh, pool, window, parameters);
  if (window.compression().method == Compression::Method::one_bit)
    return std::make_unique<SignReducer>(mesh, pool, window, parameters);
  if (!window.plan().several_nodes() || window.plan().replicated())
    return std::make_unique<WindowReducer>(pool, window);
  std::unique_ptr<GradientReducer> reducer;
  if (window.virtual_workers().exact)
    reducer = std::make_unique<OrderedReducer>(mesh, pool, window);
  else
    reducer = std::make_unique<MpiReducer>(mesh, pool, window);
  if (window.shards_parameters())
    reducer = std::make_unique<ParameterGathering>(std::move(reducer), mesh, pool, window);
  return reducer;
}

}  // namespace trainer
