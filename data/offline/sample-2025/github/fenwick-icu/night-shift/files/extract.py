"""Cut stays of at least 48 hours out of a local copy of MIMIC-IV."""
import sys
from pathlib import Path

import pandas as pd


def stays(root):
    icu = pd.read_csv(Path(root) / "icu" / "icustays.csv.gz", parse_dates=["intime", "outtime"])
    return icu[(icu.outtime - icu.intime).dt.total_seconds() >= 48 * 3600]


if __name__ == "__main__":
    stays(sys.argv[1]).to_parquet(Path(sys.argv[2]) / "stays.parquet")
