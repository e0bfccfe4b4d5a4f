"""What is measured on rows before the model learns from them: shares and errors."""
