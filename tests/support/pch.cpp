// The object that carries the precompiled header of all tests.
