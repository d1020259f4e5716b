"""``python -m sw.cli``."""

import sys

if __name__ == "__main__":
    try:
        from sw.cli.main import main
        code = main()
    except KeyboardInterrupt:
        print("graphloom: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)
