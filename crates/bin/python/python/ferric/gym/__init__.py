"""Gymnasium environments on the stepped model of the emulated RAN; `pip install ferric[gym]`.

    >>> import gymnasium, ferric.gym
    >>> env = gymnasium.make("ferric/Slicing-v0")
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observation.shape
    (15,)

The ids are `ferric/Slicing-v0`, `ferric/TrafficControl-v0`, `ferric/LoadBalancing-v0` and `ferric/EnergySaving-v0`. With
`gymnasium.make_vec` several environments are stepped by threads. docs/gymnasium.md describes spaces, units and rewards.
"""

from __future__ import annotations

try:
    import gymnasium
except ImportError as error:
    raise ImportError("ferric.gym uses gymnasium: pip install 'ferric[gym]'") from error

from .environments import (
    EnergySavingEnv,
    EnergySavingVectorEnv,
    LoadBalancingEnv,
    LoadBalancingVectorEnv,
    SlicingEnv,
    SlicingVectorEnv,
    TrafficControlEnv,
    TrafficControlVectorEnv,
)

__all__ = [
    "EnergySavingEnv",
    "EnergySavingVectorEnv",
    "LoadBalancingEnv",
    "LoadBalancingVectorEnv",
    "SlicingEnv",
    "SlicingVectorEnv",
    "TrafficControlEnv",
    "TrafficControlVectorEnv",
]

for _name in ["Slicing", "TrafficControl", "LoadBalancing", "EnergySaving"]:
    if f"ferric/{_name}-v0" not in gymnasium.registry:
        gymnasium.register(
            id=f"ferric/{_name}-v0",
            entry_point=f"ferric.gym.environments:{_name}Env",
            vector_entry_point=f"ferric.gym.environments:{_name}VectorEnv",
        )
