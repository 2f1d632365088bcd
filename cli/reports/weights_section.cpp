#include "cli/reports/weights_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cli/reports/html.h"
#include "cli/terminal/text.h"
#include "datasets/readers/png.h"
#include "engine/core/base64.h"
#include "models/checkpoints/checkpoint.h"
#include "models/formats/safetensors.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Kernel `number` of a convolution, (filters, channels, height, width): in colours if it has 3 channels,
/// else its first channel; black is its smallest weight, white its largest.
std::string kernel_img(const NamedTensor& weights, std::int64_t number) {
  const std::int64_t channels = weights.shape[1], height = weights.shape[2], width = weights.shape[3];
  const bool is_rgb = channels == 3;
  const std::int64_t shown = is_rgb ? 3 : 1, plane = height * width;
  const auto all = std::span(weights.values);
  const auto own = all.subspan(static_cast<std::size_t>(number * channels * plane),
                               static_cast<std::size_t>(shown * plane));
  if (!std::ranges::all_of(own, [](float weight) { return std::isfinite(weight); })) return "";
  constexpr double kWhite = 255;
  const auto [least, most] = std::ranges::minmax(own);
  const double low = least, range = static_cast<double>(most) - low, scale = range > 0 ? kWhite / range : 0;
  Image image{.height = height, .width = width, .channels = static_cast<int>(shown), .pixels = {}};
  for (std::int64_t i = 0; i < plane; ++i)
    for (std::int64_t channel = 0; channel < shown; ++channel)
      image.pixels.push_back(
          static_cast<std::uint8_t>(scale * (own[static_cast<std::size_t>(channel * plane + i)] - low)));
  return R"(<img alt="" src="data:image/png;base64,)" + base64(encoded_png(image)) + "\">";
}

std::string kernels(const std::vector<NamedTensor>& tensors) {
  constexpr std::int64_t kMost = 64, kLargest = 32;
  const auto is_convolution = [](const NamedTensor& tensor) {
    const Shape& shape = tensor.shape;
    return shape.rank() == 4 && shape[1] > 0 && std::min(shape[2], shape[3]) > 1 &&
           std::max(shape[2], shape[3]) <= kLargest;
  };
  const auto first = std::ranges::find_if(tensors, is_convolution);
  if (first == tensors.end()) return "";
  const std::int64_t count = std::min(first->shape[0], kMost);
  std::string text = fmt::format(
      "<p>The kernels of {}{}: black is the smallest weight of a kernel, white the largest.</p>\n"
      "<div class=\"kernels\">",
      html_text(first->name), first->shape[1] == 1 || first->shape[1] == 3 ? "" : ", first channel");
  for (std::int64_t i = 0; i < count; ++i) text += kernel_img(*first, i);
  return text + "</div>\n";
}

struct Magnitude {
  double root_mean_square = 0, largest = 0;
};

Magnitude magnitude_of(std::span<const float> values) {
  double squares = 0, largest = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * value;
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return {values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size())), largest};
}

/// From -largest to largest, as bars.
std::string histogram(std::span<const float> values, double largest) {
  constexpr std::size_t kBins = 25;
  if (values.size() < 2 || !(largest > 0) || !std::isfinite(largest)) return "";
  std::array<std::int64_t, kBins> counts{};
  for (const float value : values) {
    if (std::isnan(value)) continue;
    const double share = (static_cast<double>(value) / largest + 1) / 2;
    ++counts[std::min(static_cast<std::size_t>(share * kBins), kBins - 1)];
  }
  const auto highest = static_cast<double>(std::ranges::max(counts));
  std::string path = "M0 20";
  for (const std::int64_t count : counts)
    path += fmt::format("V{:.0f}h1", 20 - 20 * static_cast<double>(count) / highest);
  return fmt::format(
      R"(<svg class="spark" viewBox="0 0 {} 20" preserveAspectRatio="none"><path d="{}V20z"/></svg>)", kBins,
      path);
}

std::string tensor_table(const std::vector<NamedTensor>& tensors) {
  constexpr std::size_t kMostHistograms = 500;
  std::string text =
      "<div class=\"wide\"><table>\n<tr><th>tensor</th><th>shape</th><th>elements</th><th>root mean "
      "square</th>"
      "<th>largest</th><th>values, 0 in the middle</th></tr>\n";
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& tensor = tensors[i];
    const Magnitude magnitude = magnitude_of(tensor.values);
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        html_text(tensor.name), html_text(tensor.shape.text()),
                        grouped(std::ssize(tensor.values)), short_number(magnitude.root_mean_square),
                        short_number(magnitude.largest),
                        i < kMostHistograms ? histogram(tensor.values, magnitude.largest) : "");
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string weights_html(const fs::path& run, const std::string& checkpoint) {
  const fs::path file = run / checkpoint / "model.safetensors";
  std::error_code ignored;
  constexpr std::uintmax_t kMaxRead = std::uintmax_t{1} << 30;
  if (!fs::exists(file, ignored) || fs::file_size(file, ignored) > kMaxRead) return "";
  try {
    present_checkpoint(run / checkpoint);  // refuses links
    const std::vector<NamedTensor> tensors = read_safetensors(file).tensors;
    return "<h2>Weights</h2>\n" + kernels(tensors) +
           html_folded(fmt::format("{}, {}", checkpoint, counted(std::ssize(tensors), "tensor")),
                       tensor_table(tensors));
  } catch (const Error& error) {
    return fmt::format("<h2>Weights</h2>\n<p>{}</p>\n", html_text(error.diagnostics().front().what));
  }
}

}  // namespace trainer
