"""Systems of linear equations and inequalities over the integers."""
