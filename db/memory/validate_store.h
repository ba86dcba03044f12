// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "db/memory/memory_db.h"
#include "sluice/db/validate_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"

namespace sluice {

struct Workunit;

/// ValidateStore over a MemoryDb.
class MemoryValidateStore final : public ValidateStore {
  public:
    explicit MemoryValidateStore(MemoryDb& db) : db_(db) {}
    std::optional<App> app_by_name(const std::string& name) override;
    std::vector<WorkunitWithResults> page(const WorkunitFilter& filter, Id after, int limit) override;
    std::map<std::pair<Id, Id>, HostAppVersion> host_app_versions(std::span<const std::pair<Id, Id>> keys) override;
    std::map<Id, AppVersion> versions(Id appid) override;
    using ValidateStore::apply;
    std::vector<Validated> apply(std::span<const ValidationStep> steps, double now) override;

  private:
    Validated look(const WorkunitWithResults& read) const;
    bool is_as_decided(const ValidationWrite& w) const;
    void write(const ValidationStep& step, double now);
    void write_workunit(const Workunit& read, const ValidationWrite& w, double now);
    void write_statistics(const ValidationWrite& w, double now);
    void write_credit(const ValidationWrite::HostRow& h, double now);
    MemoryDb& db_;
};

}  // namespace sluice
