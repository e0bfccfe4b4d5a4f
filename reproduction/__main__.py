"""The paper's figures and claims: ``python -m reproduction``."""

from reproduction.command import main

if __name__ == "__main__":
    main(prog_name="python -m reproduction")
