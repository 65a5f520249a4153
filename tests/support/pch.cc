// Carrier of the precompiled header of the torch tests.
