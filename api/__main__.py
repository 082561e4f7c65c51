"""`python -m tilewright`: the command line where the command is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
