"""Plants and controllers that several tests of loops use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import mse

MASS, STIFFNESS = 10.0, 10.0 * (2 * np.pi) ** 2
PAIR = ("mass.x", "mass.x")


def oscillator(*, damped: bool = True, loss: float = 0.0) -> mse.LinearModel:
    """10 kg at 1 Hz with viscous Q 1000, or a loss factor."""
    damping = [[MASS * 2 * np.pi / 1000]] if damped else None
    model = mse.LinearModel.from_matrices([[MASS]], damping, [[STIFFNESS]], coordinates=["mass.x"], name="oscillator")
    return replace(model, losses=dict.fromkeys(model.parts, loss)) if loss else model


def damper(gain: float = 40.0, delay: float = 5e-3) -> mse.Controller:
    """``gain s/(1 + s/62.83)^2`` N/m with a delay."""
    corner = 62.8318530718
    return mse.Controller.zpk([0.0], [-corner, -corner], gain * corner**2, delay=delay)


def chain(n: int, *, loss: float = 0.0, damping: float = 1e-3) -> mse.LinearModel:
    """n masses of 1 kg in a row on springs of 1000 N/m, with damping in proportion."""
    k = 1e3 * (np.diag(np.r_[np.full(n - 1, 2.0), 1.0]) - np.eye(n, k=1) - np.eye(n, k=-1))
    names = [f"m{j}.x" for j in range(n)]
    model = mse.LinearModel.from_matrices(
        np.eye(n), damping * k if damping else None, k, coordinates=names, name="chain"
    )
    return replace(model, losses=dict.fromkeys(model.parts, loss)) if loss else model


def sampled_pd(kd: float, dt: float = 5e-3) -> mse.Controller:
    """``40 y + kd (y - y_before)/dt``, one sample late."""
    return mse.Controller.zpk([kd / dt / (40.0 + kd / dt)], [0.0], 40.0 + kd / dt, dt=dt, delay=dt)


def free_mass() -> mse.LinearModel:
    """10 kg that nothing holds."""
    return mse.LinearModel.from_matrices([[MASS]], None, [[0.0]], coordinates=["mass.x"], name="free mass")
