"""What measures the instrument: the reference server, and our client beside its peers."""
