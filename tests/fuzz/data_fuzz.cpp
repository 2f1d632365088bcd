// data.json of a checkpoint.
#include "models/checkpoints/data_json.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"data", [](FuzzInput input) {
                          const DataDescription data = parse_data_description(text_of(input));
                          const std::string written = text_of(data);
                          expect(text_of(parse_data_description(written)) == written,
                                 "a description is another one when it has been written and read");
                          static_cast<void>(absent_data(data, "data.json"));
                        }};

}  // namespace
}  // namespace trainer
