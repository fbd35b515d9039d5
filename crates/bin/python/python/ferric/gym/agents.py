"""Small agents in NumPy, one for each environment: two methods, and what each agent sees and does.

    >>> from ferric.gym import agents
    >>> policy = agents.train("Slicing", seed=1, rounds=1, episodes=2, episode_steps=20)
    >>> returns = agents.evaluate("Slicing", policy, seeds=[1001, 1002], episode_steps=20)
    >>> len(returns["reward"])
    2

`CrossEntropy` searches the parameters of a policy; `QTable` learns the values of choices in a few states. docs/gymnasium.md
describes the agents and what they reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import environments

Floats = npt.NDArray[np.float64]
Observations = npt.NDArray[np.float32]
#: Rows of observations to rows of actions.
Policy = Callable[[Observations], npt.NDArray[Any]]


class CrossEntropy:
    """The cross-entropy method (Rubinstein 1999): draws parameters from a normal distribution, and moves it to the best ones."""

    def __init__(self, mean: Floats, spread: float, generator: np.random.Generator, candidates: int) -> None:
        self.mean = mean.astype(np.float64)
        self.spread = np.full(len(mean), spread)
        self.generator = generator
        self.candidates = candidates

    def ask(self) -> Floats:
        """The next candidates, in rows. The first one is the mean."""
        drawn = self.mean + self.spread * self.generator.standard_normal((self.candidates, len(self.mean)))
        drawn[0] = self.mean
        return drawn

    def tell(self, drawn: Floats, returns: Floats) -> None:
        """What the candidates have reached."""
        best = drawn[np.argsort(returns)[-max(2, self.candidates // 4) :]]
        self.mean = best.mean(axis=0)
        # the spread shrinks slowly, so that one lucky episode does not end the search
        self.spread = 0.7 * best.std(axis=0) + 0.3 * self.spread


class QTable:
    """Q-learning (Watkins 1989) with a table: the value of each choice in each state."""

    def __init__(self, states: int, choices: int, generator: np.random.Generator, discount: float) -> None:
        self.values = np.zeros((states, choices))
        self.visits = np.zeros((states, choices))
        self.generator = generator
        self.discount = discount

    def act(self, states: npt.NDArray[np.int64], exploration: float) -> npt.NDArray[np.int64]:
        """A choice for each state: the best one, or with the probability `exploration` any."""
        best: npt.NDArray[np.int64] = self.values[states].argmax(axis=1)
        drawn = self.generator.integers(0, self.values.shape[1], len(states))
        return np.where(self.generator.random(len(states)) < exploration, drawn, best)

    def learn(
        self,
        states: npt.NDArray[np.int64],
        choices: npt.NDArray[np.int64],
        rewards: Floats,
        following: npt.NDArray[np.int64],
    ) -> None:
        """What choices in states have led to."""
        for state, choice, reward, then in zip(states, choices, rewards, following, strict=True):
            self.visits[state, choice] += 1
            rate = max(0.02, 1.0 / self.visits[state, choice])
            target = reward + self.discount * self.values[then].max()
            self.values[state, choice] += rate * (target - self.values[state, choice])


def slicing_weights(parameters: Floats, observations: Observations) -> npt.NDArray[np.float64]:
    """The weights of slices: the softmax of a linear function of each slice's volume, usage and buffer.

    parameters: four for each slice, in rows of their candidates. observations: five quantities for each slice.
    """
    quantities = observations.reshape(len(observations), -1, 5).astype(np.float64)
    scale = np.array([0.05, 0.01, 0.02])
    # Mbit/s, %, and kB up to 200
    seen = np.stack([quantities[:, :, 0], quantities[:, :, 1], np.minimum(quantities[:, :, 3], 200.0)], axis=2) * scale
    weights = np.atleast_2d(parameters).reshape(-1, quantities.shape[1], 4)
    linear = weights[:, :, 0] + (weights[:, :, 1:] * seen).sum(axis=2)
    powers = np.exp(linear - linear.max(axis=1, keepdims=True))
    shares: npt.NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def balancing_levels(parameters: Floats, observations: Observations) -> npt.NDArray[np.float64]:
    """The biases of cells: one function of a cell's usage, active UEs and bias, each against the mean of all cells.

    parameters: three, in rows of their candidates. observations: five quantities for each cell.
    """
    quantities = observations.reshape(len(observations), -1, 5).astype(np.float64)
    seen = quantities[:, :, [0, 1, 4]] * np.array([0.01, 0.1, 1.0 / 3.0])
    seen = seen - seen.mean(axis=1, keepdims=True)
    levels: npt.NDArray[np.float64] = np.tanh((np.atleast_2d(parameters)[:, None, :] * seen).sum(axis=2))
    return levels


def traffic_states(observations: Observations) -> npt.NDArray[np.int64]:
    """The state of a bearer: three levels of what waits in RLC."""
    levels: npt.NDArray[np.int64] = np.digitize(observations[:, 3], [20.0, 200.0]).astype(np.int64)
    return levels


def energy_states(observations: Observations) -> npt.NDArray[np.int64]:
    """The state of four cells: six levels of the traffic that arrives, and how many are to sleep."""
    quantities = observations.reshape(len(observations), -1, 6)
    level = np.digitize(quantities[:, :, 2].sum(axis=1), [10.0, 25.0, 40.0, 55.0, 65.0])
    asleep = quantities[:, :, 5].sum(axis=1)
    states: npt.NDArray[np.int64] = (level * quantities.shape[1] + asleep).astype(np.int64)
    return states


def energy_switches(choices: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """The last `choice` of four cells sleep: the first one never does."""
    return (np.arange(4) >= 4 - choices[:, None]).astype(np.int8)


def _vector(name: str, count: int, **options: Any) -> environments.FerricVectorEnv:
    env: environments.FerricVectorEnv = getattr(environments, f"{name}VectorEnv")(count, **options)
    return env


def _run(
    env: environments.FerricVectorEnv, seeds: Sequence[int], act: Policy, learn: Callable[..., None] | None = None
) -> tuple[Floats, Observations]:
    """One episode of each environment. Returns the mean reward and the mean observation of each."""
    observations, _ = env.reset(seed=list(seeds))
    rewards, seen, steps = np.zeros(env.num_envs), np.zeros(observations.shape), 0
    ended = False
    while not ended:
        actions = act(observations)
        following, reward, _, truncated, _ = env.step(actions)
        if learn is not None:
            learn(observations, actions, reward, following)
        observations, rewards, seen, steps = following, rewards + reward, seen + following, steps + 1
        ended = bool(truncated.all())
    return rewards / steps, (seen / steps).astype(np.float32)


def baseline(name: str) -> Policy:
    """The policy that leaves everything as the shipped scenario has it."""
    if name == "Slicing":
        # of the 94 % that weights divide: 40, 20 and 40 %
        return lambda observations: np.tile((np.array([40.0, 20.0, 40.0]) - 2.0) / 94.0, (len(observations), 1))
    if name == "TrafficControl":
        return lambda observations: np.zeros(len(observations), np.int64)
    if name == "LoadBalancing":
        return lambda observations: np.zeros((len(observations), observations.shape[1] // 5))
    return lambda observations: np.zeros((len(observations), observations.shape[1] // 6), np.int8)


def _cross_entropy(
    name: str,
    act: Callable[[Floats, Observations], npt.NDArray[Any]],
    start: Floats,
    seed: int,
    rounds: int,
    episodes: int,
    report: Callable[[int, float], None],
    **options: Any,
) -> Policy:
    search = CrossEntropy(start, 1.0, np.random.default_rng(seed), 16)
    env = _vector(name, search.candidates, **options)
    for number in range(rounds):
        drawn = search.ask()
        returns = np.zeros(search.candidates)
        for episode in range(episodes):
            # all candidates meet the same episodes
            seeds = [seed * 1_000_000 + number * episodes + episode] * search.candidates
            returns += _run(env, seeds, lambda seen: act(drawn, seen))[0] / episodes
        search.tell(drawn, returns)
        report(number, float(returns[0]))
    env.close()
    found = search.mean
    return lambda seen: act(found, seen)


def _q_table(
    name: str,
    table: QTable,
    states: Callable[[Observations], npt.NDArray[np.int64]],
    actions: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]],
    seed: int,
    rounds: int,
    episodes: int,
    report: Callable[[int, float], None],
    **options: Any,
) -> Policy:
    env = _vector(name, episodes, **options)
    for number in range(rounds):
        exploration = max(0.02, 1.0 - 1.25 * number / rounds)
        chosen: list[npt.NDArray[np.int64]] = []

        def act(seen: Observations) -> npt.NDArray[Any]:
            chosen.append(table.act(states(seen), exploration))
            return actions(chosen[-1])

        def learn(before: Observations, _: Any, reward: Floats, after: Observations) -> None:
            table.learn(states(before), chosen[-1], reward, states(after))

        seeds = [seed * 1_000_000 + number * episodes + episode for episode in range(episodes)]
        reward, _ = _run(env, seeds, act, learn)
        report(number, float(reward.mean()))
    env.close()
    return lambda seen: actions(table.act(states(seen), 0.0))


#: Rounds, and episodes in a round, of the trainings in docs/gymnasium.md.
ROUNDS = {"Slicing": (20, 2), "TrafficControl": (40, 8), "LoadBalancing": (8, 2), "EnergySaving": (6, 6)}


def train(
    name: str,
    *,
    seed: int = 1,
    rounds: int | None = None,
    episodes: int | None = None,
    report: Callable[[int, float], None] = lambda number, reward: None,
    **options: Any,
) -> Policy:
    """Trains the agent of an environment, such as `Slicing`.

    seed: of the agent and of its episodes. rounds: of learning. episodes: in a round. report: called with the number of each
    round and its mean reward of a step. options: of the environment.
    """
    rounds = ROUNDS[name][0] if rounds is None else rounds
    episodes = ROUNDS[name][1] if episodes is None else episodes
    if name == "Slicing":
        return _cross_entropy(name, slicing_weights, np.zeros(12), seed, rounds, episodes, report, **options)
    if name == "LoadBalancing":
        return _cross_entropy(name, balancing_levels, np.zeros(3), seed, rounds, episodes, report, **options)
    generator = np.random.default_rng(seed)
    if name == "TrafficControl":
        table = QTable(3, 8, generator, 0.5)
        return _q_table(name, table, traffic_states, lambda c: c, seed, rounds, episodes, report, **options)
    table = QTable(24, 4, generator, 0.8)
    return _q_table(name, table, energy_states, energy_switches, seed, rounds, episodes, report, **options)


def evaluate(name: str, policy: Policy, seeds: Sequence[int], **options: Any) -> dict[str, Floats]:
    """One episode for each seed: the mean reward of a step, and the mean of each observed quantity by its name."""
    env = _vector(name, len(seeds), **options)
    rewards, seen = _run(env, seeds, policy)
    names = [row[0] for row in env.quantities]
    env.close()
    return {"reward": rewards} | {quantity: seen[:, at].astype(np.float64) for at, quantity in enumerate(names)}
