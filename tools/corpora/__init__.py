"""How much of real folders of documents arrives in an index: a row of figures for each."""
