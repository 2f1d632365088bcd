#include <numeric>
#include <set>

#include "datasets/readers/csv_layout.h"
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

float target_of(const Dataset& dataset, std::int64_t index) { return targets_of(dataset, index).at(0); }

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
  const Data data = opened(settings("train: a.csv, target: 2", directory));
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
  CHECK(data.train->info().class_names == std::vector<std::string>{"c", "a", "b"});
  CHECK_THROWS_WITH(opened(settings("train: a.csv, target: [a, b]", directory)),
                    Catch::Contains("labels are one column, but 2 are named"));
  CHECK_THROWS_WITH(opened(settings("train: a.csv, target: [], targets: numbers", directory)),
                    Catch::Contains("names no column"));
}

TEST_CASE("a column of weights is no input, and goes with its rows into every split", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,w,c\n1,0.5,x\n2,0,y\n"));
  directory.write("b.csv", bytes_of("a,w,c\n3,1e3,x\n4,2,y\n"));
  const std::string form = "target: c, weight: w", files = "train: [a.csv, b.csv], test: b.csv, ";
  const Data data = opened(settings(files + form, directory, "\nnormalize: per_channel\nvalidation: 0.5"));
  CHECK(data.train->sample() == Shape{1});
  REQUIRE(data.train->info().has_weights);
  REQUIRE(data.train->size() + data.validation->size() == 4);
  std::multiset<float> weights;
  for (const Dataset* const split : {data.train.get(), data.validation.get()})
    for (std::int64_t i = 0; i < split->size(); ++i) weights.insert(split->weight(i));
  CHECK(weights == std::multiset<float>{0, 0.5f, 2, 1000});
  CHECK(data.test->weight(1) == 2);

  for (const auto& [text, message] :
       {std::pair{"a,w,c\n1,-1,x\n2,1,y\n", "column 2 requires a weight of at least 0, got `-1`"},
        {"a,w,c\n1,1,x\n2,,y\n", "column 2 requires a weight of at least 0, got ``"},
        {"a,w,c\n1,inf,x\n2,1,y\n", "column 2 requires a weight of at least 0, got `inf`"},
        {"a,w,c\n1,0,x\n2,0,y\n", "no sample has a weight above 0"},
        {"a,v,c\n1,0,x\n2,0,y\n", "there is no column `w`"}}) {
    directory.write("c.csv", bytes_of(text));
    CHECK_THROWS_WITH(opened(settings("train: c.csv, " + form, directory)), Catch::Contains(message));
  }
  CHECK_THROWS_WITH(opened(settings("train: a.csv, target: c, weight: c", directory)),
                    Catch::Contains("column 3 is both target and weight"));
  CHECK_THROWS_WITH(opened(settings("train: a.csv, " + form, directory, "\nmixup: 0.5")),
                    Catch::Contains("samples that have weights cannot be mixed"));
}

TEST_CASE("targets can be the samples themselves, as they are normalised but not augmented", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,b,c\n1,10,x\n3,20,y\n5,30,x\n"));
  const Data data =
      opened(settings("train: a.csv, target: c", directory, "\ntargets: input\nnormalize: per_channel"));
  CHECK(data.train->classes() == 0);
  REQUIRE(data.train->target() == Shape{2});
  const std::vector<float> values = targets_of(*data.train, 2);
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
  // A row has the same values in either split, and neighbours differ by as much.
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
      {"no number", "a,b,y\n1,1,3\n1,x,3\n1,2,3\n", "a.csv:3\n   = 2 of 3 fields are numbers"},
      {"infinity", "a,b,y\n1,1,3\n1,-inf,3\n1,2,3\n", "column 2 `b` requires a number, got `-inf`"},
      {"too large", "a,b,y\n1,1,3\n1,1e39,3\n1,2,3\n", "column 2 `b` requires a number"},
      {"two signs", "a,b,y\n1,1,3\n1,+-1,3\n1,2,3\n", "column 2 `b` requires a number"},
      {"hexadecimal", "a,b,y\n1,1,3\n0x10,1,3\n2,1,3\n", "column 1 `a` requires a number"},
      {"two numbers", "a,b,y\n1,1,3\n1 2,1,3\n2,1,3\n", "column 1 `a` requires a number"},
      {"decimal comma", "a;b;y\n1,5;1;3\n2,5;1;4\n", "column 1 `a` holds numbers with a comma: `1,5`"},
      {"no value at all", "a,b,y\n,NA,3\n?,null,4\n", "no input column is left"},
      {"header alone", "a,b,y\n", "holds no sample"},
      {"no such column", "a,b,z\n1,2,3\n", "there is no column `y`"},
      {"open quote", "a,b,y\n1,\"2,3\n", "a quote is not closed"},
      {"text after a quote", "a,b,y\n1,\"2\"3,3\n", "text after a closing quote"},
      {"quote inside", "a,b,y\n1,2\"3,3\n", "a quote inside a field"},
      {"byte 0", std::string("a,b,y\n1,2\0,3\n", 13), "holds a byte 0"},
      {"lines in quotes count", "a,b,y\n1,2,\"3\n\n\"\n1,x\n", "a.csv:5"},
      {"other line ends", "a,b,y\r1,2,3\rx,2\r", "a.csv:3"},
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
  CHECK(read_one(*opened(settings("train: a.csv, target: 3, header: 1", directory)).train, 0) ==
        std::vector<float>{1, 2});
  CHECK_THAT(data_error([&] { opened(settings("train: a.csv, target: '0.5', header: 1", directory)); }),
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
  CHECK_THAT(error("test: c.csv, target: kind"), Catch::Contains("2 columns here, 3 in training"));
  CHECK_THAT(error("test: absent.csv, target: kind"), Catch::Contains("absent.csv"));
  CHECK_THAT(data_error([&] { opened(settings("train: none.csv, target: kind", directory)); }),
             Catch::Contains("looked for"));
}

TEST_CASE("a table as people have it: texts, booleans, missing values, its separator", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("size;colour;\"is new\";empty;y\n"
                                    "1;red;yes;;1\n\n"
                                    "NA;blue;No;?;2\n"
                                    "4;;TRUE;NaN;3\n"
                                    "7;red;null;;4\n\n"));
  const Data data = opened(settings("train: a.csv, target: y, targets: numbers", directory));
  REQUIRE(data.train->sample() == Shape{5});  // size, blue, red, no colour, is new
  CHECK(read_one(*data.train, 0) == std::vector<float>{1, 0, 1, 0, 1});
  CHECK(read_one(*data.train, 1) == std::vector<float>{4, 1, 0, 0, 0});
  CHECK(read_one(*data.train, 2) == std::vector<float>{4, 0, 0, 1, 1});
  CHECK(read_one(*data.train, 3) == std::vector<float>{7, 0, 1, 0, 2.f / 3});
  CHECK(data.form.separator == ';');
  CHECK(data.form.columns[3].reason == "no value");
}

TEST_CASE("the configuration decides what a missing number becomes", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,b,y\n1,5,1\n,6,2\n3,7,3\n"));
  const auto second = [&](const std::string& missing) {
    return read_one(*opened(settings("train: a.csv, target: y, missing: " + missing, directory)).train, 1);
  };
  CHECK(second("mean") == std::vector<float>{2, 6});
  CHECK(second("{constant: -1}") == std::vector<float>{-1, 6});
  CHECK(second("indicator") == std::vector<float>{2, 1, 6});
  CHECK_THAT(data_error([&] { second("error"); }),
             Catch::Contains("column 1 `a` requires a value, got ``") && Catch::Contains("a.csv:3"));
}

TEST_CASE("means and categories are those of the samples that are trained on", "[csv]") {
  const TemporaryDirectory directory;
  std::string text = "x,kind,y\n";
  for (int i = 0; i < 60; ++i)
    text += (i % 3 == 0 ? "" : std::to_string(i * i)) + ",k" + std::to_string(i / 3) + "," +
            std::to_string(i) + "\n";
  directory.write("a.csv", bytes_of(text));
  const Data data = opened(settings("train: a.csv, target: y, targets: numbers, categories: [kind]",
                                    directory, "\nvalidation: 0.5"));
  double sum = 0;
  int count = 0;
  std::set<int> kinds;
  for (std::int64_t sample = 0; sample < data.train->size(); ++sample) {
    const int i = static_cast<int>(target_of(*data.train, sample));
    kinds.insert(i / 3);
    if (i % 3 == 0) continue;
    sum += i * i;
    ++count;
  }
  const TableColumn &x = data.form.columns[0], &kind = data.form.columns[1];
  CHECK(x.fill == Approx(sum / count));
  REQUIRE(kinds.size() < 20);
  CHECK(kind.categories.size() == kinds.size());
  // A category that only the validation samples have is no element.
  for (std::int64_t sample = 0; sample < data.validation->size(); ++sample) {
    const std::vector<float> row = read_one(*data.validation, sample);
    const bool is_known = kinds.contains(static_cast<int>(target_of(*data.validation, sample)) / 3);
    CHECK(std::accumulate(row.begin() + 1, row.end(), 0.f) == (is_known ? 1 : 0));
  }
}

TEST_CASE("rare categories share an element with those that training lacks", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("k,y\nb,1\na,2\nb,3\nc,4\na,5\nd,6\n"));
  directory.write("b.csv", bytes_of("k,y\nnew,1\nc,2\nb,3\n,4\n"));
  const Data data = opened(
      settings("train: a.csv, test: b.csv, target: y, targets: numbers, max_categories: 2", directory));
  REQUIRE(data.train->sample() == Shape{3});
  CHECK(read_one(*data.train, 0) == std::vector<float>{0, 1, 0});
  CHECK(read_one(*data.train, 3) == std::vector<float>{0, 0, 1});
  CHECK(read_one(*data.test, 0) == std::vector<float>{0, 0, 1});
  CHECK(read_one(*data.test, 1) == std::vector<float>{0, 0, 1});
  CHECK(read_one(*data.test, 2) == std::vector<float>{0, 1, 0});
  CHECK(read_one(*data.test, 3) == std::vector<float>{0, 0, 1});
}

TEST_CASE("the configuration decides what a column is", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("zip,flat,y\n01,1,1\n1,2b,2\n01,3c,3\n"));
  const Data data = opened(settings("train: a.csv, target: y, categories: [zip, 2]", directory));
  REQUIRE(data.train->sample() == Shape{5});
  CHECK(read_one(*data.train, 1) == std::vector<float>{0, 1, 0, 1, 0});
  CHECK(data.form.columns[0].categories == std::vector<std::string>{"01", "1"});
  CHECK_THAT(data_error([&] { opened(settings("train: a.csv, target: y, numbers: [flat]", directory)); }),
             Catch::Contains("column 2 `flat` requires a number, got `2b`") && Catch::Contains("a.csv:3"));
  CHECK_THAT(
      data_error([&] { opened(settings("train: a.csv, target: y, categories: [street]", directory)); }),
      Catch::Contains("there is no column `street`"));
}

TEST_CASE("a column of texts that are nearly all different is ignored, unless the configuration names it",
          "[csv]") {
  const TemporaryDirectory directory;
  std::string text = "name,x,y\n";
  for (int i = 0; i < 30; ++i) text += "n" + std::to_string(i) + "," + std::to_string(i) + ",1\n";
  directory.write("a.csv", bytes_of(text));
  const Data data = opened(settings("train: a.csv, target: y", directory));
  CHECK(data.train->sample() == Shape{1});
  CHECK(data.form.columns[0].reason == "30 different texts in 30 samples");
  CHECK(opened(settings("train: a.csv, target: y, categories: [name]", directory)).train->sample() ==
        Shape{31});
}

TEST_CASE("separator and header are recognised", "[csv]") {
  const TemporaryDirectory directory;
  const auto [text, separator, header] = GENERATE(table<std::string, char, int>({
      {"a,b\n1,2\n", ',', 1},
      {"1,2\n3,4\n", ',', 0},
      {"a;b\n1;2\n", ';', 1},
      {"a\tb\n1\t2,5\n", '\t', 1},
      {"x,1\ny,2\nx,3\n", ',', 0},        // the text is repeated
      {"name,kind\nx,u\ny,v\n", ',', 1},  // texts alone
      {"u,v\nx,u\nu,v\n", ',', 0},
      {"3,2,rose,lily\n1,2\n3,4\n", ',', 1},  // a title
      {"5,2,rose\n1,2,0\n3,4,1\n", ',', 1},   // as scikit-learn writes
      {"\"a;b\",\"c;d\"\n1,2\n", ',', 1},
      {"new,y\nyes,1\nno,2\n", ',', 1},
      {"Pumps of 2024\na,b\n1,2\n", ',', 2},
      {"Pumps of 2024;;\na;b;c\n1;2;3\n", ';', 2},
      {"Pumps of 2024\n1,2\n3,4\n", ',', 1},
      {"x,,\ny,,1\n", ',', 0},
      {"1,2\n", ',', 0},
  }));
  INFO(text);
  const std::string path = directory.write("a.csv", bytes_of(text));
  const CsvLayout layout = csv_layout(path, text, std::nullopt, std::nullopt);
  CHECK(layout.separator == separator);
  CHECK(layout.header == header);
}

TEST_CASE("several files are one table, with types and categories of all of them", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("p/2.csv", bytes_of("y,k,a\n3,,30\n4,w,NA\n"));
  directory.write("p/1.csv", bytes_of("a,k,y\n10,u,1\n20,v,2\n"));
  directory.write("p/3.csv.gz", gzipped(bytes_of("a,k,y\n40,u,5\n")));
  const std::string files = GENERATE("[p/1.csv, p/2.csv, p/3.csv]", "['p/?.csv', p/3.csv]", "p/*.csv*");
  const Data data = opened(settings("train: " + files + ", target: y, targets: numbers", directory));
  REQUIRE(data.train->size() == 5);
  REQUIRE(data.train->sample() == Shape{5});
  CHECK(read_one(*data.train, 1) == std::vector<float>{20, 0, 1, 0, 0});
  CHECK(read_one(*data.train, 2) == std::vector<float>{30, 0, 0, 0, 1});
  CHECK(read_one(*data.train, 3) == std::vector<float>{25, 0, 0, 1, 0});
  CHECK(read_one(*data.train, 4) == std::vector<float>{40, 1, 0, 0, 0});
  CHECK(target_of(*data.train, 4) == 5);
  directory.write("p/2.csv", bytes_of("y,k,a\n3,,30\nfour,w,NA\n"));
  CHECK_THAT(
      data_error([&] { opened(settings("train: " + files + ", target: y, targets: numbers", directory)); }),
      Catch::Contains("p/2.csv:3"));
  directory.write("p/2.csv", bytes_of("y,other,a\n3,,30\n"));
  CHECK_THAT(
      data_error([&] { opened(settings("train: " + files + ", target: y, targets: numbers", directory)); }),
      Catch::Contains("columns differ"));
}

TEST_CASE("targets that are values are scaled by those of training", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("x,y,z\n1,2010,5\n2,2020,5\n3,2030,5\n"));
  directory.write("b.csv", bytes_of("x,y,z\n1,2040,6\n"));
  const Data data = opened(settings("train: a.csv, test: b.csv, target: [y, z], targets: numbers", directory,
                                    "\nnormalize_targets: true"));
  std::vector<float> values = targets_of(*data.test, 0);
  CHECK(values[0] == Approx(20 / std::sqrt(200. / 3)));
  CHECK(values[1] == 1);  // the deviation of equal targets counts as 1
  unscale(data.target_statistics, values, values);
  CHECK(values[0] == Approx(2040));
  CHECK(values[1] == 6);
  CHECK_THROWS_WITH(opened(settings("train: a.csv, target: y", directory, "\nnormalize_targets: true")),
                    Catch::Contains("the targets are classes"));
}

TEST_CASE("columns of another table are found by their names", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("a,k,y\n1,u,5\n2,v,6\n"));
  directory.write("b.csv", bytes_of("y;more;k;a\n7;x;v;3\n"));
  const Data data = opened(settings("train: a.csv, test: b.csv, target: y, targets: numbers", directory));
  CHECK(read_one(*data.test, 0) == std::vector<float>{3, 0, 1});
  CHECK(target_of(*data.test, 0) == 7);
}

TEST_CASE("a number means the column that it has in training, also in another order of columns", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("x,y,kind\n1,5,u\n2,6,v\n"));
  directory.write("b.csv", bytes_of("kind,x,y\nv,3,7\n"));
  const Data data = opened(settings("train: a.csv, test: b.csv, target: 3", directory));
  CHECK(data.test->label(0) == 1);
  CHECK(read_one(*data.test, 0) == std::vector<float>{3, 7});
  const Data weighted = opened(settings("train: a.csv, test: b.csv, target: kind, weight: 2", directory));
  CHECK(read_one(*weighted.test, 0) == std::vector<float>{3});
}

TEST_CASE("columns of tiny values are normalised as others are, and constant ones are 0", "[csv]") {
  const TemporaryDirectory directory;
  std::string table = "tiny,constant,y\n";
  for (int row = 0; row < 3000; ++row)
    table += std::string(row % 2 == 0 ? "-1e-7" : "1e-7") + ",98765.43," + (row % 2 == 0 ? "0" : "1") + "\n";
  directory.write("a.csv", bytes_of(table));
  const Data data = opened(settings("train: a.csv, target: y", directory, "\nnormalize: per_channel"));
  CHECK(read_one(*data.train, 1)[0] == Approx(1));
  CHECK(read_one(*data.train, 1)[1] == 0);
}

TEST_CASE("a number that is too small for a double is 0, one that is too large is none", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("p,y\n1e-360,0\n-2.5E-400,1\n"));
  CHECK(read_one(*opened(settings("train: a.csv, target: y", directory)).train, 0)[0] == 0);
  directory.write("b.csv", bytes_of("p,y\n1,0\n1,1e400\n"));
  CHECK_THAT(data_error([&] { opened(settings("train: b.csv, target: y, targets: numbers", directory)); }),
             Catch::Contains("requires a number, got `1e400`"));
}

TEST_CASE("a column of booleans holds 0 and 1 in every table", "[csv]") {
  const TemporaryDirectory directory;
  directory.write("a.csv", bytes_of("flag,y\ntrue,0\nfalse,1\n"));
  directory.write("b.csv", bytes_of("flag,y\n7,0\n"));
  CHECK_THAT(data_error([&] { opened(settings("train: a.csv, test: b.csv, target: y", directory)); }),
             Catch::Contains("`flag` requires true, false, yes or no, got `7`"));
}

TEST_CASE("no flipped byte of a table does worse than an error", "[csv]") {
  const TemporaryDirectory directory;
  for (std::size_t position = 0; position < kFlowers.size(); ++position)
    for (const int change : {1, 16, 128, 255}) {
      std::string text = kFlowers;
      text[position] = static_cast<char>(text[position] ^ change);
      const std::string path = directory.write("a.csv", bytes_of(text));
      try {
        opened(settings("train: a.csv, target: 3", directory));
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::data);
      }
    }
}

}  // namespace trainer
