"""The speed benchmark: ``python -m benchmarks``."""

from benchmarks.command import main

if __name__ == "__main__":
    main()
