"""Every figure and every claim of Arora, Cotter and Srebro (2013), measured again."""
