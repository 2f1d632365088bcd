#include "cli/commands/predictions.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

namespace trainer {
namespace {

AnswerForm classes(const std::vector<std::string>& names) {
  return {.link = Link::softmax, .size = 2, .shape = {2}, .names = names};
}

AnswerForm labels() {
  return {.link = Link::sigmoid, .size = 3, .shape = {3}, .names = {"rose", "tulip", "red"}};
}

AnswerForm values(std::int64_t size) { return {.size = size, .shape = {size}}; }

const std::vector<Prediction> kImages{{.file = "a.png", .values = {0.25f, 0.75f}},
                                      {.file = "x.png", .problem = "x.png: damaged"},
                                      {.file = "b, \"c\".png", .values = {0.5f, 0.5f}}};

std::string text_of(const AnswerForm& form, const PredictionWriter::Options& options,
                    const std::vector<Prediction>& predictions = kImages) {
  PredictionWriter writer(form, options);
  const std::string text = writer.text(predictions);
  return text + writer.end();
}

}  // namespace

TEST_CASE("predictions as CSV have a header, and fields with commas or quotes are quoted", "[cli]") {
  const PredictionWriter::Options csv{.format = PredictionFormat::csv};
  CHECK(text_of(classes({"cat", "dog, wolf"}), csv) ==
        "file,class,cat,\"dog, wolf\"\n"
        "a.png,\"dog, wolf\",0.25,0.75\n"
        "\"b, \"\"c\"\".png\",cat,0.5,0.5\n");
  CHECK(text_of(classes({}), csv).starts_with("file,class,0,1\na.png,1,0.25,0.75\n"));
  CHECK(text_of(values(2), csv).starts_with("file,0,1\na.png,0.25,0.75\n"));
}

TEST_CASE("samples of tables and arrays have their place, and ids if they are asked for", "[cli]") {
  const std::vector<Prediction> rows{
      {.unit = RawSample::Unit::line, .file = "t.csv", .place = 3, .id = "k,1", .values = {1.5f}}};
  const PredictionWriter::Options csv{.format = PredictionFormat::csv, .has_ids = true};
  CHECK(text_of(values(1), csv, rows) == "file,line,id,0\nt.csv,3,\"k,1\",1.5\n");
  const PredictionWriter::Options json{.format = PredictionFormat::json, .has_ids = true};
  CHECK(text_of(values(1), json, rows) ==
        "{\"file\":\"t.csv\",\"line\":3,\"id\":\"k,1\",\"outputs\":[1.5]}\n");
  std::vector<Prediction> mixed = rows;
  mixed.push_back({.file = "a.png", .values = {1}});
  CHECK_THROWS_WITH(text_of(values(1), csv, mixed), Catch::Contains("another kind"));
}

TEST_CASE("predictions as JSON are an object a line, and what is not finite is null", "[cli]") {
  const PredictionWriter::Options json{.format = PredictionFormat::json};
  CHECK(text_of(classes({"cat", "dog"}), json) ==
        "{\"file\":\"a.png\",\"class\":1,\"name\":\"dog\",\"probabilities\":[0.25,0.75]}\n"
        "{\"file\":\"b, \\\"c\\\".png\",\"class\":0,\"name\":\"cat\",\"probabilities\":[0.5,0.5]}\n");
  CHECK(text_of(values(2), json, {{.file = "a", .values = {1.5f, std::numeric_limits<float>::infinity()}}}) ==
        "{\"file\":\"a\",\"outputs\":[1.5,null]}\n");
}

TEST_CASE("--top leaves the likeliest classes, of equal ones the first", "[cli]") {
  CHECK(text_of(classes({"cat", "dog"}), {.format = PredictionFormat::json, .top = 1}) ==
        "{\"file\":\"a.png\",\"class\":1,\"name\":\"dog\",\"top\":[{\"class\":1,\"name\":\"dog\","
        "\"probability\":0.75}]}\n"
        "{\"file\":\"b, \\\"c\\\".png\",\"class\":0,\"name\":\"cat\",\"top\":[{\"class\":0,\"name\":\"cat\","
        "\"probability\":0.5}]}\n");
  CHECK(text_of(classes({"cat", "dog"}), {.format = PredictionFormat::csv, .top = 9})
            .starts_with("file,class,probability,class_2,probability_2\na.png,dog,0.75,cat,0.25\n"));
  CHECK_THROWS_WITH(PredictionWriter(values(1), {.top = 1}), Catch::Contains("--top"));
}

TEST_CASE("of independent labels those above the threshold are named, the likeliest first", "[cli]") {
  const std::vector<Prediction> images{{.file = "a.png", .values = {0.75f, 0.5f, 0.875f}},
                                       {.file = "b.png", .values = {0.25f, 0.125f, 0}}};
  CHECK(text_of(labels(), {}, images) == "a.png  red  87.5%  rose  75.0%\nb.png  none\n");
  CHECK(text_of(labels(), {.threshold = 0.125}, {images.back()}) == "b.png  rose  25.0%\n");
  CHECK(text_of(labels(), {.top = 1}, images) == "a.png  red  87.5%\nb.png  rose  25.0%\n");
  const PredictionWriter::Options json{.format = PredictionFormat::json};
  CHECK(text_of(labels(), json, images) ==
        "{\"file\":\"a.png\",\"labels\":[2,0],\"names\":[\"red\",\"rose\"],\"probabilities\":[0.75,0.5,0.875]"
        "}\n"
        "{\"file\":\"b.png\",\"labels\":[],\"names\":[],\"probabilities\":[0.25,0.125,0]}\n");
  CHECK(text_of(labels(), {.format = PredictionFormat::json, .top = 1}, {images.front()}) ==
        "{\"file\":\"a.png\",\"labels\":[2,0],\"names\":[\"red\",\"rose\"],\"top\":[{\"label\":2,\"name\":"
        "\"red\","
        "\"probability\":0.875}]}\n");
  CHECK(text_of(labels(), {.format = PredictionFormat::csv}, images) ==
        "file,rose,tulip,red\na.png,0.75,0.5,0.875\nb.png,0.25,0.125,0\n");
  CHECK(text_of(labels(), {.format = PredictionFormat::csv, .top = 2}, {images.front()}) ==
        "file,label,probability,label_2,probability_2\na.png,red,0.875,rose,0.75\n");
}

TEST_CASE("a probability that is not a number names no label", "[cli]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(text_of(labels(), {}, {{.file = "a.png", .values = {nan, 0.75f, nan}}}) == "a.png  tulip  75.0%\n");
}

TEST_CASE("outputs of a sigmoid without names stay values, and so do maps of them", "[cli]") {
  AnswerForm form = labels();
  form.names.clear();
  CHECK(text_of(form, {}, {{.file = "a", .values = {0.75f, 0.5f, 0.25f}}}) == "a  0.75  0.5  0.25\n");
  CHECK(text_of(form, {.format = PredictionFormat::json}, {{.file = "a", .values = {0.75f, 0.5f, 0.25f}}}) ==
        "{\"file\":\"a\",\"probabilities\":[0.75,0.5,0.25]}\n");
  CHECK_THROWS_WITH(PredictionWriter(form, {.threshold = 0.7}), Catch::Contains("--threshold"));
  CHECK_THROWS_WITH(PredictionWriter(classes({"cat", "dog"}), {.threshold = 0.7}),
                    Catch::Contains("--threshold"));
}

TEST_CASE("predictions as npy are a header of whole 64 bytes, then the values", "[cli]") {
  const std::string text = text_of(values(2), {.format = PredictionFormat::npy});
  REQUIRE(text.size() == 128 + 16);
  CHECK(text.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(text.substr(10, 59) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }");
  CHECK(text[127] == '\n');
  float last = 0;
  std::memcpy(&last, text.data() + 128 + 12, sizeof last);
  CHECK(last == 0.5f);
}

TEST_CASE("without a format the three likeliest classes are shown", "[cli]") {
  const std::string text = text_of(classes({"cat", "dog"}), {});
  CHECK(text.starts_with("a.png"));
  CHECK(text.find("dog  75.0%  cat  25.0%") != std::string::npos);
}

TEST_CASE("of an answer for each position the classes are given, and their shares", "[cli]") {
  const AnswerForm form{
      .link = Link::softmax, .size = 2, .shape = {2, 2, 2}, .has_positions = true, .names = {"sea", "land"}};
  const std::vector<Prediction> map{
      {.file = "a.png", .positions = 4, .values = {1, 0, 0.2f, 0.8f, 0.9f, 0.1f, 0.6f, 0.4f}}};
  CHECK(text_of(form, {.format = PredictionFormat::json}, map) ==
        "{\"file\":\"a.png\",\"classes\":[0,1,0,0]}\n");
  CHECK(text_of(form, {.format = PredictionFormat::csv}, map) == "file,0,1,2,3\na.png,sea,land,sea,sea\n");
  CHECK(text_of(form, {}, map) == "a.png  sea  75.0%  land  25.0%\n");
  CHECK(text_of(form, {.format = PredictionFormat::npy}, map).find("'shape': (1, 2, 2, 2)") !=
        std::string::npos);
}

}  // namespace trainer
