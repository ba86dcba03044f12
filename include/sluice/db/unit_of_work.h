#pragma once
#include <functional>

namespace sluice {

/// One database transaction. Writes of stores that are made inside `work` are kept all or none.
class UnitOfWork {
  public:
    virtual ~UnitOfWork() = default;
    /// Commits when `work` returns. Any exception of `work` rolls back and goes on up; a deadlock repeats `work`.
    virtual void run(const std::function<void()>& work) = 0;
};

}  // namespace sluice
