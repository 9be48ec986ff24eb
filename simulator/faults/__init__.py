"""What goes wrong in a virtual world: plans of faults, and one module for each family of them."""
