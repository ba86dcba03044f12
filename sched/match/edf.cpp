#include "sched/match/edf.h"

#include <algorithm>
#include <cmath>

namespace sluice::match {
namespace {

/// When the processors of one resource become free; a job takes the `width` that are free first.
class Processors {
  public:
    explicit Processors(int count) : free_(static_cast<std::size_t>(std::max(count, 1)), 0.0) {}

    double run(double duration, std::size_t width) {
        width = std::clamp<std::size_t>(width, 1, free_.size());
        std::partial_sort(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(width), free_.end());
        const double finish = free_[width - 1] + duration;
        std::fill_n(free_.begin(), width, finish);
        return finish;
    }

  private:
    std::vector<double> free_;
};

}  // namespace

EdfSimulation::EdfSimulation(const std::array<int, kProcTypes>& processors, bool exact)
    : active_(true), exact_(exact), processors_(processors) {}

void EdfSimulation::add(const SimJob& job) {
    const auto later = [](const SimJob& a, const SimJob& b) { return a.deadline < b.deadline; };
    jobs_.insert(std::upper_bound(jobs_.begin(), jobs_.end(), job, later), job);
}

void EdfSimulation::settle() { simulate(jobs_); }

// A GPU shared by several jobs is several processors: 4 devices at 0.5 each are 8.
void EdfSimulation::simulate(std::vector<SimJob>& jobs) const {
    constexpr int kPartsPerDevice = 8;
    std::array<std::vector<Processors>, kProcTypes> pools;
    for (SimJob& job : jobs) {
        const ProcType type = exact_ ? job.type : ProcType::kCpu;
        const auto t = static_cast<std::size_t>(type);
        const bool gpu = type != ProcType::kCpu;
        if (pools[t].empty()) pools[t].emplace_back(processors_[t] * (gpu ? kPartsPerDevice : 1));
        double width = exact_ ? job.processors * (gpu ? kPartsPerDevice : 1) : 1;
        if (!(width >= 1)) width = 1;
        job.finish = pools[t][0].run(job.duration, static_cast<std::size_t>(std::min(std::ceil(width - 1e-9), 1e6)));
    }
}

EdfSimulation::Answer EdfSimulation::try_job(const SimJob& job) const {
    std::vector<SimJob> with = jobs_;
    const auto later = [](const SimJob& a, const SimJob& b) { return a.deadline < b.deadline; };
    const auto at = with.insert(std::upper_bound(with.begin(), with.end(), job, later), job);
    const auto mine = static_cast<std::size_t>(at - with.begin());
    simulate(with);
    if (with[mine].finish > job.deadline) return {false, false, with[mine].finish - job.deadline};
    for (std::size_t i = 0; i < with.size(); ++i) {
        if (i == mine) continue;
        const SimJob& before = jobs_[i < mine ? i : i - 1];
        const SimJob& after = with[i];
        const bool was_late = before.finish > before.deadline;
        if (was_late ? after.finish > before.finish : after.finish > after.deadline)
            return {false, true, after.finish - std::max(before.finish, after.deadline)};
    }
    return {};
}

}  // namespace sluice::match
