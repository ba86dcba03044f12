#pragma once
#include "rpc.h"

namespace sluice {

/// After the commit: account, host, jobs and the project's files into the reply; the host's time statistics to disk.
void finish_reply(Rpc& rpc);

}  // namespace sluice
