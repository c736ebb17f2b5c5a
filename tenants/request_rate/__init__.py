"""How many requests a second a tenant may make: token buckets kept in Valkey."""
