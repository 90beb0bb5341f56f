import argparse


def main():
    parser = argparse.ArgumentParser("drover")
    parser.add_argument("--version", action="store_true")
    parser.parse_args()
    raise NotImplementedError("coming soon")


if __name__ == "__main__":
    main()
