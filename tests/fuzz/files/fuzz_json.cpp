// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as the JSON documents of sluice_sim, sluice_share and sluice_plan: an answer, or one line that names the
// place and what should stand there.
#include <cstdint>

#include "daemons/batches/fleet_plan.h"
#include "daemons/share/events.h"
#include "sched/sim/client_state_file.h"
#include "tests/fuzz/files/one_line.h"
#include "tests/fuzz/rpc/require.h"

namespace {

using namespace sluice;

template <class Answer>
void ask(const std::string& text, Answer answer) {
    try {
        REQUIRE(!answer(json::parse(text, "input")).empty());
    } catch (const json::InputError& error) {
        fuzz::require_one_line(
            error.what(), {"must", "is not JSON", "twice", "unknown", "missing", "there is no", "nested",
                           "has no quota: set one first", "is before the event in front of it", "has exactly one of",
                           "stands twice", "there are two", "is there twice", "is for jobs of other types"});
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    ask(text, [](const json::Object& document) { return client_decisions(read_client_json(document)); });
    ask(text, tags_after_events);
    ask(text, plan_document);
    return 0;
}
