"""What each choice is worth: variants of a scenario on the same seeds, and what they come to."""
