// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a frame between a daemon and a project's own program: refused in a line, or what was read is written and
// read again without a change.
#include <cstdint>
#include <string>

#include "daemons/handlers/wire.h"
#include "tests/fuzz/rpc/require.h"

namespace {

using namespace sluice;

template <class Frame, class Write>
void ask(const std::string& text, Write write) {
    try {
        Frame frame, again;
        from_wire(text, frame);
        const std::string written = write(frame);
        REQUIRE(written.size() == text.size());
        from_wire(written, again);
        REQUIRE(write(again) == written);
    } catch (const WireError& error) {
        REQUIRE(*error.what() != '\0');
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto same = [](const auto& frame) { return to_wire(frame); };
    ask<WireHello>(text, same);
    ask<JudgeAnswer>(text, same);
    ask<AssimilateQuestion>(text, same);
    ask<Assimilated>(text, same);
    ask<JudgeQuestion>(
        text, [](const JudgeQuestion& q) { return to_wire(q.wu, q.results, q.files, q.asked, q.app_target_nresults); });
    return 0;
}
