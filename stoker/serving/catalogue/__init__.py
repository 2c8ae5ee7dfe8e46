"""What the parser of each SGLang version knows, recorded from its source and never typed."""
