// A configuration, read with all that the program declares.
#include "engine/config/config_tree.h"
#include "models/training/settings.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

ConfigTree tree_of(const std::string& yaml) {
  static const std::vector<Setting> settings = run_settings();
  // In no folder that exists, so that `base:` finds nothing.
  ConfigTree tree({.file = "/nowhere/fuzz/a.yaml", .text = yaml}, settings);
  tree.define("classes", "10");
  tree.define("vocab", "");
  return tree;
}

const FuzzTarget target{"config", [](FuzzInput input) {
                          if (input.empty()) return;
                          const std::string resolved = tree_of(text_of(input)).resolved_yaml();
                          try {
                            expect(tree_of(resolved).resolved_yaml() == resolved,
                                   "the resolved configuration is another one");
                          } catch (const Error&) {
                            expect(false, "the resolved configuration is no configuration");
                          }
                        }};

}  // namespace
}  // namespace trainer
