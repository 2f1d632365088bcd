#include "cli/commands/preflight_check.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>

#include "cli/launching/collective_errors.h"
#include "cli/reports/header.h"
#include "cli/terminal/version.h"
#include "engine/math/checksum.h"
#include "engine/math/engine.h"
#include "engine/system/files.h"
#include "engine/system/host.h"

namespace trainer {
namespace {

std::uint64_t hash_of(std::uint64_t hash, const std::string& text) {
  hash = mixed(hash + text.size());
  for (const unsigned char letter : text) hash = (hash ^ letter) * 0x100000001b3;
  return mixed(hash);
}

/// The linker's hash of the program: two builds of one revision may differ.
std::string build_id() {
  using Segment = ElfW(Phdr);
  std::string id = "unknown";
  const auto read_notes = [](dl_phdr_info* program, std::size_t, void* result) {
    for (const Segment& segment : std::span(program->dlpi_phdr, program->dlpi_phnum)) {
      if (segment.p_type != PT_NOTE) continue;
      const auto* at = reinterpret_cast<const std::byte*>(program->dlpi_addr + segment.p_vaddr);
      const auto* const end = at + segment.p_memsz;
      while (at + sizeof(ElfW(Nhdr)) <= end) {
        const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
        const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
        at += sizeof note + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID) {
          const std::span bytes(reinterpret_cast<const unsigned char*>(at), note.n_descsz);
          *static_cast<std::string*>(result) = fmt::format("{:02x}", fmt::join(bytes, ""));
          return 1;
        }
        at += padded(note.n_descsz);
      }
    }
    return 1;  // The first object is the program; the others are its libraries.
  };
  ::dl_iterate_phdr(read_notes, &id);
  return id;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The ranks with the same text, and their hosts.
struct Side {
  std::vector<int> ranks;
  std::set<std::string> hosts;

  std::string text() const {
    constexpr std::size_t kMax = 8;
    std::string line = ranks.size() > 1 ? "ranks " : "rank ";
    for (std::size_t i = 0; i < std::min(ranks.size(), kMax); ++i)
      line += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    if (ranks.size() > kMax) line += fmt::format(" and {} more", ranks.size() - kMax);
    line += " on ";
    std::size_t named = 0;
    for (const std::string& host : hosts) {
      if (named == kMax) return line + fmt::format(" and {} more hosts", hosts.size() - kMax);
      line += (named++ > 0 ? ", " : "") + host;
    }
    return line;
  }
};

/// The first fact, in order, in which ranks differ.
Error difference(const std::vector<CommonFact>& mine, const std::vector<nlohmann::json>& all) {
  for (std::size_t fact = 0; fact < mine.size(); ++fact) {
    std::map<std::string, Side> sides;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const nlohmann::json& facts = all[rank].at("facts");
      Side& side = sides[fact < facts.size() ? facts[fact].get<std::string>() : ""];
      side.ranks.push_back(static_cast<int>(rank));
      side.hosts.insert(all[rank].at("host").get<std::string>());
    }
    if (sides.size() == 1) continue;
    // The first line that differs is enough.
    std::vector<std::pair<const Side*, std::vector<std::string>>> texts;
    texts.reserve(sides.size());
    for (const auto& [text, side] : sides) texts.emplace_back(&side, lines_of(text));
    std::ranges::sort(texts, {}, [](const auto& text) { return text.first->ranks.front(); });
    const auto line_of = [](const std::vector<std::string>& lines, std::size_t line) {
      return line < lines.size() ? lines[line] : "nothing";
    };
    std::size_t line = 0;
    while (std::ranges::all_of(texts, [&](const auto& text) {
      return line_of(text.second, line) == line_of(texts.front().second, line);
    }))
      ++line;
    Diagnostic message{.what = fmt::format("the ranks do not have the same {}", mine[fact].name),
                       .help = mine[fact].help};
    for (const auto& [side, lines] : texts) {
      const std::string shown = line_of(lines, line);
      message.notes.push_back(side->text() + ": " +
                              shown.substr(std::min(shown.find_first_not_of(' '), shown.size())));
    }
    return Error(mine[fact].code, {message});
  }
  throw std::logic_error("ranks whose facts are the same differ");
}

}  // namespace

void preflight_check(Communicator& world, const std::vector<CommonFact>& facts) {
  if (world.size() == 1) return;
  std::uint64_t hash = 0;
  for (const CommonFact& fact : facts) hash = hash_of(hash, fact.text);
  std::byte differ{0};
  const auto hashes = world.gather(std::as_bytes(std::span(&hash, 1)), 0);
  for (const auto& other : hashes)
    if (other != hashes.front()) differ = std::byte{1};
  world.broadcast(std::span(&differ, 1), 0);
  if (differ == std::byte{0}) return;

  nlohmann::json mine{{"host", host_name()}, {"facts", nlohmann::json::array()}};
  for (const CommonFact& fact : facts) mine["facts"].push_back(fact.text);
  const std::string text = mine.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  const auto texts = world.gather(std::as_bytes(std::span(text)), 0);
  run_collectively(world, [&] {
    if (world.rank() != 0) return;
    std::vector<nlohmann::json> all;
    all.reserve(texts.size());
    for (const auto& bytes : texts)
      all.push_back(nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                                          reinterpret_cast<const char*>(bytes.data()) + bytes.size()));
    throw difference(facts, all);
  });
}

std::vector<CommonFact> program_facts(const Arguments& arguments) {
  const MeshShape mesh = arguments.mesh.value_or(MeshShape{0, 0});
  return {{.name = "program",
           .text = fmt::format("trainer {} ({}), build {}", version(), source_revision(), build_id()),
           .code = ExitCode::ranks,
           .help = "the same program on all hosts"},
          {.name = "command line",
           .text = fmt::format(
               "command {}\nmode{}{}\n--mesh {}x{}\n--ranks-per-node {}\n--bucket "
               "{}\n--shard {}\n--engine {}\n--init {}",
               static_cast<int>(arguments.verb), arguments.datapar ? " --datapar" : "",
               arguments.modelpar ? " --modelpar" : "", mesh.data, mesh.model, arguments.ranks_per_node,
               arguments.bucket, name_of(arguments.sharding),
               arguments.engine_table.empty() ? name_of(arguments.engine) : arguments.engine_table,
               arguments.initial_weights),
           .help = "the same command and flags for all processes"}};
}

std::vector<CommonFact> run_facts(const OpenRun& run) {
  const Session& session = *run.session;
  const Data& data = session.data();
  std::string files, parameters;
  for (const std::string& line : data.fingerprint) files += "\n" + line;
  for (const Parameter& parameter : session.network().plan().parameters())
    parameters += fmt::format("{} {}\n", parameter.name, parameter.whole_shape().text());
  return {
      {.name = "configuration",
       .text = run.config.resolved_yaml(),
       .help = "the same files, -s and environment variables for all processes"},
      {.name = "data",
       .text = data_text(data) + files,
       .code = ExitCode::data,
       .help = "the same files on all hosts; data.path or TRAINER_DATA names their folder"},
      {.name = "kernels",
       .text = rounding_text() + " kernels",
       .code = ExitCode::ranks,
       .help = "hosts of one kind, or what all of them have: TRAINER_INSTRUCTIONS=avx2 (or baseline); with "
               "--engine openblas also one OPENBLAS_CORETYPE, with a table of engines one file"},
      {.name = "model", .text = parameters, .code = ExitCode::ranks},
      // Each rank must know which rows the threads of the others take.
      {.name = "number of workers",
       .text = std::to_string(session.pool().size()),
       .code = ExitCode::ranks,
       .help = "--threads and --workers set it"}};
}

}  // namespace trainer
