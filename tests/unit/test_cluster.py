"""Mapping by the workers of a real Dask cluster: the records of one machine, whatever happens to the workers."""

from __future__ import annotations

import http.client
import os
import resource
import signal
import stat
import sys
from contextlib import closing, suppress
from pathlib import Path

import brute_force as bf
import numpy as np
import pytest
from map_runs import lines_of as records

import gassst
from gassst import cluster
from gassst.cli import main as cli
from gassst.errors import InputError, OutputError, UsageError, WorkerError
from gassst.index.build_parts import build_parts
from gassst.index.parts import part_path
from gassst.model.params import MapParams

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
psutil = pytest.importorskip("psutil")  # Dask needs it

SHARDS = 6


@pytest.fixture(scope="module")
def client():
    options = {"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", "silence_logs": 60}
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options)
    with local, distributed.Client(local) as found:
        yield found


@pytest.fixture(scope="module")
def pairs(small_genome, tmp_path_factory) -> tuple[str, str]:
    rng = np.random.default_rng(7)
    folder, contig = tmp_path_factory.mktemp("pairs"), small_genome["one"]
    paths, texts = [folder / "1.fq", folder / "2.fq"], ([], [])
    for i in range(600):
        at = int(rng.integers(len(contig) - 400))
        fragment = contig[at : at + int(rng.normal(280, 20))]
        for text, bases in zip(texts, (fragment[:80], bf.reverse_complement(fragment)[:80]), strict=True):
            read = bf.mutate(rng, bases, 2).decode()
            text.append(f"@p{i}\n{read}\n+\n{'I' * len(read)}\n")
    for path, text in zip(paths, texts, strict=True):
        path.write_text("".join(text))
    return os.fspath(paths[0]), os.fspath(paths[1])


@pytest.fixture(scope="module")
def expected(small_index, pairs, tmp_path_factory) -> list[str]:
    out = tmp_path_factory.mktemp("one") / "out.bam"
    gassst.Mapper(small_index, threads=1, device="none").map_file(pairs[0], out, mates=pairs[1])
    return records(out)


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_pairs(client, small_index, pairs, expected, tmp_path):
    shares, out = [], tmp_path / "out.bam"
    stats = cluster.map(
        small_index,
        pairs[0],
        out,
        mates=pairs[1],
        client=client,
        progress=lambda _, share: shares.append(share),
    )
    assert records(out) == expected
    assert stats.reads == 1200 and stats.run["shards"] == len(shares) == 8
    assert shares == sorted(shares) and shares[-1] == 1
    assert left_in(tmp_path) == ["out.bam"]


def test_sorted_single_reads_in_an_index_in_parts(client, small_fasta, small_index, pairs, tmp_path):
    one, out, index = tmp_path / "one.sam", tmp_path / "out.sam", tmp_path / "ref.gsi"
    build_parts(small_fasta, index, 2)
    gassst.Mapper(small_index, threads=1, device="none", max_hits=3).map_file(pairs[0], one, sort=True)
    stage = tmp_path / "stage"
    for _ in range(2):
        cluster.map(
            index,
            pairs[0],
            out,
            client=client,
            shards=3,
            sort=True,
            stage=stage,
            params=MapParams(max_hits=3),
        )
        assert records(out) == records(one)
    [own_folder] = stage.iterdir()
    assert stat.S_IMODE(own_folder.stat().st_mode) == 0o700
    [copies] = own_folder.iterdir()
    own = [path.name for path in (index, *(Path(part_path(os.fspath(index), i)) for i in (1, 2)))]
    assert left_in(copies) == sorted(["lock", *own])


def test_command(client, small_index, pairs, expected, tmp_path, capsys):
    out = tmp_path / "out.bam"
    where = ["--dask", client.scheduler.address, "--dask-shards", "2", "-t", "1"]
    assert cli.main(["map", str(small_index), *pairs, "-o", str(out), *where]) == 0
    assert records(out) == expected
    assert "1,200" in capsys.readouterr().err
    for wrong, message in (
        (["--shard", "1/2"], "makes its own shards"),
        (["--memory", "1G"], "--device and --memory"),
        (["--dask-jobs", "0"], "at least 1"),
        (["--unmapped", str(tmp_path / "u.fq")], "--unmapped is not supported on a cluster"),
    ):
        assert cli.main(["map", str(small_index), *pairs, "-o", str(out), *where, *wrong]) == 2
        assert message in capsys.readouterr().err
    assert left_in(tmp_path) == ["out.bam"]


# --- what happens to workers ------------------------------------------------------------------------------------


def test_a_worker_that_is_killed(client, small_index, pairs, expected, tmp_path):
    pids = client.run(os.getpid)
    killed = []

    def kill_one(_stats, _share):
        if not killed:
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "out.bam"
    cluster.map(small_index, pairs[0], out, mates=pairs[1], client=client, shards=SHARDS, progress=kill_one)
    assert killed and records(out) == expected
    alive: set[int] = set()
    while len(alive) < 2:  # the scheduler may not know yet that one is gone
        alive = set(client.run(os.getpid, on_error="ignore").values()) - {killed[0]}


def limit_files(size: int) -> None:
    sys.dont_write_bytecode = True  # it would be cut off, and imported so
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size if size else hard, hard))


def test_a_full_disk(client, small_index, pairs, expected, tmp_path):
    """On one worker the shard goes to the other; on all of them the run ends."""
    workers = sorted(client.nthreads())
    out = tmp_path / "out.bam"
    map_them = {"mates": pairs[1], "client": client, "shards": SHARDS}
    try:
        client.run(limit_files, 2000, workers=workers[:1])
        cluster.map(small_index, pairs[0], out, **map_them)
        assert records(out) == expected
        out.unlink()
        client.run(limit_files, 2000)
        with pytest.raises(OutputError, match="cannot write .*File too large"):
            cluster.map(small_index, pairs[0], out, **map_them)
    finally:
        client.run(limit_files, 0)
    assert left_in(tmp_path) == []


def test_what_no_worker_can_do(client, small_index, pairs, tmp_path):
    bad = tmp_path / "bad.fq"
    bad.write_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nII\n" * 40)
    with pytest.raises(InputError, match="bad.fq"):
        cluster.map(small_index, bad, tmp_path / "out.bam", client=client, shards=2)
    with pytest.raises(InputError, match="none.gsi"):
        cluster.map(tmp_path / "none.gsi", pairs[0], tmp_path / "out.bam", client=client)
    with pytest.raises(UsageError, match="a regular file"):
        cluster.map(small_index, pairs[0], "-", client=client)
    with pytest.raises(OutputError, match="cannot write"):
        cluster.map(small_index, pairs[0], tmp_path / "no" / "out.bam", client=client)
    assert left_in(tmp_path) == ["bad.fq"]


def test_a_scheduler_that_is_gone(small_index, pairs, tmp_path):
    local = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=60
    )
    gone = pytest.raises(WorkerError, match="the Dask scheduler at .* is gone")
    with distributed.Client(local) as client, gone:
        cluster.map(
            small_index,
            pairs[0],
            tmp_path / "out.bam",
            client=client,
            shards=SHARDS,
            progress=lambda *_: local.close(),
        )
    assert left_in(tmp_path) == []


# --- what others may have put into a shared folder -----------------------------------------------------------


@pytest.mark.parametrize("how", ["others can enter", "a link", "of another owner"])
def test_a_folder_of_copies_is_of_its_owner_alone(small_index, tmp_path, how):
    own, elsewhere = tmp_path / f"gassst-{os.geteuid()}", tmp_path / "elsewhere"
    if how == "a link":
        elsewhere.mkdir(mode=0o700)
        own.symlink_to(elsewhere)
    else:
        own.mkdir(mode=0o755 if how == "others can enter" else 0o700)
    if how == "of another owner":
        if os.geteuid() != 0:
            pytest.skip("needs to give a folder to another user")
        os.chown(own, 12345, 12345)
    with pytest.raises(OutputError, match="only its owner can enter"):
        cluster.staged(str(small_index), str(tmp_path))
    assert not [*own.iterdir()]


def test_a_place_where_others_can_exchange_the_folder_is_not_used(small_index, tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(OutputError, match="set its sticky bit"):
        cluster.staged(str(small_index), str(tmp_path))
    tmp_path.chmod(0o1777)
    assert Path(cluster.staged(str(small_index), str(tmp_path))).exists()


def test_a_lock_that_is_a_link_is_not_followed(small_index, tmp_path):
    copies = Path(cluster.staged(str(small_index), str(tmp_path))).parent
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (copies / "lock").unlink()
    (copies / "lock").symlink_to(victim)
    with pytest.raises(OutputError, match="cannot be copied"):
        cluster.staged(str(small_index), str(tmp_path))
    assert victim.read_text() == "kept"


def test_a_copy_of_another_index_is_refused(small_index, small_fasta, tmp_path):
    copy = cluster.staged(str(small_index), str(tmp_path))
    gassst.Index.build(small_fasta, step=2).save(copy)
    with pytest.raises(InputError, match="a copy of an index other than"):
        cluster.staged(str(small_index), str(tmp_path))


def test_other_contents_under_the_header_of_the_index_are_refused(client, small_index, pairs, tmp_path):
    """Its checksums tell, before the output is complete."""
    stage, out = tmp_path / "stage", tmp_path / "out.bam"
    copy = Path(cluster.staged(str(small_index), str(stage)))
    data = bytearray(copy.read_bytes())
    at = len(data) // 2
    data[at : at + 4096] = bytes(255 - byte for byte in data[at : at + 4096])
    copy.write_bytes(data)
    with pytest.raises(InputError, match="damaged index"):
        cluster.map(small_index, pairs[0], out, client=client, shards=2, stage=stage)
    assert left_in(tmp_path) == ["stage"]


def listening() -> set[tuple[str, int]]:
    """Addresses and ports of this process and its children."""
    this = psutil.Process()
    return {
        tuple(connection.laddr)
        for process in (this, *this.children(recursive=True))
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


@pytest.fixture(scope="module")
def local_cluster():
    """A client of `--dask local`, and where that cluster listens."""
    pytest.importorskip("cryptography")
    before = listening()
    with cluster.client_of("local", threads=1) as found:
        yield found, listening() - before


def test_a_local_cluster_listens_on_loopback(local_cluster):
    _, places = local_cluster
    assert {address for address, _ in places} == {"127.0.0.1"}


def test_a_local_cluster_takes_no_code_without_its_certificate(local_cluster):
    """Plain TCP, and TLS with a certificate that somebody else made."""
    client, _ = local_cluster
    address, worker = client.scheduler.address, next(iter(client.nthreads()))
    assert address.startswith("tls://127.0.0.1:") and worker.startswith("tls://127.0.0.1:")
    strangers = distributed.Security(), distributed.Security.temporary()
    for place in (address, worker):
        for stranger, protocol in zip(strangers, ("tcp", "tls"), strict=True):
            with pytest.raises(OSError):
                distributed.Client(place.replace("tls", protocol), security=stranger, timeout="1s")
    assert client.submit(sum, (1, 2)).result() == 3


def test_a_local_cluster_serves_no_pages(local_cluster):
    """Those of Dask, which show logs and stacks, ask for no certificate."""
    pages = ["/", "/health", "/metrics", "/status", "/info/main/workers.html", "/json/identity.json"]
    servers = 0
    for address, port in local_cluster[1]:
        for page in pages:
            connection = http.client.HTTPConnection(address, port, timeout=5)
            with closing(connection), suppress(OSError, http.client.HTTPException):
                connection.request("GET", page)
                assert connection.getresponse().status == 404, page
                servers += 1
    assert servers


@pytest.fixture(scope="module")
def tls(tmp_path_factory) -> dict[str, str]:
    """Configuration of Dask for a certificate in files."""
    pytest.importorskip("cryptography")
    folder, temporary = tmp_path_factory.mktemp("tls"), distributed.Security.temporary()
    cert, key = folder / "cert.pem", folder / "key.pem"
    cert.write_text(temporary.tls_ca_file)
    key.write_text(temporary.tls_client_key)
    comm = "distributed.comm"
    names = {f"{comm}.require-encryption": True, f"{comm}.tls.ca-file": str(cert)}
    for role in ("scheduler", "worker", "client"):
        names |= {f"{comm}.tls.{role}.cert": str(cert), f"{comm}.tls.{role}.key": str(key)}
    return names


def test_a_shared_scheduler_with_tls(tls, small_index, pairs, expected, tmp_path):
    """The client finds the certificate in the configuration; without it there is one line."""
    local = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 60}
    with dask.config.set(tls), distributed.LocalCluster(**local) as shared:
        address, out = shared.scheduler.address, tmp_path / "out.bam"
        assert address.startswith("tls://")
        with cluster.client_of(address) as client:
            cluster.map(small_index, pairs[0], out, mates=pairs[1], client=client, shards=2)
        assert records(out) == expected
        bare = dict.fromkeys(tls) | {"distributed.comm.timeouts.connect": "1s"}
        with dask.config.set(bare), pytest.raises(WorkerError, match=f"--dask {address}: "):
            cluster.client_of(address).__enter__()
