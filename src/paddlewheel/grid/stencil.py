"""Divergence and gradient on the MAC grid."""

import numpy as np

from paddlewheel.kernel import kernel, prange
from paddlewheel.types import Faces

__all__ = [
    "as_faces",
    "divergence",
    "faces_beside",
    "faces_with_long_rows",
    "gradient",
    "layers_last",
    "mixed",
    "required",
    "with_long_rows",
    "with_rows",
    "without_rows",
    "z_first",
    "z_last",
]


def as_faces(faces: Faces, dtype) -> Faces:
    """The same faces as contiguous, writeable arrays of one type, which is what kernels are compiled for.

    Arrays that are so already are passed on, not copied.
    """
    x, y, z = faces
    x, y, z = required(x, dtype), required(y, dtype), required(z, dtype)
    nx, ny, nz = x.shape[0] - 1, y.shape[1] - 1, z.shape[2] - 1
    if not (x.shape == (nx + 1, ny, nz) and y.shape == (nx, ny + 1, nz) and z.shape == (nx, ny, nz + 1)):
        raise ValueError(f"faces of shapes {x.shape}, {y.shape}, {z.shape} do not belong to one grid")
    return Faces(x, y, z)


def faces_beside(cells: np.ndarray) -> Faces:
    """The faces that have one of some cells, bool, on one side or both."""
    out = []
    for a in range(3):
        faces = np.zeros([n + (axis == a) for axis, n in enumerate(cells.shape)], np.bool_)
        above = faces[tuple(slice(1, None) if axis == a else slice(None) for axis in range(3))]
        below = faces[tuple(slice(-1) if axis == a else slice(None) for axis in range(3))]
        below[:] = cells
        above |= cells
        out.append(faces)
    return Faces(*out)


def mixed(a: float, u: Faces, b: float, v: Faces) -> Faces:
    """a u + b v, float32."""
    u, v = as_faces(u, np.float32), as_faces(v, np.float32)
    out = Faces(*map(np.empty_like, u))
    for fields in zip(out, u, v, strict=True):
        _mix(*(field.reshape(-1) for field in fields), np.float32(a), np.float32(b))
    return out


@kernel
def _mix(out, u, v, a, b):
    for n in prange(len(out)):
        out[n] = a * u[n] + b * v[n]


def with_rows(field: np.ndarray) -> np.ndarray:
    """A field of a plane, one or two values thick along z, with that axis first, so that kernels have rows to run
    along; any other as it is. With one value it is the same memory."""
    nx, ny, nz = field.shape
    if nz == 1:
        return field.reshape(1, nx, ny)
    return np.ascontiguousarray(field.transpose(2, 0, 1)) if nz == 2 else field


def without_rows(field: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """A field that `with_rows` gave, in its own shape again."""
    if shape[2] == 1:
        return field.reshape(shape)
    return layers_last(field) if shape[2] == 2 else field


def layers_last(layers: np.ndarray) -> np.ndarray:
    """Two layers (2, nx, ny) as a field (nx, ny, 2): in a quarter of the time of a transposition."""
    field = np.empty((*layers.shape[1:], 2), layers.dtype)
    field[..., 0], field[..., 1] = layers
    return field


def with_long_rows(field: np.ndarray) -> np.ndarray:
    """A field of a plane, one or two values thick along z, with y and z exchanged, so that kernels have rows to run
    along and planes to share out; any other as it is. With one value it is the same memory."""
    return field if field.shape[2] > 2 else np.ascontiguousarray(field.swapaxes(1, 2))


def faces_with_long_rows(faces: Faces) -> Faces:
    """Faces of a plane with y and z exchanged: those along x, z, y; any other as they are."""
    if faces.x.shape[2] > 1:
        return faces
    return Faces(*map(with_long_rows, (faces.x, faces.z, faces.y)))


def z_first(faces: Faces) -> Faces:
    """Faces of a plane with its axes as z, x, y, so that kernels have rows to run along; others as they are."""
    nx1, ny, nz = faces.x.shape
    if nz > 1:
        return faces
    z = np.ascontiguousarray(faces.z.transpose(2, 0, 1))
    return Faces(z, faces.x.reshape(1, nx1, ny), faces.y.reshape(1, nx1 - 1, ny + 1))


def z_last(faces: Faces, shape: tuple[int, int, int]) -> Faces:
    """Faces that `z_first` gave, of cells of a shape, as they were."""
    nx, ny, nz = shape
    if nz > 1:
        return faces
    z, x, y = faces
    return Faces(x.reshape(nx + 1, ny, 1), y.reshape(nx, ny + 1, 1), layers_last(z))


def required(array, dtype) -> np.ndarray:
    """A contiguous, writeable array of one type, which is what kernels are compiled for: the same one if it is so.

    As np.require, which takes ten times as long to see that there is nothing to do.
    """
    if isinstance(array, np.ndarray) and array.dtype == dtype and array.flags.carray:
        return array
    return np.require(array, dtype, "CAW")


def divergence(velocity: Faces, open: Faces, h: float, solid_velocity: Faces | None = None) -> np.ndarray:
    """Net outflow of each cell [1/s], shape (nx, ny, nz), float64.

        (D u)_c = 1/h Σ_a ( F|_{c+a/2} − F|_{c−a/2} ),     F = w u + (1 − w) u_solid

    w is the open part of a face, u_solid [m/s] what moves through the rest of
    it (nothing when not given). Weighting by w makes D the transpose of the
    gradient in the kinetic-energy metric, so the pressure matrix is symmetric
    in cut cells.  B07 §2.1; R05 §2.

    Fields are float32 and summed in float64; a float64 velocity is not rounded.
    """
    velocity = as_faces(velocity, np.result_type(velocity.x, np.float32))
    open = as_faces(open, np.float32)
    moving = solid_velocity is not None
    solid_velocity = as_faces(solid_velocity, np.float32) if moving else open
    if not velocity.x.shape == open.x.shape == solid_velocity.x.shape:
        raise ValueError(
            f"velocity, open and solid_velocity have {velocity.x.shape}, {open.x.shape} "
            f"and {solid_velocity.x.shape} faces along x: expected the same grid"
        )
    out = np.zeros((velocity.y.shape[0], velocity.x.shape[1], velocity.x.shape[2]))
    _divergence(out, velocity, open, solid_velocity, moving, 1.0 / h)
    return out


@kernel
def _divergence(out, velocity, open, solid_velocity, moving, per_h):
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            for a in range(3):
                di, dj, dk = int(a == 0), int(a == 1), int(a == 2)
                u, u_next = velocity[a][i, j], velocity[a][i + di, j + dj, dk:]
                w, w_next = open[a][i, j], open[a][i + di, j + dj, dk:]
                for k in range(out.shape[2]):
                    flux = np.float64(w_next[k]) * u_next[k] - np.float64(w[k]) * u[k]
                    out[i, j, k] += flux * per_h
                if moving:
                    s, s_next = solid_velocity[a][i, j], solid_velocity[a][i + di, j + dj, dk:]
                    for k in range(out.shape[2]):
                        flux = (1.0 - w_next[k]) * s_next[k] - (1.0 - w[k]) * s[k]
                        out[i, j, k] += flux * per_h


def gradient(p: np.ndarray, h: float) -> Faces:
    """Differences of a cell-centred field over faces [unit of p per m], float64; zero on the domain's sides.

        (G p)_f = ( p_{f+a/2} − p_{f−a/2} ) / h

    G = −Dᵀ for w = 1 inside; the sides have no cell beyond them.  B07 §2.1.
    """
    p = np.asarray(p, np.float64)
    out = Faces(*(np.zeros([n + (a == axis) for a, n in enumerate(p.shape)]) for axis in range(3)))
    for a in range(3):
        inside = tuple(slice(1, -1) if axis == a else slice(None) for axis in range(3))
        np.divide(np.diff(p, axis=a), h, out=out[a][inside])
    return out
