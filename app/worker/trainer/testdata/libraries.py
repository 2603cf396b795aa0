"""What libraries of honest trainers do, and what works in the sandbox."""
import asyncio, mmap, multiprocessing, os, shutil, socket, subprocess, sys, tempfile, threading

import numpy as np


def answer(pipe):
    pipe.send(float(np.ones((200, 200)).dot(np.ones(200)).sum()))


# files, mapped with and without a name
with tempfile.TemporaryFile() as f:
    f.truncate(1 << 20)
    m = mmap.mmap(f.fileno(), 0)
    m[:4] = b"here"
    again = np.memmap(f, mode="r", shape=(1 << 20,))
    assert bytes(again[:4]) == b"here"
private = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
private[:4] = b"mine"
path = os.path.join(os.environ["TMPDIR"], "a")
np.save(path + ".npy", np.arange(1000))
shutil.copyfile(path + ".npy", path + ".copy")
assert (np.load(path + ".npy", mmap_mode="r+") == np.arange(1000)).all()
os.makedirs(path + "/b/c")
os.replace(path + ".copy", path + "/b/c/d")
shutil.rmtree(path)

# processes, pipes, pairs of sockets, threads
ours, theirs = multiprocessing.Pipe()
p = multiprocessing.get_context("fork").Process(target=answer, args=(theirs,))
p.start()
assert ours.recv() == 40000.0
p.join()
assert subprocess.run(["sh", "-c", "cat | cat"], input=b"x" * 100000, capture_output=True).stdout == b"x" * 100000
a, b = socket.socketpair()
a.sendall(b"x" * 1000)
assert b.recv(1000)
asyncio.run(asyncio.sleep(0.01))
t = threading.Thread(target=lambda: None)
t.start()
t.join()
assert "VmRSS" in open("/proc/self/status").read() and "libc" in open("/proc/self/maps").read()
assert len(os.listdir("/proc/self/fd")) > 2 and os.listdir("/proc/self/task")

try:
    import torch
except ModuleNotFoundError:
    print("without torch,", end=" ", file=sys.stderr)
else:
    layer = torch.nn.Linear(20, 3)
    loss = torch.nn.functional.cross_entropy(layer(torch.ones(64, 20)), torch.zeros(64, dtype=torch.long))
    loss.backward()
    torch.save(layer.state_dict(), path)
    assert torch.load(path)["weight"].shape == (3, 20)
    data = torch.utils.data.DataLoader(list(range(10)), batch_size=5, num_workers=0)
    assert len(list(data)) == 2
print("all works", file=sys.stderr)
