package engine

// SeedHash is the hash that Sample documents.
var SeedHash = seedHash
