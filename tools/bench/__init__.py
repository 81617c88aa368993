"""Benchmarks: what takes how long, side by side in one run. Ratios carry over to other machines, times do not."""
