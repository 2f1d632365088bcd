// Simulates steps of data-parallel training with SimGrid, from the schedule that `trainer plan --json`
// prints.
//
// Usage: simulated-step [FLOWS] < plan.json
//
// Each host has a link to a switch that carries all that hosts send. SimGrid shares links among the flows
// that are under way at a time; this program decides only when a rank computes, what it waits for and what it
// sends, as engine/parallel does. With more than FLOWS + 1 hosts (default: 1) a host sends to FLOWS others
// alone; each of these flows stands for equally many: it has their bytes, their cost to the sender and their
// share of a link. Prints the times of the second step on the first host as JSON, in seconds.
#include <algorithm>
#include <cmath>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;
using Json = nlohmann::json;

constexpr int kSteps = 2;
constexpr double kAddedBytes = 8e9;  // a second, as in models/planning
// As engine/parallel/mpi_communicator.cpp.
constexpr int kFewHosts = 16;
constexpr double kFewBytes = 1 << 12, kMostBytes = 1 << 17;

struct Layer {
  double forward, backward;
  std::int64_t last;  // the end of its parameters; 0: it has none
  std::vector<double> forward_sums, backward_sums;
};

struct Bucket {
  std::int64_t first, last;
  double gradients, parameters;  // bytes
};

struct Schedule {
  int hosts;
  double bandwidth, latency, overhead, data, update, scalars;
  std::vector<Layer> layers;
  std::vector<Bucket> buckets;

  explicit Schedule(const Json& plan)
      : hosts(plan.at("hosts")),
        bandwidth(plan.at("link").at("bandwidth")),
        latency(plan.at("link").at("latency")),
        overhead(plan.at("link").at("overhead")),
        data(plan.at("data")),
        update(plan.at("update")),
        scalars(plan.at("scalars")) {
    if (plan.at("ranks") != plan.at("hosts") || plan.at("micro_batches") != 1)
      throw std::invalid_argument("the plan must have one rank a host and one micro-batch");
    for (const Json& layer : plan.at("layers")) {
      const std::int64_t first = layer.at("parameters").at(0), last = layer.at("parameters").at(1);
      layers.push_back({layer.at("forward"), layer.at("backward"), last > first ? last : 0,
                        layer.at("forward_sums"), layer.at("backward_sums")});
    }
    for (const Json& bucket : plan.at("buckets"))
      buckets.push_back({bucket.at("floats").at(0), bucket.at("floats").at(1),
                         bucket.at("bytes_of_gradients"), bucket.at("bytes_of_parameters")});
  }
};

/// The hosts and their links. Each has a second name for the flows that stand for several: the route of these
/// has a latency that gives them their share (SimGrid shares a link in proportion to 1 / latency, as TCP
/// does), and a factor that restores the true latency.
class Platform {
 public:
  Platform(const Schedule& schedule, int flows)
      : flows_(std::min(flows, schedule.hosts - 1)),
        weight_(flows_ > 0 ? static_cast<double>(schedule.hosts - 1) / flows_ : 1) {
    s4u::NetZone* const zone = s4u::create_star_zone("switch");
    const auto latency = [&](const char* name, double seconds) {
      s4u::Link* const link = zone->create_link(name, 1e15);
      return link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->set_latency(seconds)->seal();
    };
    const s4u::Link* const one = latency("latency", schedule.latency);
    const s4u::Link* const many = latency("latency of many", schedule.latency / weight_);
    std::unordered_set<const s4u::Host*> weighted;
    for (int index = 0; index < schedule.hosts; ++index) {
      const std::string name = std::to_string(index);
      s4u::SplitDuplexLink* const link = zone->create_split_duplex_link("link " + name, schedule.bandwidth);
      link->set_latency(0);
      link->seal();
      for (const bool is_weighted : {false, true}) {
        s4u::Host* const host = zone->create_host(name + (is_weighted ? " bulk" : ""), 1e9)->seal();
        const s4u::LinkInRoute up(link, s4u::LinkInRoute::Direction::UP),
            down(link, s4u::LinkInRoute::Direction::DOWN);
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                        {up, s4u::LinkInRoute(is_weighted ? many : one)}, false);
        zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {down}, false);
        if (is_weighted) weighted.insert(host);
        (is_weighted ? bulk_ : hosts_).push_back(host);
      }
    }
    zone->get_network_model()->set_lat_factor_cb(
        [weighted, weight = weight_](
            double, const s4u::Host* source, const s4u::Host*, const std::vector<s4u::Link*>&,
            const std::unordered_set<s4u::NetZone*>&) { return weighted.contains(source) ? weight : 1; });
    zone->seal();
  }

  int hosts() const { return static_cast<int>(hosts_.size()); }
  /// Of a host in an exchange of all with all, and how many each stands for.
  int flows() const { return flows_; }
  double weight() const { return weight_; }
  s4u::Host* host(int index) const { return hosts_[static_cast<std::size_t>(index)]; }
  s4u::Host* bulk(int index) const { return bulk_[static_cast<std::size_t>(index)]; }

 private:
  int flows_;
  double weight_;
  std::vector<s4u::Host*> hosts_, bulk_;
};

/// The messages of gradients and parameters: a connection between two hosts carries them one after the other.
/// All hosts start their exchanges in the same order.
class Exchanges {
 public:
  Exchanges(const Platform& platform, double overhead)
      : platform_(platform), overhead_(overhead), inboxes_(static_cast<std::size_t>(platform.hosts())) {
    for (int source = 0; source < platform.hosts(); ++source)
      for (int flow = 0; flow < platform.flows(); ++flow) {
        connections_.push_back(std::make_unique<Connection>());
        Connection* const connection = connections_.back().get();
        const int distance = 1 + static_cast<int>(flow * platform.weight());
        const int target = (source + distance) % platform.hosts();
        s4u::Actor::create("connection", platform.bulk(source), [this, connection, source, target] {
          carry(*connection, source, target);
        })->daemonize();
      }
  }

  /// Starts to send each other host its part of `bytes`; returns the number of the exchange.
  int start(int source, double bytes) {
    Inbox& inbox = inboxes_[static_cast<std::size_t>(source)];
    const double all = bytes * (platform_.hosts() - 1) / platform_.hosts();
    for (int flow = 0; flow < platform_.flows(); ++flow) {
      s4u::this_actor::sleep_for(overhead_ * platform_.weight());
      Connection& connection =
          *connections_[static_cast<std::size_t>(source) * static_cast<std::size_t>(platform_.flows()) +
                        static_cast<std::size_t>(flow)];
      connection.messages.push_back({inbox.started, all / platform_.flows()});
      connection.count->release();
    }
    return inbox.started++;
  }
  bool is_complete(int target, int exchange) const {
    const Inbox& inbox = inboxes_[static_cast<std::size_t>(target)];
    const auto found = inbox.arrived.find(exchange);
    return found != inbox.arrived.end() && found->second == platform_.flows();
  }
  void wait(int target, int exchange) {
    Inbox& inbox = inboxes_[static_cast<std::size_t>(target)];
    if (!is_complete(target, exchange)) {
      inbox.awaited = exchange;
      inbox.complete->acquire();
    }
    inbox.arrived.erase(exchange);
  }

 private:
  struct Message {
    int exchange;
    double bytes;
  };
  struct Connection {
    std::deque<Message> messages;
    s4u::SemaphorePtr count = s4u::Semaphore::create(0);
  };
  struct Inbox {
    int started = 0, awaited = -1;
    std::map<int, int> arrived;  // messages, by exchange
    s4u::SemaphorePtr complete = s4u::Semaphore::create(0);
  };

  void carry(Connection& connection, int source, int target) {
    for (;;) {
      connection.count->acquire();
      const Message message = connection.messages.front();
      connection.messages.pop_front();
      s4u::Comm::sendto(platform_.bulk(source), platform_.bulk(target),
                        static_cast<std::uint64_t>(std::llround(message.bytes)));
      Inbox& inbox = inboxes_[static_cast<std::size_t>(target)];
      if (++inbox.arrived[message.exchange] < platform_.flows() || inbox.awaited != message.exchange)
        continue;
      inbox.awaited = -1;
      inbox.complete->release();
    }
  }

  const Platform& platform_;
  double overhead_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Inbox> inboxes_;
};

/// The sums of a few values, of one host.
class Sums {
 public:
  Sums(const Platform& platform, int host, double overhead)
      : hosts_(platform.hosts()), host_(host), overhead_(overhead) {
    for (int other = 0; other < hosts_; ++other)
      if (hosts_ <= kFewHosts || is_neighbour(other)) from(other)->set_receiver(s4u::Actor::self());
  }

  void operator()(double bytes) {
    if (hosts_ <= kFewHosts && bytes <= kFewBytes)
      directly(bytes);
    else if (bytes <= kMostBytes)
      by_doubling(bytes);
    else
      along_a_tree(bytes);
  }

 private:
  void directly(double bytes) {
    for (int distance = 1; distance < hosts_; ++distance) send((host_ + distance) % hosts_, bytes);
    for (int distance = 1; distance < hosts_; ++distance) receive((host_ + hosts_ - distance) % hosts_);
  }

  void by_doubling(double bytes) {
    int power = 1;
    while (2 * power <= hosts_) power *= 2;
    const bool lends = host_ >= power, borrows = host_ < hosts_ - power;
    if (lends) send(host_ - power, bytes);
    if (borrows) receive(host_ + power);
    for (int distance = 1; distance < power && !lends; distance *= 2) {
      send(host_ ^ distance, bytes);
      receive(host_ ^ distance);
    }
    if (borrows) send(host_ + power, bytes);
    if (lends) receive(host_ - power);
  }

  /// Open MPI's: a binomial tree up, and another one down.
  void along_a_tree(double bytes) {
    int distance = 1;
    for (; distance < hosts_ && host_ % (2 * distance) == 0; distance *= 2)
      if (host_ + distance < hosts_) receive(host_ + distance);
    if (host_ > 0) {
      send(host_ - distance, bytes);
      receive(host_ - highest());
    }
    for (distance = host_ > 0 ? 2 * highest() : 1; host_ + distance < hosts_; distance *= 2)
      send(host_ + distance, bytes);
  }

  int highest() const {
    int bit = 1;
    while (2 * bit <= host_) bit *= 2;
    return bit;
  }
  bool is_neighbour(int other) const {
    const int distance = std::abs(other - host_);
    return distance > 0 && (distance & (distance - 1)) == 0;
  }
  static s4u::Mailbox* between(int source, int target) {
    return s4u::Mailbox::by_name(std::to_string(source) + ">" + std::to_string(target));
  }
  s4u::Mailbox* from(int source) {
    s4u::Mailbox*& mailbox = from_[source];
    if (!mailbox) mailbox = between(source, host_);
    return mailbox;
  }
  void send(int target, double bytes) {
    static int token = 0;
    s4u::Mailbox*& mailbox = to_[target];
    if (!mailbox) mailbox = between(host_, target);
    s4u::this_actor::sleep_for(overhead_);
    mailbox->put_init(&token, static_cast<std::uint64_t>(std::llround(bytes)))->detach();
  }
  void receive(int source) { from(source)->get<int>(); }

  int hosts_, host_;
  double overhead_;
  std::unordered_map<int, s4u::Mailbox*> from_, to_;
};

/// What the main thread of a rank does.
class Rank {
 public:
  Rank(const Schedule& schedule, const Platform& platform, Exchanges& exchanges, int host, Json& report)
      : schedule_(schedule), platform_(platform), exchanges_(exchanges), host_(host), report_(report) {}

  void operator()() {
    sums_.emplace(platform_, host_, schedule_.overhead);
    s4u::this_actor::sleep_for(1e-3);  // until all others receive
    for (int step = 0; step < kSteps; ++step) {
      times_ = {};
      const double begin = s4u::Engine::get_clock();
      forward();
      backward();
      timed("consensus", [&] { sum(schedule_.scalars); });
      s4u::this_actor::sleep_for(schedule_.update);
      publish();
      times_["step"] = s4u::Engine::get_clock() - begin;
    }
    if (host_ == 0) report_ = times_;
  }

 private:
  template <class Work>
  void timed(const char* what, Work work) {
    const double begin = s4u::Engine::get_clock();
    work();
    times_[what] += s4u::Engine::get_clock() - begin;
  }
  void sum(double bytes) {
    if (platform_.hosts() > 1) (*sums_)(bytes);
  }
  void compute(double seconds, const std::vector<double>& sums) {
    for (const double bytes : sums) {
      s4u::this_actor::sleep_for(seconds / static_cast<double>(sums.size()));
      timed("layers", [&] { sum(bytes); });
    }
    if (sums.empty()) s4u::this_actor::sleep_for(seconds);
  }

  void forward() {
    s4u::this_actor::sleep_for(schedule_.data);
    std::int64_t here = 0;
    for (const Layer& layer : schedule_.layers) {
      while (here < layer.last && !arrivals_.empty()) {
        timed("parameters", [&] { exchanges_.wait(host_, arrivals_.front().exchange); });
        here = arrivals_.front().bucket->last;
        arrivals_.pop_front();
      }
      compute(layer.forward, layer.forward_sums);
    }
  }

  void backward() {
    auto bucket = schedule_.buckets.begin();
    const auto finish = [&](std::int64_t position) {
      for (; bucket != schedule_.buckets.end() && bucket->first >= position; ++bucket)
        if (platform_.hosts() > 1) start(*bucket, bucket->gradients);
    };
    for (auto layer = schedule_.layers.rbegin(); layer != schedule_.layers.rend(); ++layer) {
      compute(layer->backward, layer->backward_sums);
      while (!arrivals_.empty() && exchanges_.is_complete(host_, arrivals_.front().exchange)) add();
      std::int64_t position = 0;
      for (auto before = layer + 1; before != schedule_.layers.rend(); ++before)
        position = std::max(position, before->last);
      finish(position);
    }
    while (!arrivals_.empty()) add();
  }
  void add() {
    timed("gradients", [&] { exchanges_.wait(host_, arrivals_.front().exchange); });
    timed("adding", [&] { s4u::this_actor::sleep_for(arrivals_.front().bucket->gradients / kAddedBytes); });
    arrivals_.pop_front();
  }

  void publish() {
    for (auto bucket = schedule_.buckets.rbegin(); bucket != schedule_.buckets.rend(); ++bucket)
      if (platform_.hosts() > 1) start(*bucket, bucket->parameters);
  }
  void start(const Bucket& bucket, double bytes) {
    timed("sending", [&] { arrivals_.push_back({exchanges_.start(host_, bytes), &bucket}); });
  }

  struct Arrival {
    int exchange;
    const Bucket* bucket;
  };
  const Schedule& schedule_;
  const Platform& platform_;
  Exchanges& exchanges_;
  int host_;
  Json& report_;
  std::optional<Sums> sums_;
  std::deque<Arrival> arrivals_;
  std::map<std::string, double> times_;
};

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  // No correction of SimGrid's own: n bytes on an idle link arrive latency + n / bandwidth after they are
  // sent.
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                              "surf/precision:1e-9", "contexts/stack-size:64"})
    s4u::Engine::set_config(setting);
  const Schedule schedule(Json::parse(std::cin));
  const Platform platform(schedule, argc > 1 ? std::stoi(argv[1]) : 1);
  Exchanges exchanges(platform, schedule.overhead);
  Json report;
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int host = 0; host < schedule.hosts; ++host) {
    ranks.push_back(std::make_unique<Rank>(schedule, platform, exchanges, host, report));
    s4u::Actor::create("rank", platform.host(host), [rank = ranks.back().get()] { (*rank)(); });
  }
  engine.run();
  std::cout << report.dump() << "\n";
}
