"""From a completion to an answer: parsed once into a tree, referenced, checked, restricted, printed."""
