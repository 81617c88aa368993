"""Builds the int8 ONNX embedding model from the pinned safetensors weights; runs at build time only."""
