"""Benchmarks of speed, memory and cold starts. Ratios within one run carry over to other machines, times do not."""
