"""What tuning found: where it is kept (`place`), the `database`, and what compilation asks of it (`records`)."""
