"""``python -m smelt_lm``: the command smelt."""
from ._program import main

if __name__ == "__main__":
    main()
