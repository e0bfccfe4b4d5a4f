"""The scikit-learn face: one file per algorithm."""
