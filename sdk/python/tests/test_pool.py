"""Pools: each sandbox is handed out once, and ends with its holder; the errors of an empty
pool."""
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import unittest
from unittest import mock

from support import HUTCH, PATIENCE, Case, hutch, run, wait_until

from hutch.pool import _by_socket, _told


def listed(*words):
    return subprocess.run([HUTCH, *words], stdout=subprocess.PIPE, check=True).stdout.decode().split()


class Pools(Case):
    def test_each_is_had_once_and_ends_with_its_handle(self):
        with hutch.Pool(2) as pool:
            with pool.take() as one, pool.take(on_status=lambda *_: None) as other:
                self.assertNotEqual(one.id, other.id)
                self.assertEqual(one.run("echo on").content, "on")
            self.assertEqual(one.end().reason, "stopped")
            held = pool.take()
            held.close()
            held.wait(PATIENCE)
            self.assertEqual(held.end().limit, "lease")
        with self.assertRaises(hutch.InvalidError):
            pool.take()

    def test_many_threads_take_at_once(self):
        names, boxes = set(), []
        with hutch.Pool(3, hostname="mine") as pool:
            takers = [threading.Thread(target=lambda: boxes.append(pool.take(PATIENCE))) for _ in range(6)]
            for one in takers:
                one.start()
            for one in takers:
                one.join()
            for box in boxes:
                names.add(box.name)
                self.assertEqual(box.exec(["hostname"]).text, "mine\n")
                box.kill()
        self.assertEqual(len(names), 6)

    def test_a_kept_sandbox_lives_on_and_has_its_name(self):
        with hutch.Pool(1) as pool:
            box = pool.take(name=f"kept-{os.getpid()}", keep=True)
            with box:
                self.assertEqual(box.name, f"kept-{os.getpid()}")
        with hutch.Sandbox.attach(box.name) as again:
            self.assertEqual(again.id, box.id)
            again.kill()

    def test_a_kept_sandbox_that_no_caller_gets_is_ended(self):
        """The interrupt comes after the supervisor's action and before its answer is read."""
        name, keep, keep_async = f"lost-{os.getpid()}", hutch.Sandbox._keep, hutch.AsyncSandbox._keep

        def interrupted(box, release):
            keep(box, release)
            raise KeyboardInterrupt

        async def cancelled(box, release):
            await keep_async(box, release)
            raise asyncio.CancelledError

        async def lose():
            async with hutch.AsyncPool(1) as pool:
                with self.assertRaises(asyncio.CancelledError):
                    await pool.take(keep=True, name=name)
        with mock.patch.object(hutch.AsyncSandbox, "_keep", cancelled):
            run(lose())
        self.assertRaises(hutch.NotFoundError, hutch.Sandbox.attach, name)
        with mock.patch.object(hutch.Sandbox, "_keep", interrupted), hutch.Pool(1) as pool:
            self.assertRaises(KeyboardInterrupt, pool.take, keep=True, name=name)
        self.assertRaises(hutch.NotFoundError, hutch.Sandbox.attach, name)

    def test_a_pool_whose_start_is_cancelled_is_ended(self):
        """Its descriptor is closed, too; Case checks that after each test."""
        async def leave():
            pool = hutch.AsyncPool(1)
            starting = asyncio.ensure_future(pool.start())
            await asyncio.sleep(0)
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return pool
        self.assertIsNone(run(leave())._pool._lease)

    def test_a_child_that_leaves_the_block_ends_nothing(self):
        with hutch.Pool(1) as pool:
            child = os.fork()
            if child == 0:
                try:
                    lease = pool._lease
                    pool.__exit__(None, None, None)
                    os.fstat(lease)
                except OSError:  # it is closed here
                    os._exit(0)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            with pool.take(PATIENCE) as box:
                self.assertEqual(box.run("echo on").content, "on")

    def test_tasks_have_one_too(self):
        async def life():
            async with hutch.AsyncPool(2) as pool:
                async with await pool.take() as one, await pool.take(PATIENCE, name=f"t-{os.getpid()}") as other:
                    self.assertEqual(other.name, f"t-{os.getpid()}")
                    seen = await asyncio.gather(one.run("echo 1"), other.run("echo 2"))
                    return [each.content for each in seen]
        self.assertEqual(run(life()), ["1", "2"])

    def test_one_with_a_name_is_attached_to(self):
        name = f"pool-{os.getpid()}"
        subprocess.run([HUTCH, "pool", "create", "--size", "1", name], check=True, stdout=subprocess.PIPE)
        try:
            with hutch.Pool.attach(name) as pool, pool.take(PATIENCE) as box:
                self.assertTrue(box.name.startswith(name + "-"))
        finally:
            subprocess.run([HUTCH, "pool", "rm", name], check=True, stdout=subprocess.PIPE)
        with self.assertRaises(hutch.HutchError) as caught:
            hutch.Pool.attach(name).take()
        self.assertIn(name, str(caught.exception))

    def test_a_sandbox_that_cannot_be_made_says_why(self):
        with self.assertRaisesRegex(hutch.BuildError, "/no/such"):
            hutch.Pool(volume="/no/such:/x").start()
        with self.assertRaisesRegex(TypeError, "publish"):
            hutch.Pool(publish="auto:80")
        with hutch.Pool(1) as pool, pool.take():
            with self.assertRaises(hutch.InvalidError):
                pool.take(-1)

    def test_a_take_is_over_when_its_time_is(self):
        with hutch.Pool(1) as pool:
            told = subprocess.run([HUTCH, "pool", "ls", "--json"], stdout=subprocess.PIPE, check=True).stdout
            keeper = next(one["pid"] for one in json.loads(told) if one["name"] == pool.name)
            os.kill(keeper, signal.SIGSTOP)
            try:
                with self.assertRaises(hutch.HutchError):
                    pool.take(0.5)
            finally:
                os.kill(keeper, signal.SIGCONT)

    def test_every_fault_of_a_keeper_is_an_error_that_names_it(self):
        def take(said, reads=False):
            ours, theirs = socket.socketpair()
            theirs.sendall(said)

            def end():
                with theirs:
                    theirs.recv(65536)
            if reads:
                reader = threading.Thread(target=end)
                reader.start()
                self.addCleanup(reader.join)  # else the test's end may count it as left over
            else:
                theirs.close()
            with mock.patch("hutch.pool.connect_at", return_value=ours):
                return _by_socket("p", None)

        refused = {"code": -32000, "message": "256 clients are here", "data": {"kind": "limit"}}
        with self.assertRaisesRegex(hutch.HutchError, "256 clients") as caught:
            take(json.dumps({"jsonrpc": "2.0", "id": None, "error": refused}).encode() + b"\n")
        self.assertEqual(caught.exception.kind, "limit")
        for said, reads in (b"", False), (b"", True), (b"{", False):  # whether the peer reads the request
            with self.assertRaisesRegex(hutch.DisconnectedError, "pool p has ended"):
                take(said, reads)
        with self.assertRaisesRegex(hutch.ProtocolError, "no JSON"):
            take(b"garbage\n")
        with self.assertRaisesRegex(hutch.ProtocolError, "no JSON"):
            _told(b"garbage\n")

    def test_a_program_that_is_killed_leaves_none(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import hutch, os, signal\n"
                "pool = hutch.Pool(1).start(); box = pool.take()\n"
                "print(box.name, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n")
        done = subprocess.run([sys.executable, "-SEc", code, os.path.dirname(os.path.dirname(hutch.__file__))],
                              stdout=subprocess.PIPE)
        name = done.stdout.decode().strip()
        self.assertEqual(done.returncode, -9)
        subprocess.run([HUTCH, "wait", name], stdout=subprocess.PIPE)
        self.assertNotIn(name, listed("ps", "-q"))
        # The pool's keeper ends as well, since the program that started it was killed; it is no
        # child of this process, so its end is waited for by `pool ls`.
        wait_until(lambda: not listed("pool", "ls", "-q"))


class Leases(Case):
    """A sandbox without a pool that ends with the program that made it, as those of OpenHands'
    app server do."""

    def test_it_ends_with_its_program_however_that_ends(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import hutch, os\n"
                "box = hutch.Sandbox(); box._lease(); box.start(); box.publish('auto:80')\n"
                "print(box.name, *(port.guest for port in box.ports()), flush=True)\n"
                "os.kill(os.getpid(), int(sys.argv[2]))\n")
        for number in signal.SIGTERM, signal.SIGKILL:
            done = subprocess.run([sys.executable, "-SEc", code, os.path.dirname(os.path.dirname(hutch.__file__)),
                                   str(int(number))], stdout=subprocess.PIPE)
            name, *ports = done.stdout.decode().split()
            self.assertEqual((done.returncode, ports), (-number, ["80"]))
            subprocess.run([HUTCH, "wait", name], stdout=subprocess.PIPE)
            self.assertEqual(hutch.Sandbox(name).end().limit, "lease")
            subprocess.run([HUTCH, "rm", "-q", name], stdout=subprocess.PIPE, check=True)

    def test_it_ends_with_its_handle(self):
        box = hutch.Sandbox()
        box._lease()
        with box:
            self.assertEqual(box.run("echo on").content, "on")
        self.assertEqual(box.end().reason, "stopped")

    def test_a_program_that_cannot_make_it_keeps_no_descriptor(self):
        box = hutch.Sandbox(image="no such image")
        box._lease()
        with self.assertRaises(hutch.BuildError):
            box.start()
        with self.assertRaises(hutch.UnsupportedError):
            hutch.Sandbox(program=[HUTCH])._lease()


if __name__ == "__main__":
    unittest.main()
