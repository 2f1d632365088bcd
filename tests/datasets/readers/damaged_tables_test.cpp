// Tables that are damaged, or are not what their configuration states: each ends with a message and the right
// code.
#include "tests/datasets/files.h"

namespace trainer {
namespace {

struct Damage {
  std::string name, table;
  std::string settings = "target: y";  ///< of `csv`, besides the file
  std::string message{};
  ExitCode code = ExitCode::data;
  std::string test{};  ///< a second table, as `test`; empty: none
};

std::string repeated_text(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// "a0,b0,1\n" with other texts in every line.
std::string different_texts(int rows) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < rows; ++i) text += "a" + std::to_string(i) + ",b" + std::to_string(i) + ",1\n";
  return text;
}

std::vector<Damage> damages() {
  const std::string good = "a,b,y\n1,2,3\n4,5,6\n", numbers = "target: y, targets: numbers";
  return {
      // Files that are no table.
      {"empty", "", "target: y", "data file is empty"},
      {"a byte order mark", "\xEF\xBB\xBF", "target: y", "holds no sample"},
      {"blank lines", "\n\n \n\r\n", "target: 1", "holds no sample"},
      {"a header", "a,b,y\n", "target: y", "holds no sample"},
      {"a header and blank lines", "a,b,y\n\n\n", "target: y", "holds no sample"},
      {"a shorter file than its header", good, "target: y, header: 9", "nothing follows 9 lines of header"},
      {"PNG", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "target: 1", "holds a byte 0"},
      {"UTF-16",
       std::string("\xff\xfe"
                   "a\0,\0y\0\n\0",
                   10),
       "target: y", "holds a byte 0"},
      {"gzip that is cut", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b", 11), "target: y", "a.csv"},
      // Records.
      {"a byte 0 in a field", std::string("a,b,y\n1,2\0,3\n", 13), "target: y", "holds a byte 0"},
      {"a byte 0 in quotes", std::string("a,b,y\n1,\"2\0\",3\n", 15), "target: y",
       "a.csv:2\n   = it holds a byte 0"},
      {"a short line", "a,b,y\n1,2,3\n1,2\n", "target: y", "2 fields, 3 expected"},
      {"a long line", "a,b,y\n1,2,3\n1,2,3,4\n", "target: y", "4 fields, 3 expected"},
      {"samples longer than the header", "a,b,y\n1,2,3,4\n", "target: y", "the line above them has 3 fields"},
      {"a separator at the end of lines", "a,b,y\n1,2,3,\n4,5,6,\n", "target: y", "it has 4 columns"},
      {"an open quote", "a,b,y\n1,\"2,3\n4,5,6\n", "target: y", "a quote is not closed"},
      {"a quote inside", "a,b,y\n1,2\"3,3\n", "target: y", "a quote inside a field"},
      {"text after a quote", "a,b,y\n1,\"2\"3,3\n", "target: y", "text after a closing quote"},
      {"a huge field", "a,b,y\n1," + std::string(1200000, 'x') + ",3\n", "target: y",
       "field 2 has 1200000 bytes"},
      {"a huge field in quotes", "a,b,y\n1,\"" + repeated_text("x\n", 600000) + "\",3\n", "target: y",
       "field 2 has 1200000 bytes"},
      {"another separator", good, "target: y, separator: semicolon", "there is no column `y`"},
      // Columns.
      {"two targets of one name", "y,b,y\n1,2,3\n", "target: y", "columns 1 and 3 are both named `y`"},
      {"two inputs of one name", "a,y, a\n1,2,3\n", "target: y", "columns 1 and 3 are both named `a`"},
      {"no such target", good, "target: z", "there is no column `z`"},
      {"target 0", good, "target: '0'", "there is no column `0`"},
      {"target 4 of 3", good, "target: '4'", "there is no column `4`"},
      {"no such column to ignore", good, "target: y, ignore: [c]", "there is no column `c`"},
      {"no such category", good, "target: y, categories: [c]", "there is no column `c`"},
      {"no such number", good, "target: y, numbers: [c]", "there is no column `c`"},
      {"all ignored", good, "target: y, ignore: [a, b]", "no input column is left"},
      {"a target alone", "y\n1\n", "target: y", "no input column is left"},
      {"no value in any column", "a,b,y\n,NA,1\n?,null,2\n", "target: y", "no input column is left"},
      {"all texts different", different_texts(40), "target: y", "no input column is left"},
      {"no target", good, "target: [], targets: numbers", "names no column", ExitCode::usage},
      {"two columns of labels", good, "target: [a, y]", "labels are one column", ExitCode::usage},
      // Fields.
      {"few texts among numbers", "a,b,y\n1,1,1\n2,x,1\n3,3,1\n", "target: y",
       "column 2 `b` requires a number, got `x`"},
      {"a text where numbers are stated", "a,b,y\nx,1,1\ny,1,1\n", "target: y, numbers: [a]", "got `x`"},
      {"a decimal comma", "a;y\n1,5;1\n2,5;2\n", "target: y", "holds numbers with a comma"},
      {"thousands", "a;y\n1,500;1\n22,500;2\n", "target: y", "holds numbers with a comma"},
      {"a number beyond float", "a,y\n1,1\n1e39,1\n2,1\n", "target: y", "got `1e39`"},
      {"infinity", "a,y\n1,1\n-inf,1\n2,1\n", "target: y", "got `-inf`"},
      {"a missing number that is an error", "a,b,y\n1,2,3\n1,,3\n", "target: y, missing: error",
       "column 2 `b` requires a value"},
      {"a missing text that is an error", "a,b,y\nu,2,3\nNA,1,3\n", "target: y, missing: error",
       "column 1 `a` requires a value"},
      // Targets.
      {"no label", "a,y\n1,2\n1,\n", "target: y", "column 2 requires a label, got ``"},
      {"label NA", "a,y\n1,2\n1,NA\n", "target: y", "column 2 requires a label, got `NA`"},
      {"label ?", "a,y\n1,2\n1,?\n", "target: y", "column 2 requires a label, got `?`"},
      {"a target that is missing", "a,y\n1,2\n1,\n", numbers, "complete these samples"},
      {"a target that is text", "a,y\n1,2\n1,x\n", numbers, "requires a number, got `x`"},
      {"a target beyond float", "a,y\n1,2\n1,1e99\n", numbers, "requires a number, got `1e99`"},
      // The second table.
      {"another class", good, "target: y", "`7` is none of the 2 classes", ExitCode::data, "a,b,y\n1,2,7\n"},
      {"a column less", good, "target: y", "2 columns here, 3 in training", ExitCode::data, "a,y\n1,3\n"},
      {"another name", good, "target: y", "column 2 is `c` here, `b` in training", ExitCode::data,
       "a,c,y\n1,2,3\n"},
      {"a text among numbers", good, "target: y", "column 2 `b` requires a number, got `x`", ExitCode::data,
       "a,b,y\n1,2,3\n1,x,3\n"},
      {"no boolean", "a,y\nyes,1\nno,2\n", "target: y", "requires true, false, yes or no, got `maybe`",
       ExitCode::data, "a,y\nmaybe,1\n"},
  };
}

}  // namespace

TEST_CASE("a damaged table ends with a message that shows where and what, and the right code", "[csv]") {
  const TemporaryDirectory directory;
  REQUIRE(damages().size() >= 40);
  for (const Damage& damage : damages()) {
    INFO(damage.name);
    directory.write("a.csv", bytes_of(damage.table));
    if (!damage.test.empty()) directory.write("b.csv", bytes_of(damage.test));
    const std::string files = damage.test.empty() ? "train: a.csv, " : "train: a.csv, test: b.csv, ";
    try {
      opened("dataset: {csv: {" + files + damage.settings + "}}\npath: " + directory.path());
      FAIL_CHECK("no error was thrown");
    } catch (const Error& error) {
      CHECK(error.code() == damage.code);
      CHECK_THAT(std::string(error.what()), Catch::Contains(damage.message));
      CHECK_THAT(std::string(error.what()),
                 Catch::Contains(damage.code == ExitCode::data ? ".csv" : "target"));
    }
  }
}

TEST_CASE("a column of a hundred thousand texts is ignored, or keeps the most frequent ones", "[csv]") {
  const TemporaryDirectory directory;
  std::string text = "k,x,y\n";
  for (int i = 0; i < 100000; ++i)
    text += (i % 100 == 0 ? "often" : "k" + std::to_string(i)) + "," + std::to_string(i) + ",1\n";
  directory.write("a.csv", bytes_of(text));
  const auto open = [&](const std::string& more) {
    return opened("dataset: {csv: {train: a.csv, target: y" + more + "}}\npath: " + directory.path());
  };
  CHECK(open("").train->sample() == Shape{1});
  const Data kept = open(", categories: [k], max_categories: 1");
  CHECK(kept.form.columns[0].categories == std::vector<std::string>{"often"});
  CHECK(kept.form.columns[0].others == 99000);
  CHECK(read_one(*kept.train, 100) == std::vector<float>{1, 0, 100});
}

}  // namespace trainer
