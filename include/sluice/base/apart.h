// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Work that may never end: a server or a file system that does not answer. Who waits for it waits as long as he likes.
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace sluice {

/// Does `work` on a thread of its own, which is left behind if nobody waits for it any more. So `work` holds copies.
template <typename Result>
std::future<Result> begin_apart(std::function<Result()> work) {
    auto promise = std::make_shared<std::promise<Result>>();
    std::future<Result> result = promise->get_future();
    std::thread([promise, work = std::move(work)] {
        try {
            promise->set_value(work());
        } catch (...) {
            promise->set_exception(std::current_exception());
        }
    }).detach();
    return result;
}

}  // namespace sluice
