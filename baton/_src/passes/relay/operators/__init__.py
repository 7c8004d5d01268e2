"""Replace operators by cheaper or fewer ones, fold them into weights, or change their precision."""
