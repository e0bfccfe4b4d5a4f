"""The paper's algorithms: one file each, and the solver that takes their rules through a stream."""
