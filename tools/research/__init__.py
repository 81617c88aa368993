"""Scripts that fit and test the service's constants on public question sets; the service imports none of them."""
