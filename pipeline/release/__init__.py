"""From audited rows to a frozen release, and from a release's folder back to its proof.

`compose` derives everything a release says from recorded inputs; `gate` holds the validators; `freeze` writes the
folder; `verify` reads one and derives it again; `pack` carries the evidence that may not be redistributed.
"""
