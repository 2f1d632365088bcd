#include "engine/config/registry.h"

namespace trainer {

Catalog& Catalog::all() {
  static Catalog catalog;
  return catalog;
}

const Catalog::Family& Catalog::at(const std::string& name) const {
  const auto found = families_.find(name);
  if (found == families_.end()) throw std::logic_error("no family named " + name);
  return found->second;
}

}  // namespace trainer
