"""What a query is, and how millions of them are held."""
