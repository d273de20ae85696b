# umbel/_volume_grid.py: VolumeGrid: numbers on a grid in space, and the files that hold them.
import os
import struct

from . import _core
from . import jit as dr
from ._variant_types import resolve


class VolumeGrid:
    """Values at the voxels of a box: an array of z, y, x and channels. `VolumeGrid(path)` reads a .vol file."""

    def __init__(self, source, compute_max=True, *, path=None, stream=None, array=None):
        import numpy as np
        source = next(s for s in (source, path, stream, array) if s is not None)
        self._box = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
        if isinstance(source, str) or hasattr(source, "__fspath__"):
            self._take(_core.read_voxels(os.fspath(source)))
        elif hasattr(source, "read_uint32") or hasattr(source, "read"):
            data = source.read(source.size() - source.tell()) if hasattr(source, "size") else source.read()
            self._take(_core.decode_voxels(bytes(data), "VolumeGrid"))
        else:
            data = np.asarray(source.numpy() if isinstance(source, dr.ArrayBase) else source)
            if data.ndim not in (3, 4):
                raise RuntimeError(f"VolumeGrid: the array has {data.ndim} dimensions; give z, y, x, and channels")
            self._data = np.ascontiguousarray(data.reshape(*data.shape[:3], -1), dtype=np.float32)
        channels = self._data.shape[3]
        self._most = self._data.reshape(-1, channels).max(axis=0).tolist() if compute_max else [0.0] * channels
        self._max = max(self._most)

    def _take(self, voxels):
        import numpy as np
        (x, y, z), channels, self._box, numbers = voxels
        self._data = np.frombuffer(numbers, np.float32).reshape(z, y, x, channels).copy()

    def write(self, target):
        """Writes a .vol file, or to a stream."""
        z, y, x, channels = self._data.shape
        data = b"VOL\x03" + struct.pack("<5i6f", 1, x, y, z, channels, *self._box) + self._data.astype("<f4").tobytes()
        if hasattr(target, "write"):
            target.write(data)
        else:
            with open(target, "wb") as f:
                f.write(data)

    def size(self):
        """Voxels along x, y and z."""
        z, y, x, _ = self._data.shape
        return resolve("ScalarVector3u")(x, y, z)

    def channel_count(self): return self._data.shape[3]
    def max(self): return self._max
    def set_max(self, value): self._max = float(value)
    def max_per_channel(self): return list(self._most)
    def set_max_per_channel(self, values): self._most = [float(v) for v in values]
    def bytes_per_voxel(self): return 4 * self.channel_count()
    def buffer_size(self): return self._data.nbytes

    @property
    def __array_interface__(self):
        return (self._data[..., 0] if self.channel_count() == 1 else self._data).__array_interface__

    def __repr__(self):
        z, y, x, channels = self._data.shape
        most = "".join(f"    {m:g}, \n" for m in self._most)
        return f"VolumeGrid[\n  size = [{x}, {y}, {z}],\n  channels = {channels},\n  max = {self._max:g},\n  max_channels = [\n" \
               f"{most}  ],\n  data = [ {self.buffer_size()} B of volume data ]\n]"
