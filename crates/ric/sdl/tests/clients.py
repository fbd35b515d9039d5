"""What redis-py and ricsdl, the SDL library of the O-RAN SC, do with the store: as they are installed, without changes.

DBAAS_SERVICE_HOST and DBAAS_SERVICE_PORT say where the store is, as on the reference platform. With FERRIC_SDL_PKI it is over TLS:
a folder with the CA (ca.pem), the certificate of an xApp that may write to its namespace (kpm.pem, kpm.key), and the CA of somebody else
(other/ca.pem).
"""

import os
import signal
import sys
import threading
import time

import redis

if "ricsdl" in sys.argv[1:]:
    from ricsdl.exceptions import RejectedByBackend
    from ricsdl.syncstorage import SyncStorage

NS = "namespace"


def wait_for(what, is_so):
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def check_keys(sdl):
    sdl.set(NS, {"a": b"1", "b": b"\x00\xff\r\n", "other": b"x"})
    assert sdl.get(NS, {"a", "b", "none"}) == {"a": b"1", "b": b"\x00\xff\r\n"}
    assert sorted(sdl.find_keys(NS, "*")) == ["a", "b", "other"]
    assert sorted(sdl.find_keys(NS, "[ab]")) == ["a", "b"]
    assert sdl.find_and_get(NS, "o*") == {"other": b"x"}
    assert sdl.find_keys("another", "*") == []
    sdl.remove(NS, {"a", "none"})
    assert sdl.get(NS, {"a"}) == {}
    sdl.remove_all(NS)
    assert sdl.find_keys(NS, "*") == []


def check_conditions(sdl):
    assert sdl.set_if_not_exists(NS, "a", b"1") is True
    assert sdl.set_if_not_exists(NS, "a", b"2") is False
    assert sdl.set_if(NS, "a", b"2", b"3") is False
    assert sdl.set_if(NS, "none", b"2", b"3") is False
    assert sdl.set_if(NS, "a", b"1", b"3") is True
    assert sdl.remove_if(NS, "a", b"1") is False
    assert sdl.remove_if(NS, "a", b"3") is True
    assert sdl.get(NS, {"a"}) == {}


def check_groups(sdl):
    sdl.add_member(NS, "group", {b"x", b"y"})
    sdl.add_member(NS, "group", {b"z"})
    assert sdl.get_members(NS, "group") == {b"x", b"y", b"z"}
    assert sdl.is_member(NS, "group", b"x") and not sdl.is_member(NS, "group", b"w")
    sdl.remove_member(NS, "group", {b"x", b"w"})
    assert sdl.group_size(NS, "group") == 2
    try:
        sdl.set_if(NS, "group", b"1", b"2")
        raise AssertionError("a group has no octets")
    except RejectedByBackend as error:
        assert "another kind" in str(error), error
    sdl.remove_group(NS, "group")
    assert sdl.get_members(NS, "group") == set()


def check_notifications(sdl):
    received = []
    sdl.subscribe_channel(NS, lambda channel, events: received.append((channel, events)), {"ch1", "ch2"})
    sdl.start_event_listener()
    publisher = SyncStorage()
    publisher.set_and_publish(NS, {"ch1": ["e1", "e2"], "ch2": "e3"}, {"a": b"1"})
    assert publisher.set_if_and_publish(NS, {"ch1": "e4"}, "a", b"1", b"2") is True
    assert publisher.set_if_and_publish(NS, {"ch1": "no"}, "a", b"1", b"2") is False
    assert publisher.set_if_not_exists_and_publish(NS, {"ch1": "no"}, "a", b"1") is False
    assert publisher.set_if_not_exists_and_publish(NS, {"ch1": "e5"}, "b", b"1") is True
    assert publisher.remove_if_and_publish(NS, {"ch1": "no"}, "b", b"9") is False
    assert publisher.remove_if_and_publish(NS, {"ch1": "e6"}, "b", b"1") is True
    publisher.remove_and_publish(NS, {"ch1": "no"}, {"none"})
    publisher.remove_and_publish(NS, {"ch1": "e7"}, {"a"})
    publisher.set(NS, {"c": b"1", "d": b"1"})
    publisher.remove_all_and_publish(NS, {"ch1": "e8"})
    assert publisher.find_keys(NS, "*") == []
    expected = [("ch1", ["e1", "e2"]), ("ch2", ["e3"])] + [("ch1", [f"e{number}"]) for number in range(4, 9)]
    wait_for(f"the notifications {received}", lambda: len(received) == len(expected))
    assert received == expected, received
    sdl.unsubscribe_channel(NS, {"ch1"})
    wait_for("the end of a subscription", lambda: publisher_count(publisher) == 0)
    publisher.close()


def publisher_count(publisher):
    """The subscribers of a channel, as a notification would reach them."""
    client = redis.Redis(os.environ["DBAAS_SERVICE_HOST"], int(os.environ["DBAAS_SERVICE_PORT"]))
    with client:
        return dict(client.pubsub_numsub(f"{{{NS}}},ch1"))[f"{{{NS}}},ch1".encode()]


def check_locks(sdl):
    lock = sdl.get_lock_resource(NS, "lock", expiration=30)
    other = SyncStorage().get_lock_resource(NS, "lock", expiration=30)
    assert lock.acquire() is True
    assert 28 < lock.get_validity_time() <= 30
    assert other.acquire(retry_interval=0.05, retry_timeout=0.2) is False
    lock.refresh()
    assert 28 < lock.get_validity_time() <= 30
    lock.release()
    assert other.acquire(retry_interval=0.05, retry_timeout=5) is True
    other.release()
    short = sdl.get_lock_resource(NS, "short", expiration=0.1)
    assert short.acquire() is True
    time.sleep(0.2)
    try:
        short.get_validity_time()
        raise AssertionError("the lock has ended")
    except RejectedByBackend as error:
        assert "-10" in str(error), error


def check_client(client):
    """Redis as redis-py uses it, beyond what SDL does."""
    assert client.ping()
    assert client.set("key", "value", px=10_000, nx=True) and client.get("key") == b"value"
    assert client.set("key", "other", nx=True) is None
    assert 9_000 < client.pttl("key") <= 10_000
    assert client.getset("key", "new") == b"value" and client.ttl("key") == -1
    assert client.mset({f"k{number}": number for number in range(100)})
    assert sorted(client.scan_iter("k[0-9]*", count=7)) == sorted(f"k{number}".encode() for number in range(100))
    assert client.mget("k1", "none", "k2") == [b"1", None, b"2"]
    assert client.incr("k1", 41) == 42 and client.decr("k1") == 41
    assert client.append("key", "er") == 5 and client.strlen("key") == 5
    assert client.exists("key", "k1", "none") == 2 and client.type("key") in (b"string", "string")
    with client.pipeline(transaction=True) as pipeline:
        assert pipeline.set("a", 1).incr("a").sadd("s", "x", "y").execute() == [True, 2, 2]
    assert client.smismember("s", ["x", "z"]) in ([1, 0], [True, False]) and client.smembers("s") == {b"x", b"y"}
    assert client.info()["role"] == "master"
    assert "setie" in client.command()
    pubsub = client.pubsub()
    pubsub.psubscribe("news.*")
    wait_for("the confirmation", lambda: (pubsub.get_message(timeout=1) or {}).get("type") == "psubscribe")
    assert client.publish("news.today", "text") == 1
    message = pubsub.get_message(timeout=5)
    assert message["type"] == "pmessage" and message["data"] == b"text", message
    pubsub.close()
    lock = client.lock("lock", timeout=10)
    assert lock.acquire(blocking=False) and lock.owned()
    assert lock.extend(10) and 15_000 < client.pttl("lock") <= 20_000
    assert lock.reacquire() and client.pttl("lock") <= 10_000
    lock.release()
    try:
        client.eval("return redis.call('get', KEYS[1])", 1, "key")
        raise AssertionError("the store is no interpreter")
    except redis.ResponseError as error:
        assert "scripts" in str(error), error
    try:
        client.lpush("list", "x")
        raise AssertionError("the store has no lists")
    except redis.ResponseError as error:
        assert "unknown command" in str(error), error
    assert client.delete(*client.keys("*")) > 100 and client.dbsize() == 0


def check_tls(host, port, pki):
    """A token or a certificate over TLS, and what is refused."""
    ca = {"ssl_ca_certs": f"{pki}/ca.pem"}
    url = f"rediss://operator:operator-operator@{host}:{port}"
    with redis.Redis.from_url(url, **ca) as client:
        check_client(client)
        long = bytes(range(256)) * 16384
        assert client.set("long", long) and client.get("long") == long and client.delete("long") == 1
    own = {"ssl_certfile": f"{pki}/kpm.pem", "ssl_keyfile": f"{pki}/kpm.key"}
    with redis.Redis(host, port, ssl=True, **ca, **own) as client:
        assert client.set("{kpm},key", "value") and client.get("{kpm},key") == b"value"
        expect(redis.exceptions.NoPermissionError, lambda: client.get("key"))
        pubsub = client.pubsub()
        pubsub.subscribe("{kpm},ch")
        wait_for("the confirmation", lambda: (pubsub.get_message(timeout=1) or {}).get("type") == "subscribe")
        assert client.publish("{kpm},ch", "event") == 1
        assert pubsub.get_message(timeout=5)["data"] == b"event"
        pubsub.close()
        client.delete("{kpm},key")
    refused = redis.exceptions.ConnectionError
    other = {"ssl_ca_certs": f"{pki}/other/ca.pem"}
    expect(refused, redis.Redis.from_url(url, **other).ping, "certificate verify failed")
    wrong = f"rediss://operator:operator-operatox@{host}:{port}"
    expect(redis.exceptions.RedisError, redis.Redis.from_url(wrong, **ca).ping, "unknown token")
    expect(redis.exceptions.RedisError, redis.Redis(host, port, ssl=True, **ca).ping, "")
    expect(redis.exceptions.RedisError, redis.Redis.from_url(url.replace("rediss:", "redis:")).ping, "TLS only")


def expect(error, call, text=""):
    try:
        call()
    except error as raised:
        assert text in str(raised), raised
        return
    raise AssertionError(f"no {error.__name__}")


def check_threads():
    """Twenty xApps that count with a lock, and without one."""
    def count():
        sdl = SyncStorage()
        lock = sdl.get_lock_resource(NS, "count-lock", expiration=10)
        for _ in range(10):
            assert lock.acquire(retry_interval=0.002, retry_timeout=20)
            value = int(sdl.get(NS, {"locked"}).get("locked", b"0"))
            sdl.set(NS, {"locked": str(value + 1).encode()})
            lock.release()
            while True:
                old = sdl.get(NS, {"conditional"}).get("conditional")
                if old is None:
                    done = sdl.set_if_not_exists(NS, "conditional", b"1")
                else:
                    done = sdl.set_if(NS, "conditional", old, str(int(old) + 1).encode())
                if done:
                    break
    threads = [threading.Thread(target=count) for _ in range(20)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert SyncStorage().get(NS, {"locked", "conditional"}) == {"locked": b"200", "conditional": b"200"}


def main():
    signal.alarm(120)  # what waits for ever fails
    host, port = os.environ["DBAAS_SERVICE_HOST"], int(os.environ["DBAAS_SERVICE_PORT"])
    if "ricsdl" in sys.argv[1:]:
        sdl = SyncStorage()
        assert sdl.is_active()
        for check in [check_keys, check_conditions, check_groups, check_notifications, check_locks]:
            check(sdl)
        check_threads()
        sdl.remove_all(NS)
        sdl.close()
    if "redis" in sys.argv[1:]:
        if pki := os.environ.get("FERRIC_SDL_PKI"):
            check_tls(host, port, pki)
        else:
            with redis.Redis(host, port) as client:
                check_client(client)
    print(f"redis-py {redis.__version__}: all holds")


main()
