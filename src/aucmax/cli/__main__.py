"""``python -m aucmax.cli``: the command line."""

from aucmax.cli import main

if __name__ == "__main__":
    main()
