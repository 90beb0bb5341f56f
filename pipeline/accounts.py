"""Who may enter the audit page: names, roles, passwords that nobody can read back, and sessions that can be ended.

Times are handed in, aware and UTC. Nothing here knows cookies or requests.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

import sqlalchemy as sa

from pipeline.database import steady
from pipeline.ledger import single_reads
from pipeline.record import stamp

Role = Literal["auditor", "adjudicator", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

MIN_PASSWORD = 12
SESSION = timedelta(hours=12)
GUESSES, WINDOW = 5, timedelta(minutes=15)
"""So many wrong passwords within the window lock a name; ten times as many from one address lock the address."""

_N, _R, _P = 2**14, 8, 5  # scrypt, as OWASP's password storage cheat sheet lists it: 16 MiB a guess

metadata = sa.MetaData()
accounts = sa.Table(
    "audit_accounts",
    metadata,
    sa.Column("name", sa.String(100), primary_key=True),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("salt", sa.String(32), nullable=False),
    sa.Column("password", sa.String(128), nullable=False),
    sa.Column("made_at", sa.String(32), nullable=False),
)
sessions = sa.Table(
    "audit_sessions",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),  # the hash of what the cookie holds
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("until", sa.String(32), nullable=False),
)
guesses = sa.Table(
    "audit_guesses",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, index=True),
    sa.Column("address", sa.String(64), nullable=False),
    sa.Column("at", sa.String(32), nullable=False),
)


class AccountError(ValueError):
    """A name, role or password that cannot be used; the message says why."""


class Locked(Exception):
    """Too many wrong passwords; nobody is let in for a while, whatever the password."""


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    role: Role

    @property
    def reads(self) -> bool:
        """Adjudicators see what others answered, so they read no rows themselves."""
        return self.role != "adjudicator"

    @property
    def adjudicates(self) -> bool:
        return self.role in ("adjudicator", "admin")


@steady
class Accounts:
    """Accounts of one store, for all its editions. Creates its tables where they are missing."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine, self._reads = engine, single_reads(engine)
        try:
            metadata.create_all(engine)
        except sa.exc.DBAPIError:  # another process made them between our look and our CREATE
            metadata.create_all(engine)

    def add(self, name: str, role: str, password: str, at: datetime) -> Account:
        """Raises AccountError for a name that is taken or odd, an unknown role, and a short password."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name, re.ASCII):
            raise AccountError(f"{name!r} is no plain name (letters, digits, '.', '_', '-'; at most 64)")
        if role not in ROLES:
            raise AccountError(f"{role!r} is no role; roles are {', '.join(ROLES)}")
        if len(password) < MIN_PASSWORD:
            raise AccountError(f"the password needs at least {MIN_PASSWORD} characters")
        salt = secrets.token_hex(16)
        row = {"name": name, "role": role, "salt": salt, "password": _hashed(password, salt), "made_at": stamp(at)}
        try:
            with self.engine.begin() as connection:
                connection.execute(sa.insert(accounts).values(row))
        except sa.exc.IntegrityError:
            raise AccountError(f"{name} has an account already") from None
        return next(one for one in self.all() if one.name == name)

    def all(self) -> list[Account]:
        with self._reads.connect() as connection:
            rows = connection.execute(sa.select(accounts.c.name, accounts.c.role).order_by(accounts.c.name)).all()
        return [Account(name, role) for name, role in rows]

    def enter(self, name: str, password: str, address: str, at: datetime) -> str | None:
        """A new session's secret for the right password, None for a wrong one or an unknown name.

        Raises Locked once a name or an address guessed too often; an unknown name costs the same time as a known one.
        """
        self._refuse_guessing(name[:100], address[:64], at)
        with self.engine.connect() as connection:
            row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).mappings().one_or_none()
        salt, kept = (row["salt"], row["password"]) if row is not None else ("0" * 32, "")
        if not hmac.compare_digest(_hashed(password[:1000], salt), kept):
            guess = {"name": name[:100], "address": address[:64], "at": stamp(at)}
            with self.engine.begin() as connection:
                connection.execute(sa.insert(guesses).values(guess))
            return None
        secret = secrets.token_urlsafe(32)
        with self.engine.begin() as connection:
            connection.execute(sa.delete(guesses).where(guesses.c.name == name))
            connection.execute(sa.delete(sessions).where(sessions.c.until < stamp(at)))
            row_ = {"id": _id(secret), "name": name, "until": stamp(at + SESSION)}
            connection.execute(sa.insert(sessions).values(row_))
        return secret

    def _refuse_guessing(self, name: str, address: str, at: datetime) -> None:
        recent = guesses.c.at > stamp(at - WINDOW)
        with self.engine.connect() as connection:
            of_name = sa.select(sa.func.count()).where(recent & (guesses.c.name == name))
            of_address = sa.select(sa.func.count()).where(recent & (guesses.c.address == address))
            by_name = connection.execute(of_name).scalar() or 0
            by_address = connection.execute(of_address).scalar() or 0
        if by_name >= GUESSES or by_address >= 10 * GUESSES:
            minutes = int(WINDOW.total_seconds() // 60)
            raise Locked(f"too many wrong passwords; try again in {minutes} minutes")

    def who(self, secret: str, at: datetime) -> Account | None:
        """Whose session it is, or None where it never was, was left, or is over."""
        query = (
            sa.select(accounts.c.name, accounts.c.role)
            .join(sessions, sessions.c.name == accounts.c.name)
            .where((sessions.c.id == _id(secret)) & (sessions.c.until > stamp(at)))
        )
        with self._reads.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Account(*row)

    def leave(self, secret: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.id == _id(secret)))


def _hashed(password: str, salt: str) -> str:
    made = hashlib.scrypt(password.encode(errors="surrogatepass"), salt=bytes.fromhex(salt), n=_N, r=_R, p=_P)
    return made.hex()


def _id(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
