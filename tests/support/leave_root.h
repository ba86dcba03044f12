#pragma once

namespace sluice::test {

/// Started by root, a test program goes on as the account sluice-test (nobody where config/install-packages did not
/// make that one): what it starts has no rights on the machine. It starts anew for that, so that nothing of root's is
/// left in it (a process that changed its account can't be looked into by its own children). Comes back where nothing
/// is to be changed; where that account can't read the build it says so and stays root; with `keep` it stays root, too.
/// Call it first.
void leave_root(char** argv, bool keep = false);

}  // namespace sluice::test
