"""Training of models by layouts: groups, memory, and time where it is predicted."""
