#include "engine/config/registry.h"

namespace trainer {

Catalog& Catalog::all() {
  static Catalog catalog;
  return catalog;
}

std::string Catalog::add(const std::string& family, Declaration member) {
  const std::string name = member.name;
  if (!families_[family].members.emplace(name, std::move(member)).second)
    throw std::logic_error("two members named " + name + " in " + family);
  return name;
}

const Catalog::Family& Catalog::at(const std::string& name) const {
  const auto found = families_.find(name);
  if (found == families_.end()) throw std::logic_error("no family named " + name);
  return found->second;
}

}  // namespace trainer
