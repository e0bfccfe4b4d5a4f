"""How `PCA` learns: bounds on the energy of a row, held-out evidence for each, and the choice."""
