"""Steps of training: what they take, by one way to communicate or another."""
