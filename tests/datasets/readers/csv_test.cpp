#include "datasets/readers/csv_table.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

const std::string kFlowers =
    "length,width,kind\n"
    "5.1,3.5,rose\n"
    "4,-2e1,lily\n"
    "\"7\",+0.5,rose\n";

std::string settings(const std::string& csv, const TemporaryDirectory& directory,
                     const std::string& more = "") {
  return "dataset: {csv: {" + csv + "}}\npath: " + directory.path() + more;
}

float target_of(const Dataset& dataset, std::int64_t index) {
  float value = 0;
  dataset.read_targets({&index, 1}, {&value, dataset.target().with_front(1)});
  return value;
}

}  // namespace

TEST_CASE("a table gives a sample a line, with its classes in order", "[csv]") {
  const TemporaryDirectory directory;
  const bool gzip = GENERATE(false, true);
  directory.write(gzip ? "a.csv.gz" : "a.csv", gzip ? gzipped(bytes_of(kFlowers)) : bytes_of(kFlowers));
  const Data data = opened(settings("train: a.csv, target: kind", directory));
  CHECK(data.train->size() == 3);
  CHECK(data.train->sample() == Shape{2});
  CHECK(data.train->classes() == 2);
  CHECK(data.train->label(0) == 1);
  CHECK(data.train->label(1) == 0);
  CHECK(read_one(*data.train, 1) == std::vector<float>{4, -20});
  CHECK(read_one(*data.train, 2) == std::vector<float>{7, 0.5f});
  CHECK(data.test == nullptr);
}

TEST_CASE("classes that are integers are in order of number", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("1,10\n2,9\n3,-1\n4,9\n"));
  const Data data = opened(settings("train: a.csv, target: 2, header: 0", directory));
  CHECK(data.train->classes() == 3);
  CHECK(data.train->label(0) == 2);
  CHECK(data.train->label(1) == 1);
  CHECK(data.train->label(2) == 0);
}

TEST_CASE("several columns are targets in the order in which they are named", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,x,b,c\n1,10,2,3\n4,20,5,6\n"));
  const Data data = opened(settings("train: a.csv, target: [c, a, '3'], targets: numbers", directory));
  CHECK(data.train->sample() == Shape{1});
  REQUIRE(data.train->target() == Shape{3});
  std::vector<float> values(6);
  const std::vector<std::int64_t> indices{1, 0};
  data.train->read_targets(indices, {values.data(), {2, 3}});
  CHECK(values == std::vector<float>{6, 4, 5, 3, 1, 2});
  CHECK_THROWS_WITH(opened(settings("train: a.csv, target: [a, b]", directory)),
                    Catch::Contains("labels are one column, but 2 are named"));
  CHECK_THROWS_WITH(opened(settings("train: a.csv, target: [], targets: numbers", directory)),
                    Catch::Contains("names no column"));
}

TEST_CASE("targets can be the samples themselves, as they are normalised but not augmented", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,b,c\n1,10,x\n3,20,y\n5,30,x\n"));
  const Data data =
      opened(settings("train: a.csv, target: c", directory, "\ntargets: input\nnormalize: per_channel"));
  CHECK(data.train->classes() == 0);
  REQUIRE(data.train->target() == Shape{2});
  std::vector<float> values(2);
  const std::int64_t index = 2;
  data.train->read_targets({&index, 1}, {values.data(), {1, 2}});
  CHECK(values == read_one(*data.train, 2));
  CHECK(values[0] == Approx(std::sqrt(1.5)));
}

TEST_CASE("targets can be numbers, also of a part of the samples", "[csv]") {
  const TemporaryDirectory directory;
  std::string text = "x;name;y\r\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + ";\"a;b\";" + std::to_string(3 * i) + ".5\r\n";
  directory.write("a.csv", bytes_of("\xEF\xBB\xBF" + text));
  const Data data = opened(
      settings("train: a.csv, test: a.csv, target: y, targets: numbers, separator: semicolon, ignore: [name]",
               directory, "\nvalidation: 0.2\nnormalize: per_channel"));
  CHECK(data.train->classes() == 0);
  CHECK(data.train->target() == Shape{1});
  CHECK(data.train->sample() == Shape{1});
  CHECK(data.train->size() == 80);
  CHECK(target_of(*data.test, 42) == 126.5f);
  // The same flower has the same values in either split, and neighbours differ by as much.
  const float step = read_one(*data.test, 1)[0] - read_one(*data.test, 0)[0];
  for (std::int64_t i = 0; i < 20; ++i) {
    const float x = (target_of(*data.validation, i) - 0.5f) / 3;
    CHECK(read_one(*data.validation, i)[0] == Approx(read_one(*data.test, 0)[0] + x * step).margin(1e-5));
  }
}

TEST_CASE("a bad table is an error that names the line", "[csv]") {
  const TemporaryDirectory directory;
  const auto [name, text, message] = GENERATE(table<std::string, std::string, std::string>({
      {"short row", "a,b,y\n1,2,3\n1,2\n",
       "a.csv:3\n   = all lines must have as many fields as the first sample"},
      {"long row", "a,b,y\n1,2,3,4\n", "there is no column `y`"},
      {"longer row", "a,b,y\n1,2,3\n1,2,3,4\n", "4 fields, 3 expected"},
      {"blank line", "a,b,y\n1,2,3\n\n4,5,6\n", "a.csv:3"},
      {"no number", "a,b,y\n1,x,3\n", "column 2 requires a number, got `x`"},
      {"nothing", "a,b,y\n1,,3\n", "missing values"},
      {"spaces only", "a,b,y\n1,  ,3\n", "column 2 requires a number"},
      {"not a number", "a,b,y\n1,nan,3\n", "column 2 requires a number, got `nan`"},
      {"infinity", "a,b,y\n1,-inf,3\n", "column 2 requires a number"},
      {"too large", "a,b,y\n1,1e39,3\n", "column 2 requires a number"},
      {"two signs", "a,b,y\n1,+-1,3\n", "column 2 requires a number"},
      {"hexadecimal", "a,b,y\n0x10,1,3\n", "column 1 requires a number"},
      {"two numbers", "a,b,y\n1 2,1,3\n", "column 1 requires a number"},
      {"header alone", "a,b,y\n", "holds no sample"},
      {"no such column", "a,b,z\n1,2,3\n", "there is no column `y`"},
      {"open quote", "a,b,y\n1,\"2,3\n", "a quote is not closed"},
      {"text after a quote", "a,b,y\n1,\"2\"3,3\n", "text after a closing quote"},
      {"quote inside", "a,b,y\n1,2\"3,3\n", "a quote inside a field"},
      {"byte 0", std::string("a,b,y\n1,2\0,3\n", 13), "holds a byte 0"},
      {"lines in quotes count", "a,b,y\n1,2,\"3\n\n\"\n1,x,3\n", "a.csv:5"},
      {"other line ends", "a,b,y\r1,2,3\rx,2,3\r", "a.csv:3"},
      {"no label", "a,b,y\n1,2,3\n1,2,\n", "column 3 requires a label, got ``\n  --> "},
      {"blank label", "a,b,y\n1,2, \t\n", "column 3 requires a label, got ``"},
      {"label that is not a number", "a,y,b\n1,2,3\n1,NaN,3\n", "column 2 requires a label, got `NaN`"},
      {"two columns of one name", "y,b,y\n1,2,3\n", "columns 1 and 3 are both named `y`"},
      {"two inputs of one name", "a,y, a\n1,2,3\n", "columns 1 and 3 are both named `a`"},
      {"target alone", "y\n1\n", "no input column is left"},
  }));
  INFO(name);
  directory.write("a.csv", bytes_of(text));
  CHECK_THAT(data_error([&] { opened(settings("train: a.csv, target: y", directory)); }),
             Catch::Contains(message));
}

TEST_CASE("spaces around names and labels do not count", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("x, kind\n1, 1\n2,1 \n3,\t2\n"));
  const Data data = opened(settings("train: a.csv, target: kind", directory));
  CHECK(data.train->classes() == 2);
  CHECK(data.train->info().class_names == std::vector<std::string>{"1", "2"});
  CHECK(data.train->label(0) == data.train->label(1));
}

TEST_CASE("a column of a repeated name can be ignored by its number", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("x,y,y,,\n1,5,6,7,8\n"));
  const Data data = opened(settings("train: a.csv, target: 2, ignore: ['3']", directory));
  CHECK(read_one(*data.train, 0) == std::vector<float>{1, 7, 8});
  CHECK_THAT(data_error([&] { opened(settings("train: a.csv, target: x, ignore: [y]", directory)); }),
             Catch::Contains("columns 2 and 3 are both named `y`"));
}

TEST_CASE("columns that have numbers for names may be alike unless a setting means one of them", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("0.5,0.5,7\n1,2,3\n"));
  CHECK(read_one(*opened(settings("train: a.csv, target: 3", directory)).train, 0) ==
        std::vector<float>{1, 2});
  CHECK_THAT(data_error([&] { opened(settings("train: a.csv, target: '0.5'", directory)); }),
             Catch::Contains("columns 1 and 2 are both named `0.5`"));
}

TEST_CASE("a missing value of several targets names its column", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,b,c\n1,2,3\n4,5,nan\n"));
  CHECK_THAT(
      data_error([&] { opened(settings("train: a.csv, target: [b, c], targets: numbers", directory)); }),
      Catch::Contains("target column 3 requires a number, got `nan`") && Catch::Contains("a.csv:3"));
}

TEST_CASE("a column or class that the other file lacks is an error", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of(kFlowers));
  const auto error = [&](const std::string& csv) {
    return data_error([&] { opened(settings("train: a.csv, " + csv, directory)); });
  };
  CHECK_THAT(error("target: 4"), Catch::Contains("there is no column `4`") &&
                                     Catch::Contains("its columns are `length`, `width`, `kind`"));
  CHECK_THAT(error("target: 0"), Catch::Contains("there is no column `0`"));
  CHECK_THAT(error("target: kind, ignore: [colour]"), Catch::Contains("there is no column `colour`"));
  CHECK_THAT(error("target: kind, targets: numbers"),
             Catch::Contains("target column 3 requires a number, got `rose`"));
  directory.write("b.csv", bytes_of("length,width,kind\n1,2,rose\n1,2,tulip\n"));
  CHECK_THAT(error("test: b.csv, target: kind"),
             Catch::Contains("`tulip` is none of the 2 classes") && Catch::Contains("b.csv:3"));
  directory.write("c.csv", bytes_of("length,kind\n1,rose\n"));
  CHECK_THAT(error("test: c.csv, target: kind"), Catch::Contains("1 input columns here, 2 in training"));
  CHECK_THAT(error("test: absent.csv, target: kind"), Catch::Contains("absent.csv"));
  CHECK_THAT(data_error([&] { opened(settings("train: none.csv, target: kind", directory)); }),
             Catch::Contains("looked for"));
}

TEST_CASE("no flipped byte of a table does worse than an error", "[csv]") {
  const TemporaryDirectory directory;
  for (std::size_t position = 0; position < kFlowers.size(); ++position)
    for (const int change : {1, 16, 128, 255}) {
      std::string text = kFlowers;
      text[position] = static_cast<char>(text[position] ^ change);
      const std::string path = directory.write("a.csv", bytes_of(text));
      try {
        const CsvTable table = read_csv(path, {.targets = {"3"}});
        CHECK(std::ssize(table.values) == table.rows() * table.columns);
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::data);
      }
    }
}

}  // namespace trainer
