"""What becomes of the words of an answer: read once into a tree, referenced, checked, restricted, printed."""
