"""Measuring a service on questions whose answers somebody knows."""
