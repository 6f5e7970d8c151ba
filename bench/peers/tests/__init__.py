"""Tests of the pure parts; nothing is installed, nothing big is run."""
