"""Whether a flag set can work, told before anything is touched: facts in, a verdict out."""
