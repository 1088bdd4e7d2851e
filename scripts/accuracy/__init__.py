"""How true the model is, over every measured row that it can be asked about.

The measured rows stand in `validation/accuracy/` and beside it, each with its source. `make
accuracy` asks the model about all of them and writes `docs/accuracy.md`. Nothing is fitted here: a
bad figure stands on the page.
"""
