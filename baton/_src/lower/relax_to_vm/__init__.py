"""Relax with `call_tir` -> native entries, memory plans and bytecode."""
