"""Load shapes: who sends when. Closed loop (users) and open loop (arrivals at a rate)."""
