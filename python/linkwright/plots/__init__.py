"""Charts of results, and the shapes that they have in common."""
