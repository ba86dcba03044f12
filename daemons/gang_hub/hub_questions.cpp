// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/hub_questions.h"

#include <exception>
#include <utility>

namespace sluice {

HubAnswer answer_of(GangDirectory& directory, HubQuestion question) {
    HubAnswer answer{.question = std::move(question)};
    const HubQuestion& q = answer.question;
    try {
        switch (q.kind) {
            case HubQuestion::Kind::kSeat:
                answer.gang = directory.find(q.seat.gang);
                if (answer.gang) answer.instances = directory.instances(q.seat);
                break;
            case HubQuestion::Kind::kGiveUp: directory.give_up(q.seat.gang, q.missed, q.long_since); break;
            case HubQuestion::Kind::kEnd: directory.end(q.seat.gang); break;
        }
    } catch (const std::exception& e) {
        answer.trouble = e.what();
    }
    return answer;
}

}  // namespace sluice
