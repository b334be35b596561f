"""The whole computer in one event loop, on a simulated disk, with simulated time: one seed repeats everything.

What runs is the product: the kernel, every room, the wiring (`disk_parts`, `open_computer`, `rebuild`), and the
engines for disks as they are shipped: the SQLite log and tables with real SQLite, the blob store, the folder, the
lock. They are not told: below `/simulated` the calls of the operating system and SQLite's file layer are answered
from memory.

What is simulated: the disk (lost, torn and reordered writes between syncs, names that are durable only when their
directory was synced, a full disk, errors of every call, Linux's failed fsync, one flipped byte), kill -9 and power
cuts at any operation and at any step of a task, time and clocks that are set, ids and salts, the order of tasks, a
slow worker, people who write in the folder at any moment.

What is not: git (commits are kept in memory and survive everything), the watcher (folders are looked at instead),
real threads, several processes at once (they come one after the other), permissions, leases and file systems
without exchange of names. SQLite keeps the index of its write-ahead log in its own memory here, because Python
cannot share it, so a second connection is refused; its files, and what it syncs when, are the same. A file that
lost writes in a power cut has a new time of change, never the old time with other bytes. These stay with
`tests/contract` and `tests/e2e`, which run on real disks.
"""
