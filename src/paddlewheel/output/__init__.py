"""What is made of a simulation: pictures."""
