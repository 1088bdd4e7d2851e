"""Programs on servers and the network between them: scenarios, recorded traces, applications."""
