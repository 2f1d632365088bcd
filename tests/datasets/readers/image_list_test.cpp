#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/datasets/files.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

Bytes gray(std::uint8_t shade) { return png_bytes(4, 4, 1, repeated(16, {shade})); }

std::string settings(const TemporaryDirectory& directory, const std::string& keys) {
  return "dataset: {image_list: {size: 4, gray: true, " + keys + "}}\npath: " + directory.path();
}

/// The message for a list of this text.
std::string problem_of(const std::string& name, const std::string& text, const std::string& keys = "") {
  const TemporaryDirectory directory;
  directory.write("a.png", gray(1));
  directory.write(name, bytes_of(text));
  return data_error([&] { opened(settings(directory, "train: " + name + keys)); });
}

}  // namespace

TEST_CASE("an image list names files beside it and one label each, as CSV or JSON lines", "[image_list]") {
  const TemporaryDirectory directory;
  directory.write("lists/x/a.png", gray(51));
  directory.write("lists/b.png", gray(102));
  directory.write("lists/c, d.png", gray(255));
  const auto [name, text] = GENERATE(table<std::string, std::string>({
      {"train.csv", "file,size,label\nx/a.png,3,dog\n\"c, d.png\",4, cat\n\nb.png,5,dog\n"},
      {"train.csv", "\xEF\xBB\xBFlabel;file\r\ndog;x/a.png\r\ncat;c, d.png\r\ndog;b.png"},
      {"train.jsonl",
       "{\"file\": \"x/a.png\", \"label\": \"dog\"}\n"
       "{\"label\": \"cat\", \"file\": \"c, d.png\"}\r\n\n"
       "{\"file\": \"b.png\", \"label\": \"dog\", \"more\": [1]}"},
  }));
  const bool is_packed = GENERATE(false, true);
  INFO(text);
  const Bytes bytes = bytes_of(text);
  directory.write("lists/" + name + (is_packed ? ".gz" : ""), is_packed ? gzipped(bytes) : bytes);
  directory.write("lists/test.csv", bytes_of("file,label\nb.png,dog\n"));
  const Data data = opened(settings(directory, "train: lists/" + name + ", test: lists/test.csv"));
  CHECK(data.train->size() == 3);
  CHECK(data.train->sample() == Shape{4, 4, 1});
  CHECK(data.train->info().is_streamed);
  CHECK(data.train->info().class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(data.train->label(0) == 1);
  CHECK(data.train->label(1) == 0);
  CHECK(data.test->label(0) == 1);  // although its first class is not there
  CHECK(read_one(*data.train, 0)[0] == Approx(0.2));
  CHECK(read_one(*data.train, 1)[5] == Approx(1));
  CHECK(read_one(*data.test, 0)[0] == Approx(0.4));
}

TEST_CASE("an image may have several labels: columns of 0 and 1, a separator, or lists", "[image_list]") {
  const TemporaryDirectory directory;
  directory.write("a.png", gray(1));
  const auto [name, text, keys] = GENERATE(table<std::string, std::string, std::string>({
      {"t.csv", "file,b,a,c\na.png,1,0,0\na.png,0,true,1\na.png,0,0,False\n", ", label: [a, b, c]"},
      {"t.csv", "file,tags\na.png,b\na.png,c|a\na.png,\na.png,a | c\n",
       ", label: tags, label_separator: '|'"},
      {"t.jsonl",
       "{\"file\":\"a.png\",\"label\":[\"b\"]}\n{\"file\":\"a.png\",\"label\":[\"a\",\"c\"]}\n"
       "{\"file\":\"a.png\",\"label\":[]}\n",
       ""},
      {"t.jsonl",
       "{\"file\":\"a.png\",\"a\":0,\"b\":true,\"c\":0}\n"
       "{\"file\":\"a.png\",\"a\":1,\"b\":false,\"c\":1}\n"
       "{\"file\":\"a.png\",\"a\":0,\"b\":0,\"c\":0}\n",
       ", label: [a, b, c]"},
  }));
  directory.write(name, bytes_of(text));
  const Data data = opened(settings(directory, "train: " + name + keys));
  CHECK(data.train->classes() == 0);
  CHECK(data.train->target() == Shape{3});
  CHECK(data.train->info().class_names == std::vector<std::string>{"a", "b", "c"});
  CHECK(targets_of(*data.train, 0) == std::vector<float>{0, 1, 0});
  CHECK(targets_of(*data.train, 1) == std::vector<float>{1, 0, 1});
  CHECK(targets_of(*data.train, 2) == std::vector<float>{0, 0, 0});
}

TEST_CASE("a damaged list is an error with its line", "[image_list]") {
  using Catch::Contains;
  CHECK_THAT(problem_of("t.csv", ""), Contains("data file is empty"));
  CHECK_THAT(problem_of("t.csv", "file,label\n"), Contains("the list has no image"));
  CHECK_THAT(problem_of("t.csv", "name,label\na.png,x\n"),
             Contains("no columns have the name `file`") && Contains("the first line names `name, label`"));
  CHECK_THAT(problem_of("t.csv", "file,label,label\na.png,x,y\n"), Contains("several columns"));
  CHECK_THAT(problem_of("t.csv", "file,label\na.png,x\na.png\n"), Contains("t.csv:3"));
  CHECK_THAT(problem_of("t.csv", "file,label\na.png,x\na.png, \n"),
             Contains("t.csv:3") && Contains("a label is missing"));
  CHECK_THAT(problem_of("t.csv", "file,label\n,x\n"), Contains("no path of an image"));
  CHECK_THAT(problem_of("t.csv", "file,label\na.png,x|y|x\n", ", label_separator: '|'"),
             Contains("a label is listed twice") && Contains("`x`"));
  CHECK_THAT(problem_of("t.csv", "file,a,b\na.png,1,2\n", ", label: [a, b]"),
             Contains("the label `b` requires 0 or 1") && Contains("got `2`"));
  CHECK_THAT(problem_of("t.jsonl", "{\"file\": \"a.png\", \"label\": 1}\n{\"file\": \"a.p"),
             Contains("t.jsonl:2") && Contains("no JSON object"));
  CHECK_THAT(problem_of("t.jsonl", "{\"file\": \"a.png\", \"label\": 1}\n[1]"), Contains("no JSON object"));
  CHECK_THAT(problem_of("t.jsonl", "{\"file\": \"a.png\"}"), Contains("no key `label`"));
  CHECK_THAT(problem_of("t.jsonl", "{\"file\": 3, \"label\": 1}"), Contains("is no text"));
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK_THAT(problem_of("t.jsonl", R"({"label": 1, "file": )" + deep + "}"),
             Contains("it is of the type array"));
  CHECK_THAT(problem_of("t.jsonl", R"({"file": "a.png", "label": )" + deep + "}"),
             Contains("t.jsonl:1") && Contains("a label of the type array"));
  CHECK_THAT(problem_of("t.jsonl", "{\"file\": \"a.png\", \"label\": 1.5}"),
             Contains("the label 1.5 is neither"));
  CHECK_THAT(
      problem_of("t.jsonl", "{\"file\": \"a.png\", \"label\": 1}\n{\"file\": \"a.png\", \"label\": [1]}"),
      Contains("t.jsonl:2") && Contains("lists of labels beside single labels"));
  const TemporaryDirectory directory;
  directory.write("a.png", gray(1));
  directory.write("t.csv", bytes_of("file,label\na.png,10\na.png,9\n"));
  CHECK(opened(settings(directory, "train: t.csv")).train->info().class_names ==
        std::vector<std::string>{"9", "10"});
  directory.write("v.csv", bytes_of("file,label\na.png,9\na.png,11\n"));
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: t.csv, test: v.csv")); }),
             Contains("v.csv:3") && Contains("a class that training lacks") && Contains("`11`"));
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: none.csv")); }), Contains("none.csv[.gz]"));
}

TEST_CASE("a label of JSON that is neither a text, an integer nor a boolean is named with what is right",
          "[image_list]") {
  using Catch::Contains;
  const auto [label, what, help] = GENERATE(table<std::string, std::string, std::string>({
      {"1.0", "the label 1.0 is neither a text nor a whole number", R"(write "1.0" or 1)"},
      {"1.5", "the label 1.5 is neither a text nor a whole number", R"(write "1.5")"},
      {R"({"name": "cat"})", "a label of the type object",
       R"(a label is a text, such as "cat", a whole number)"},
      {"[[1]]", "a label of the type array", R"(a label is a text, such as "cat", a whole number)"},
      {"null", "a label is missing", "give each image a label"},
  }));
  const std::string line = R"({"file": "a.png", "label": )" + label + "}";
  CHECK_THAT(problem_of("t.jsonl", line), Contains("t.jsonl:1") && Contains(what) && Contains(help));
}

TEST_CASE("a class's key of JSON may have a fraction of 0, as a column may", "[image_list]") {
  const TemporaryDirectory directory;
  directory.write("a.png", gray(1));
  directory.write("t.jsonl", bytes_of(R"({"file": "a.png", "a": 1.0, "b": 0.0})"));
  const Data data = opened(settings(directory, "train: t.jsonl, label: [a, b]"));
  CHECK(targets_of(*data.train, 0) == std::vector<float>{1, 0});
  for (const char* const flag : {"2.5", "[1]", "null"})
    CHECK_THAT(
        problem_of("t.jsonl", fmt::format(R"({{"file": "a.png", "a": {}, "b": 0}})", flag),
                   ", label: [a, b]"),
        Catch::Contains("the label `a` requires 0 or 1") &&
            Catch::Contains(std::string(flag) == "[1]" ? "got `array`" : fmt::format("got `{}`", flag)));
}

TEST_CASE("damaged images of a list are left out where the config asks for it", "[image_list]") {
  const TemporaryDirectory directory;
  directory.write("a.png", gray(51));
  directory.write("b.png", bytes_of("no image"));
  directory.write("t.csv", bytes_of("file,label\nb.png,x\na.png,y\nnone.png,x\na.png,x\n"));
  CHECK_THAT(data_error([&] { read_one(*opened(settings(directory, "train: t.csv")).train, 0); }),
             Catch::Contains("b.png") && Catch::Contains("help: `damaged: skip` in image_list"));
  const Data data = opened(settings(directory, "train: t.csv, damaged: skip"));
  CHECK(data.train->size() == 2);
  CHECK(data.train->label(0) == 1);
  CHECK(data.train->label(1) == 0);
  CHECK(data.notice ==
        "2 damaged images are left out: " + directory.path("b.png") + ", " + directory.path("none.png"));
  directory.write("a.png", bytes_of("no image"));
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: t.csv, damaged: skip")); }),
             Catch::Contains("all images are damaged"));
}

}  // namespace trainer
