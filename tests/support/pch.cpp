// SPDX-License-Identifier: LGPL-3.0-or-later
// The object that carries the precompiled header of all tests.
