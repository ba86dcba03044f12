// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sluice/daemon/service.h"

namespace sluice::test {

class CountedNotices final : public Notices {
  public:
    void reread_tables() override { ++rereads; }
    int rereads = 0;
};

}  // namespace sluice::test
