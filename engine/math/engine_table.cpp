#include "engine/math/engine_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "engine/core/error.h"
#include "engine/math/instruction_set.h"

namespace trainer {
namespace {

constexpr std::string_view kKernels = "# kernels: ";
constexpr std::string_view kHead = "product,m,n,k,native_us,openblas_us,engine";
constexpr std::string_view kNative = "native", kOpenblas = "openblas";
constexpr std::size_t kCells = 7;

template <class Number>
bool read_number(std::string_view cell, Number& number) {
  const char* const end = cell.data() + cell.size();
  const auto [stop, error] = std::from_chars(cell.data(), end, number);
  return error == std::errc() && stop == end && number >= Number{};
}

bool read_factors(std::string_view cell, ProductShape& shape) {
  for (const Transpose a : {Transpose::no, Transpose::yes})
    for (const Transpose b : {Transpose::no, Transpose::yes}) {
      shape.a_transposed = a;
      shape.b_transposed = b;
      if (cell == factors_text(shape)) return true;
    }
  return false;
}

bool read_row(std::string_view line, EngineTable::Row& row) {
  std::array<std::string_view, kCells> cells;
  for (std::size_t i = 0; i < kCells; ++i) {
    const std::size_t end = i + 1 < kCells ? line.find(',') : line.size();
    if (end == std::string_view::npos) return false;
    cells[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  row.by_openblas = cells[6] == kOpenblas;
  return read_factors(cells[0], row.shape) && read_number(cells[1], row.shape.m) &&
         read_number(cells[2], row.shape.n) && read_number(cells[3], row.shape.k) &&
         read_number(cells[4], row.native_us) && read_number(cells[5], row.openblas_us) &&
         (row.by_openblas || cells[6] == kNative);
}

std::string number_text(double number) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 1).ptr;
  return {text.data(), end};
}

}  // namespace

std::string factors_text(const ProductShape& shape) {
  return std::string(shape.a_transposed == Transpose::yes ? "A^T" : "A") +
         (shape.b_transposed == Transpose::yes ? " B^T" : " B");
}

std::string shape_text(const ProductShape& shape) {
  std::string text = factors_text(shape);
  for (const std::int64_t size : {shape.m, shape.n, shape.k}) text += "," + std::to_string(size);
  return text;
}

std::vector<ProductShape> EngineTable::of_openblas() const {
  std::vector<ProductShape> shapes;
  for (const Row& row : rows)
    if (row.by_openblas) shapes.push_back(row.shape);
  return shapes;
}

std::string EngineTable::text(const std::string& processor) const {
  std::string text = "# processor: " + processor + "\n" + std::string(kKernels) + engine_kernels() + "\n" +
                     std::string(kHead) + "\n";
  for (const Row& row : rows) {
    text += shape_text(row.shape);
    for (const double time : {row.native_us, row.openblas_us}) text += "," + number_text(time);
    text += "," + std::string(row.by_openblas ? kOpenblas : kNative) + "\n";
  }
  return text;
}

std::string engine_kernels() {
  return std::string(instruction_set()) + ", " + blas_version() + " " + prepare_blas();
}

EngineTable parse_engine_table(std::string_view text, const std::string& name) {
  EngineTable table;
  std::set<ProductShape> shapes;
  int number = 0;
  const auto fail = [&](std::string what, std::string help) {
    throw Error(ExitCode::usage, {Diagnostic{.what = std::move(what),
                                             .place = name + ":" + std::to_string(number),
                                             .help = std::move(help)}});
  };
  bool has_kernels = false, has_head = false;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kKernels)) {
      has_kernels = true;
      if (line.substr(kKernels.size()) != engine_kernels())
        fail("the engine table was measured with " + std::string(line.substr(kKernels.size())) +
                 ", this machine has " + engine_kernels(),
             "a table of this machine: trainer time CONFIG --engines FILE; or the same kernels "
             "(TRAINER_INSTRUCTIONS, OPENBLAS_CORETYPE)");
    } else if (line == kHead) {
      has_head = true;
    } else if (!line.starts_with('#')) {
      EngineTable::Row row;
      if (!has_kernels || !has_head || !read_row(line, row))
        fail("this is no line of an engine table", has_head
                                                       ? "A B,128,100,784,150.2,140.1,openblas"
                                                       : "a file that trainer time CONFIG --engines wrote");
      if (!shapes.insert(row.shape).second)
        fail("the engine table has this shape twice", "remove one of the lines");
      table.rows.push_back(row);
    }
  }
  if (!has_head) fail("the engine table has no lines", "a file that trainer time CONFIG --engines wrote");
  return table;
}

}  // namespace trainer
