"""Steps of a change, and what undoes them."""
