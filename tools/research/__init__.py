"""Scripts behind the constants: what each of them does on public question sets. Nothing of the service imports them."""
