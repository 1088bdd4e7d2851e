"""What results come to in numbers: of policies, of programs, of links."""
