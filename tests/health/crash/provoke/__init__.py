"""Failures of a real SGLang, provoked one after the other and recorded. Run by hand, as root."""
