"""The environments with the interface of Gymnasium."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from .. import _ferric
from ..errors import Invalid

Observation = npt.NDArray[np.float32]
_Action = Any
_Spaces = tuple[spaces.Box, "spaces.Space[Any]"]


def _spaces(environment: _ferric.Environment | _ferric.Environments) -> _Spaces:
    ranges = np.array([row[2:] for row in environment.quantities], dtype=np.float32)
    kind, count = environment.actions
    action: spaces.Space[Any]
    if kind == "choice":
        action = spaces.Discrete(count)
    elif kind == "switches":
        action = spaces.MultiBinary(count)
    else:
        low = -1.0 if kind == "levels" else 0.0
        action = spaces.Box(low, 1.0, (count,), np.float32)
    return spaces.Box(ranges[:, 0], ranges[:, 1], dtype=np.float32), action


def _numbers(action: _Action, dimensions: int) -> npt.NDArray[np.float64]:
    try:
        numbers = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is not None and numbers.ndim < dimensions:
        # one number for each environment
        numbers = numbers.reshape(*numbers.shape, 1)
    if numbers is None or numbers.ndim != dimensions:
        raise Invalid(
            f"action is {action!r}: use a value of the action space", code="invalid", parameter="action"
        )
    return numbers


def _seed(generator: np.random.Generator) -> int:
    return int(generator.integers(0, 2**63 - 1))


class FerricEnv(gymnasium.Env[Observation, Any]):
    """An environment on the stepped model of the emulated RAN.

    scenario: a TOML file (docs/scenarios.md) or its text; by default that of the environment, which `scenario_text` returns.
    step_ms: the time of the model that a step takes, 1 to 60000.
    episode_steps: the steps after which an episode is truncated.

    The info of `reset` and `step` has `time_s`, the time of the model in seconds.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    kind: ClassVar[str]
    default_step_ms: ClassVar[float]
    default_episode_steps: ClassVar[int]

    def __init__(
        self,
        *,
        scenario: str | None = None,
        step_ms: float | None = None,
        episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise Invalid(f"render_mode is {render_mode!r}: only None", code="invalid", parameter="render_mode")
        self.render_mode = None
        self.step_ms = self.default_step_ms if step_ms is None else step_ms
        self.episode_steps = self.default_episode_steps if episode_steps is None else episode_steps
        self._environment = _ferric.Environment(
            self.kind, scenario=scenario, step_ms=self.step_ms, episode_steps=self.episode_steps
        )
        observation_space, self.action_space = _spaces(self._environment)
        self.observation_space = cast("spaces.Space[Observation]", observation_space)

    @classmethod
    def scenario_text(cls) -> str:
        """The scenario of the environment: a text to begin an own one from."""
        return _ferric.environment_scenario(cls.kind)

    @property
    def quantities(self) -> list[tuple[str, str, float, float]]:
        """Name, unit, least and largest value of each number of an observation."""
        return self._environment.quantities

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        observation = self._environment.reset(_seed(self.np_random))
        return observation, {"time_s": self._environment.time_s}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        observation, reward, truncated = self._environment.step(_numbers(action, 1))
        return observation, reward, False, truncated, {"time_s": self._environment.time_s}

    def close(self) -> None:
        self._environment.close()


class FerricVectorEnv(gymnasium.vector.VectorEnv[Observation, Any, npt.NDArray[Any]]):
    """Several environments, stepped by threads without the GIL. An episode that has ended begins again with the next step.

    threads: the threads that step, of which the caller's is one; by default one for each processor, `num_envs` at most.

    Environment i, seeded with `seed + i`, has the results of a single environment with this seed.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    env: ClassVar[type[FerricEnv]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        threads: int | None = None,
        scenario: str | None = None,
        step_ms: float | None = None,
        episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise Invalid(f"render_mode is {render_mode!r}: only None", code="invalid", parameter="render_mode")
        self.render_mode = None
        if threads is None:
            threads = max(1, min(num_envs, len(os.sched_getaffinity(0)), 256))
        env = self.env
        self._environments = _ferric.Environments(
            env.kind,
            num_envs,
            threads=threads,
            scenario=scenario,
            step_ms=env.default_step_ms if step_ms is None else step_ms,
            episode_steps=env.default_episode_steps if episode_steps is None else episode_steps,
        )
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = _spaces(self._environments)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        values = 1 if isinstance(self.single_action_space, spaces.Discrete) else self.single_action_space.shape[0]  # type: ignore[index]
        self._no_actions = np.zeros((num_envs, values))
        self._no_seeds: list[int | None] = [None] * num_envs

    @property
    def quantities(self) -> list[tuple[str, str, float, float]]:
        """Name, unit, least and largest value of each number of an observation."""
        return self._environments.quantities

    def _info(self) -> dict[str, Any]:
        return {"time_s": self._environments.time_s, "_time_s": np.ones(self.num_envs, dtype=np.bool_)}

    def _next_seed(self, at: int) -> int:
        generator = self._generators[at]
        if generator is None:
            generator, _ = seeding.np_random()
            self._generators[at] = generator
        return _seed(generator)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds: Sequence[int | None] = [None if seed is None else int(seed) + at for at in range(self.num_envs)]
        else:
            seeds = seed
        if len(seeds) != self.num_envs:
            text = f"seed has {len(seeds)} values: one for each of {self.num_envs} environments"
            raise Invalid(text, code="invalid", parameter="seed")
        for at, value in enumerate(seeds):
            if value is not None:
                self._generators[at], _ = seeding.np_random(value)
        drawn = [self._next_seed(at) for at in range(self.num_envs)]
        observations, _, _ = self._environments.step(self._no_actions, drawn)
        self._ended[:] = False
        return observations, self._info()

    def step(
        self, actions: Any
    ) -> tuple[Observation, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        seeds = self._no_seeds
        if self._ended.any():
            seeds = [self._next_seed(at) if ended else None for at, ended in enumerate(self._ended)]
        observations, rewards, truncated = self._environments.step(_numbers(actions, 2), seeds)
        self._ended = truncated
        return observations, rewards, np.zeros(self.num_envs, dtype=np.bool_), truncated.copy(), self._info()

    def close_extras(self, **kwargs: Any) -> None:
        self._environments.close()


class SlicingEnv(FerricEnv):
    """Slicing: an action gives each slice of a cell a weight, by which the cell is divided."""

    kind = "slicing"
    default_step_ms = 10.0
    default_episode_steps = 1000


class TrafficControlEnv(FerricEnv):
    """Traffic control: an action selects queue, pacer and discipline of a bearer that a call and web pages share."""

    kind = "traffic-control"
    default_step_ms = 100.0
    default_episode_steps = 100


class LoadBalancingEnv(FerricEnv):
    """Load balancing: an action gives each cell a bias, by which the borders of the cells move."""

    kind = "load-balancing"
    default_step_ms = 1000.0
    default_episode_steps = 30


class EnergySavingEnv(FerricEnv):
    """Energy saving: an action puts cells to sleep."""

    kind = "energy-saving"
    default_step_ms = 1000.0
    default_episode_steps = 60


class SlicingVectorEnv(FerricVectorEnv):
    """Several environments of `SlicingEnv`."""

    env = SlicingEnv


class TrafficControlVectorEnv(FerricVectorEnv):
    """Several environments of `TrafficControlEnv`."""

    env = TrafficControlEnv


class LoadBalancingVectorEnv(FerricVectorEnv):
    """Several environments of `LoadBalancingEnv`."""

    env = LoadBalancingEnv


class EnergySavingVectorEnv(FerricVectorEnv):
    """Several environments of `EnergySavingEnv`."""

    env = EnergySavingEnv
