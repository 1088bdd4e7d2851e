"""Training: the dissertation's characterisation of it, each published number beside ours."""
