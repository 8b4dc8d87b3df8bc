"""Synchronous classes."""
