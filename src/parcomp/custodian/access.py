"""Keys to a dataset: made, listed and revoked by whoever has its settings.

The analyst of a request over the network is the name of its key.  Once the settings declare analysts, a key for one is
in a declared name, so that its quota is that analyst's; a custodian's key is in any name, and asks only if the settings
declare an analyst of that name.
"""

from __future__ import annotations

from dataclasses import dataclass

from parcomp.custodian.settings import Settings
from parcomp.errors import SettingsError, shown
from parcomp.ledger import AccessKey, Ledger, MarkFile, Role, find_key, key_digest, new_key, open_marked_ledger

__all__ = ["Access", "NewKey"]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key as it is told once, when it is made."""

    name: str
    role: Role
    key: str

    def __repr__(self) -> str:
        return f"<NewKey of {self.name}, {self.role}>"

    def as_json(self) -> dict[str, str]:
        """The key as the command line's ``--json`` prints it."""
        return {"name": self.name, "role": str(self.role), "key": self.key}


class Access:
    """The keys of a dataset, on connections of its own: looking a key up waits for no charge."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        mark = None if settings.mark is None else MarkFile(settings.mark)
        self._ledger: Ledger = open_marked_ledger(settings.ledger, settings.binding, mark)

    def close(self) -> None:
        """Let go of the ledger's database."""
        self._ledger.close()

    def __enter__(self) -> Access:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def add(self, name: str, role: Role | str) -> NewKey:
        """Make a key; it is told here and nowhere else."""
        role = Role(role)
        if role == Role.ANALYST and self.settings.quotas and name not in self.settings.quotas:
            known = ", ".join(sorted(self.settings.quotas))
            raise SettingsError(f"unknown analyst {shown(name)}; the settings name {known}")
        key = new_key()
        with self._ledger.transaction() as transaction:
            transaction.add_key(name, role, key_digest(key))
        return NewKey(name, role, key)

    def keys(self) -> list[AccessKey]:
        """All keys, revoked ones too."""
        return self._ledger.access_keys()

    def find(self, key: str) -> AccessKey | None:
        """The key that was presented, if it is good."""
        return find_key(self.keys(), key)

    def revoke(self, name: str, *, older: bool = False) -> list[AccessKey]:
        """Revoke the keys in a name, with ``older`` all but the latest one; those that were good till then."""
        if all(one.name != name or one.revoked for one in self.keys()):
            raise SettingsError(f"there is no key in the name {shown(name)} to revoke; see: parcomp keys list")
        with self._ledger.transaction() as transaction:
            return transaction.revoke_keys(name, older=older)
