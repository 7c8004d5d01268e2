"""Results of tuning: where they are stored (`place`), the `database`, and lookups by the compiler (`records`)."""
