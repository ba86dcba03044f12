// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Upstream's build puts what it found of the machine into a header of this name; nothing of that is needed here.
