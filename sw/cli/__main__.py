"""``python -m sw.cli``."""

if __name__ == "__main__":
    from sw.cli import process
    process.begin()
    from sw.cli.main import main
    try:
        process.started()
        code = main()
    except KeyboardInterrupt:
        code = process.interrupted()
    process.end(code)
