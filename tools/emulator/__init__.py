"""The built artefacts under AWS's Runtime Interface Emulator, as Lambda would run them."""
