// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/messages/trickle.h"

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "sluice/daemon/daemon.h"
#include "sluice/xml/reader.h"

namespace sluice {
namespace {

constexpr int kPage = 200;
constexpr double kDay = 86400, kCobblestoneScale = 200 / (kDay * 1e9);

/// Marked without effect: the message is wrong, and would be again.
bool refuse(MessageStore& store, const HostMessage& m, const std::string& why) {
    log_critical("[HOST#{}] message {} is not handled: {}", m.hostid, m.id, why);
    store.mark(m.id);
    return true;
}

void say_what_came(const HostMessage& m) {
    log_normal("[HOST#{}] message {} of variety '{}': {}", m.hostid, m.id, in_one_line(m.variety), in_one_line(m.xml));
}

}  // namespace

Turn TrickleService::turn() {
    int handled = 0;
    for (Id after = 0; !stop_requested();) {
        const std::vector<HostMessage> messages = store_.unhandled(variety_, after, kPage);
        if (messages.empty()) break;
        for (const HostMessage& message : messages) {
            if (stop_requested()) break;
            handled += handle_(message) ? 1 : 0;
        }
        after = messages.back().id;
    }
    if (handled > 0) log_normal("{} messages handled", handled);
    return handled > 0 ? Turn{TurnResult::kWorked} : idle();
}

std::optional<std::string> message_field(const std::string& text, const std::string& tag) {
    XmlReader xml(text);
    for (auto token = xml.next(); token != XmlReader::Kind::kEof; token = xml.next())
        if (token == XmlReader::Kind::kStart && xml.name() == tag) return xml.text(254);
    return std::nullopt;
}

double TrickleCredit::of(double runtime, double p_fpops) const {
    const double speed = p_fpops < 0 ? speeds.median : std::min(p_fpops, speeds.fast);
    return std::min(runtime, max_runtime) * speed * kCobblestoneScale;
}

HandleMessage echo_handler(MessageStore& store, const Clock& clock) {
    return [&store, &clock](const HostMessage& m) {
        say_what_came(m);
        store.answer(m.id, {0, m.hostid, clock.now_sec(), m.variety, "<trickle_down>\n" + m.xml + "</trickle_down>\n"});
        return true;
    };
}

HandleMessage return_handler(MessageStore& store, const Clock& clock) {
    return [&store, &clock](const HostMessage& m) {
        say_what_came(m);
        store.answer(m.id, {0, m.hostid, clock.now_sec(), "", m.xml});
        return true;
    };
}

HandleMessage credit_handler(MessageStore& store, const Clock& clock, double max_runtime, UsualSpeeds speeds) {
    struct Known {
        std::optional<HostSpeeds> speeds;
        double since = 0;  ///< UNIX s
    };
    return [&store, &clock, max_runtime, speeds = std::move(speeds), known = Known()](const HostMessage& m) mutable {
        constexpr double kAgain = 60;  // s, while they are not known
        if (clock.now() - known.since >= (known.speeds ? kDay : kAgain)) known = {speeds(), clock.now()};
        if (!known.speeds) {
            log_once_an_hour(LogLevel::kWarning,
                             "no host has recent credit above 10: the usual speed is not known yet, and messages wait");
            return false;
        }
        const auto text = message_field(m.xml, "runtime");
        const double runtime = text ? find_number("<r>" + *text + "</r>", "r").value_or(0) : 0;
        if (!(runtime > 0)) return refuse(store, m, "it holds no <runtime> above 0");
        if (runtime > max_runtime)
            log_normal("[HOST#{}] Reported runtime exceeds bound: {:f}>{:f}", m.hostid, runtime, max_runtime);
        const auto speed = store.host_speed(m.hostid);
        if (!speed) return refuse(store, m, "there is no such host");
        const double credit = TrickleCredit{max_runtime, *known.speeds}.of(runtime, *speed);
        log_debug("granting {:f} credit to host {}", credit, m.hostid);
        store.grant(m.id, m.hostid, credit, clock.now() - kDay, clock.now());
        return true;
    };
}

HandleMessage deadline_handler(MessageStore& store, const Clock& clock, std::int64_t period, double timeframe) {
    return [&store, &clock, period, timeframe](const HostMessage& m) {
        const auto result = message_field(m.xml, "result_name");
        if (!result || result->empty()) return refuse(store, m, "it holds no <result_name>");
        const double now = clock.now();
        const auto extended = store.extend(m.id, m.hostid, *result, static_cast<std::int64_t>(now),
                                           static_cast<std::int64_t>(now + timeframe), period);
        if (!extended)
            log_critical("[HOST#{}] message {}: the host has no result {}", m.hostid, m.id, in_one_line(*result));
        else if (*extended)
            log_normal("[HOST#{}] the deadline of {} is {} s later", m.hostid, in_one_line(*result), period);
        return true;
    };
}

HandleMessage script_handler(MessageStore& store, std::string program, double time_limit) {
    return [&store, program = std::move(program), time_limit](const HostMessage& m) {
        const int status = run_script(
            {program, std::to_string(m.hostid), std::to_string(m.id), std::to_string(m.create_time), m.variety},
            ScriptRun{.limit = time_limit, .input = &m.xml, .stop = stop_requested});
        if (status == 0) {
            store.mark(m.id);
            return true;
        }
        if (status == kScriptStopped)
            log_warning("[HOST#{}] message {}: {} did not end before this program; it is called again later", m.hostid,
                        m.id, program);
        else if (status == kScriptTimedOut)
            log_critical(
                "[HOST#{}] message {}: {} ran for {} s (--time_limit) and was killed; it is called again later",
                m.hostid, m.id, program, time_limit);
        else
            log_critical("[HOST#{}] message {}: {} ended with status {}; it is called again later", m.hostid, m.id,
                         program, status);
        return false;
    };
}

}  // namespace sluice
