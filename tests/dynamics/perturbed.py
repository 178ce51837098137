"""Linear models about motions against accelerations of motions beside them."""

import numpy as np

from mse.dynamics.charts import displaced, permitted
from mse.dynamics.moving import moving_at
from mse.model.joint_assembly import restored


def difference(instant, model, rng, h=2e-3):
    """What ``M x'' + Lambda x' + K x`` leaves on free motions, of a motion beside an instant, and the size of its terms.

    Both by central differences of fourth order.
    """
    moving = moving_at(instant)
    e, state, v0, time = moving.equations, moving.here.state, moving.v, instant.time
    bodies = 6 * (e.assembly.bodies - 1)
    space = model.null_space().basis.toarray()
    along, faster = (space @ rng.normal(size=space.shape[1]) for _ in range(2))
    w = v0[:bodies].reshape(-1, 6)[:, 3:]
    change = moving.a[:bodies].reshape(-1, 6)[:, 3:]

    def beside(step):
        there = e.evaluation(displaced(state, step * along))
        v = v0 + step * faster
        if e.assembly.constraint_count:
            there = restored(there)
            v = permitted(e, there, v, time)
        a = e.accelerations(there, v, time)[0]
        x = np.concatenate([np.zeros(bodies), there.state.q - state.q])
        six = x[:bodies].reshape(-1, 6)
        six[:, :3] = (there.state.o - state.o)[1:]
        six[:, 3:] = [vector(one @ two.T) for one, two in zip(there.state.U[1:], state.U[1:], strict=True)]
        return x, v - v0, a

    def central(step):
        return [0.5 / step * (one - two) for one, two in zip(beside(step), beside(-step), strict=True)]

    x, v, a = ((4 * fine - coarse) / 3 for fine, coarse in zip(central(h), central(2 * h), strict=True))
    turn = x[:bodies].reshape(-1, 6)[:, 3:]
    first, second = v.copy(), a.copy()
    first[:bodies].reshape(-1, 6)[:, 3:] += np.cross(w, turn)
    rate = first[:bodies].reshape(-1, 6)[:, 3:]
    second[:bodies].reshape(-1, 6)[:, 3:] += np.cross(change, turn) + np.cross(w, rate)
    terms = [space.T @ part for part in (model.M @ second, model.Lambda @ first, model.K @ x)]
    return np.abs(sum(terms)).max(), max(np.abs(t).max() for t in terms)


def vector(u):
    """Rotation vector of a matrix near the identity."""
    axis = np.array([u[2, 1] - u[1, 2], u[0, 2] - u[2, 0], u[1, 0] - u[0, 1]]) / 2
    sine = np.linalg.norm(axis)
    return axis * (np.arcsin(sine) / sine if sine else 1.0)
