// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/shmem_job_pool.h"

namespace sluice {

bool ShmemJobPool::claim(const SlotRef& ref) {
    auto claim = array_.claim(ref);
    if (!claim) return false;
    claims_.insert_or_assign(ref.index, std::move(*claim));
    return true;
}

void ShmemJobPool::release(const SlotRef& ref) { claims_.erase(ref.index); }

void ShmemJobPool::consume(const SlotRef& ref) {
    if (const auto it = claims_.find(ref.index); it != claims_.end()) {
        it->second.consume();
        claims_.erase(it);
    }
}

std::optional<SlotDoc> ShmemJobPool::document(const SlotRef& ref) const {
    const auto it = claims_.find(ref.index);
    if (it == claims_.end()) return std::nullopt;
    return it->second.doc();
}

std::optional<std::string> ShmemJobPool::workunit_xml(const SlotRef& ref) const {
    if (auto claimed = document(ref)) return std::move(claimed->wu_xml);
    if (auto seen = array_.peek_doc(ref)) return std::move(seen->wu_xml);
    return std::nullopt;
}

std::string ShmemJobPool::keywords(const SlotRef& ref) const {
    if (auto claimed = document(ref)) return std::move(claimed->keywords);
    if (auto seen = array_.peek_doc(ref)) return std::move(seen->keywords);
    return {};
}

bool ShmemJobPool::any_present() const { return array_.any_present(); }

}  // namespace sluice
