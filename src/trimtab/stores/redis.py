"""How to open a store on a Redis or Valkey server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.errors import MissingExtraError

if TYPE_CHECKING:
    from trimtab.stores.redis_server import RedisStore

__all__ = ["redis"]

_DAY_SECONDS = 86_400.0


def redis(
    url: str = "redis://localhost:6379/0",
    *,
    ttl_seconds: float = 30 * _DAY_SECONDS,
    prefix: str = "trimtab:",
    is_cluster: bool = False,
) -> RedisStore:
    """Make a store on a server that many machines share: Redis 6.2 or newer, or Valkey.

    Args:
        url: ``redis://``, ``rediss://`` (TLS) or ``unix://``, with user and password where the
            server wants them; neither is ever shown.
        ttl_seconds: What was not used for so long is forgotten.
        prefix: What all keys begin with.
        is_cluster: Whether the server is one of a cluster.

    Raises:
        MissingExtraError: If the client is not installed: ``pip install 'trimtab[redis]'``.
        PolicyError: If a setting cannot hold.
    """
    try:
        from trimtab.stores.redis_server import RedisStore  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name != "redis":
            raise
        raise MissingExtraError("a store on a Redis server", "redis") from None
    return RedisStore(url, ttl_seconds, prefix.encode(), is_cluster=is_cluster)
