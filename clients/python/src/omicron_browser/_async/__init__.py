"""Asynchronous classes."""
