// RNN, LSTM and GRU: x (T, 1, inputs) -> y (T, directions, 1, units).
#include <fmt/format.h>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kRecurrent = R"c(
enum cell { RNN_TANH, RNN_RELU, RNN_SIGMOID, LSTM, GRU };

static float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }

/* One direction along a sequence; y has the outputs of a time step `width` apart. Gates are in the order of ONNX:
   i o f c of LSTM, z r h of GRU. `work` has (2 gates + 2) units. */
static void recurrent(enum cell cell, const float *x, const float *w, const float *r, const float *bias, float *y,
                      float *work, int steps, int inputs, int units, int width, int reversed)
{
  const int gates = (cell == LSTM ? 4 : cell == GRU ? 3 : 1) * units;
  float *by_input = work, *by_state = work + gates, *h = work + 2 * gates, *c = h + units;
  for (int u = 0; u < 2 * units; ++u) h[u] = 0.0f;
  for (int step = 0; step < steps; ++step) {
    const int time = reversed ? steps - 1 - step : step;
    for (int g = 0; g < gates; ++g) {
      by_input[g] = bias ? bias[g] : 0.0f;
      by_state[g] = bias ? bias[gates + g] : 0.0f;
      for (int i = 0; i < inputs; ++i) by_input[g] += w[g * inputs + i] * x[time * inputs + i];
      for (int u = 0; u < units; ++u) by_state[g] += r[g * units + u] * h[u];
    }
    for (int u = 0; u < units; ++u) {
      const float sum = by_input[u] + by_state[u];
      if (cell == LSTM) {
        const float out = logistic(by_input[units + u] + by_state[units + u]);
        const float keep = logistic(by_input[2 * units + u] + by_state[2 * units + u]);
        c[u] = keep * c[u] + logistic(sum) * tanhf(by_input[3 * units + u] + by_state[3 * units + u]);
        h[u] = out * tanhf(c[u]);
      } else if (cell == GRU) {
        const float keep = logistic(sum), reset = logistic(by_input[units + u] + by_state[units + u]);
        h[u] = (1.0f - keep) * tanhf(by_input[2 * units + u] + reset * by_state[2 * units + u]) + keep * h[u];
      } else {
        h[u] = cell == RNN_TANH ? tanhf(sum) : cell == RNN_SIGMOID ? logistic(sum) : sum < 0.0f ? 0.0f : sum;
      }
      y[time * width + u] = h[u];
    }
  }
}
)c";

std::string call_recurrent(const CNode& node) {
  const std::int64_t steps = node.extents()[0], inputs = node.extents()[2], directions = node.output()[1],
                     units = node.output()[3];
  std::string cell = node.operation();
  if (cell == "RNN") {
    const std::string activation = node.words("activations").at(0);
    cell = activation == "Tanh" ? "RNN_TANH" : activation == "Relu" ? "RNN_RELU" : "RNN_SIGMOID";
  }
  const std::int64_t gates = node.extents(1)[1];
  std::string statements = fmt::format("{{\n    static float work[{}];\n", 2 * gates + 2 * units);
  for (std::int64_t d = 0; d < directions; ++d)
    statements +=
        fmt::format("    recurrent({}, {}, {} + {}, {} + {}, {}, {} + {}, work, {}, {}, {}, {}, {});\n", cell,
                    node.x(0), node.x(1), d * gates * inputs, node.x(2), d * gates * units,
                    node.inputs() > 3 ? fmt::format("{} + {}", node.x(3), d * 2 * gates) : "0", node.y(),
                    d * units, steps, inputs, units, directions * units, d);
  return statements + "  }";
}

constexpr COperation kRecurrentOperations[] = {{"RNN", kRecurrent, call_recurrent},
                                               {"LSTM", kRecurrent, call_recurrent},
                                               {"GRU", kRecurrent, call_recurrent}};

}  // namespace

std::span<const COperation> recurrent_operations() { return kRecurrentOperations; }

}  // namespace trainer
