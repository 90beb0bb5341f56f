"""The tables of the record (see `record`). Times are UTC text of fixed width, but for lanes and leases: seconds since
1970."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

exchanges = sa.Table(
    "exchanges",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("request", sa.String(64), nullable=False, index=True),
    sa.Column("method", sa.String(16), nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("json", sa.Text, nullable=False),
)
sightings = sa.Table(
    "sightings",
    metadata,
    sa.Column("exchange_id", sa.String(64), sa.ForeignKey("exchanges.id"), primary_key=True),
    sa.Column("seen_at", sa.String(32), primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("epoch", sa.String(64), nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("headers", sa.Text, nullable=False),
    sa.Index("sightings_by_time", "seen_at"),
)
receipts = sa.Table(
    "receipts",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("paper", sa.String(64), nullable=False, index=True),
    sa.Column("json", sa.Text, nullable=False),
)
episodes = sa.Table(
    "episodes",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("edition", sa.String(128), nullable=False, index=True),
    sa.Column("paper", sa.String(64), nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("json", sa.Text, nullable=False),
)
turns = sa.Table(
    "turns",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("edition", sa.String(128), nullable=False, index=True),
    sa.Column("paper", sa.String(64), nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("response_sha256", sa.String(64), nullable=False),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("micro_usd", sa.BigInteger, nullable=False),
)
waiting = sa.Table(
    "waiting",
    metadata,
    sa.Column("line", sa.String(16), primary_key=True),
    sa.Column("request", sa.String(64), primary_key=True),
    sa.Column("epoch", sa.String(64), nullable=False),
    sa.Column("method", sa.String(16), nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("paper", sa.String(64), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("put_off_at", sa.String(32), nullable=False),
    sa.Column("not_before", sa.String(32)),
    sa.Column("tries", sa.Integer, nullable=False),
)
traffic = sa.Table(
    "traffic",
    metadata,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("host", sa.String(255), primary_key=True),
    sa.Column("paper", sa.String(64), primary_key=True),
    sa.Column("outcome", sa.String(16), primary_key=True),
    sa.Column("requests", sa.Integer, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)
lanes = sa.Table(
    "lanes",
    metadata,
    sa.Column("key", sa.String(1024), primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
)
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("request", sa.String(128), primary_key=True),
    sa.Column("owner", sa.String(512), nullable=False),
    sa.Column("until", sa.Double, nullable=False),
)
