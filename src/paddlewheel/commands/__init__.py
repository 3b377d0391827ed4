"""What the commands of `paddlewheel` do: one file for each. With cli.py the only place that prints."""
