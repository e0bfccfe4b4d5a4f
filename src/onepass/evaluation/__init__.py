"""What is measured on rows before the model learns from them: shares, errors, a sample."""
