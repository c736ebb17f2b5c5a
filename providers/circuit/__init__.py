"""Whether an account answers: decided by all workers together, in Valkey."""
