"""How rows become components: chunks, rules, solvers, candidates."""
