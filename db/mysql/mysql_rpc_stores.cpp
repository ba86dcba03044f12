// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/mysql_rpc_stores.h"

#include "db/mysql/rpc_store_factories.h"

namespace sluice {
namespace {

class MysqlUnitOfWork final : public UnitOfWork {
  public:
    explicit MysqlUnitOfWork(Database& db) : db_(db) {}
    void run(const std::function<void()>& work, const std::function<bool()>& took_place) override {
        db_.transaction(work, took_place);
    }
    void run_one(const std::function<void()>& work, const std::function<bool()>& took_place) override {
        db_.one_statement(work, took_place);
    }

  private:
    Database& db_;
};

}  // namespace

MysqlRpcStores::MysqlRpcStores(Database& db)
    : accounts_(make_account_store(db)),
      host_states_(make_host_state_store(db)),
      results_(make_rpc_result_store(db)),
      assignments_(make_assignment_store(db)),
      unit_of_work_(std::make_unique<MysqlUnitOfWork>(db)) {}
MysqlRpcStores::~MysqlRpcStores() = default;

RpcStores MysqlRpcStores::stores() { return {*accounts_, *host_states_, *results_, *assignments_, *unit_of_work_}; }

}  // namespace sluice
