"""The three systems, each as numbers (Knobs) and a shape (build)."""
