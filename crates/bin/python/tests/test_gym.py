"""The environments of ferric.gym."""

import os
import pathlib
import subprocess
import sys
import threading
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ferric
import ferric.gym
from ferric.gym import agents, environments

NAMES = ["Slicing", "TrafficControl", "LoadBalancing", "EnergySaving"]
DOCUMENT = pathlib.Path(__file__).parents[4] / "docs" / "gymnasium.md"


def single(name, **options):
    return getattr(environments, f"{name}Env")(**options)


def vector(name, count, **options):
    return getattr(environments, f"{name}VectorEnv")(count, **options)


def course(env, seed, steps):
    """Observations and rewards with random actions."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    seen = [observation]
    for _ in range(steps):
        observation, reward, terminated, _, info = env.step(env.action_space.sample())
        assert not terminated and observation in env.observation_space and info["time_s"] > 0
        seen.append(np.append(observation, reward))
    return np.concatenate(seen)


@pytest.mark.parametrize("name", NAMES)
def test_check_env_has_no_complaint(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(f"ferric/{name}-v0").unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_gives_the_same_episode(name):
    first = course(single(name), 5, 8)
    np.testing.assert_array_equal(course(single(name), 5, 8), first)
    assert not np.array_equal(course(single(name), 6, 8), first)


@pytest.mark.parametrize("name", NAMES)
def test_vector_has_the_results_of_single_environments(name):
    """With any number of threads, and over the end of an episode."""
    results = []
    for threads in (1, 3):
        env = vector(name, 3, threads=threads, episode_steps=4)
        env.action_space.seed(9)
        rows = [env.reset(seed=7)[0]]
        for step in range(9):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            assert truncated.all() == (step in (3, 8)) and not terminated.any()
            rows += [observation, reward[:, None]]
        results.append(np.concatenate(rows, axis=1))
        env.close()
    np.testing.assert_array_equal(results[0], results[1])
    for at in range(3):
        alone, together = single(name, episode_steps=4), vector(name, 3, episode_steps=4)
        action = alone.action_space.sample()
        expected = alone.reset(seed=7 + at)[0]
        np.testing.assert_array_equal(together.reset(seed=7)[0][at], expected)
        for _ in range(4):
            observation, reward, _, truncated, _ = alone.step(action)
            observations, rewards, _, _, _ = together.step(np.stack([action] * 3))
            np.testing.assert_array_equal(observations[at], observation)
            assert rewards[at] == reward
        # the step after the end begins an episode, with the next seed of the environment
        assert truncated
        observations, rewards, _, truncations, _ = together.step(np.stack([action] * 3))
        np.testing.assert_array_equal(observations[at], alone.reset()[0])
        assert rewards[at] == 0 and not truncations.any()


def test_gymnasium_makes_vectors():
    env = gymnasium.make_vec("ferric/Slicing-v0", num_envs=2, threads=2)
    observations, infos = env.reset(seed=1)
    assert observations.shape == (2, 15) and infos["time_s"].shape == (2,)
    env.step(env.action_space.sample())
    env.close()
    env = gymnasium.make_vec("ferric/Slicing-v0", num_envs=2, vectorization_mode="sync")
    np.testing.assert_array_equal(env.reset(seed=1)[0], observations)
    env.close()


def test_controls_have_their_effect():
    slicing = single("Slicing")
    slicing.reset(seed=1)
    observation = slicing.step(np.array([0.0, 0.0, 1.0]))[0]
    shares = observation.reshape(3, 5)[:, 4]
    np.testing.assert_allclose(shares, [2, 2, 96], atol=0.11)
    usages = [slicing.step(np.array([0.0, 0.0, 1.0]))[0].reshape(3, 5)[2, 1] for _ in range(20)]
    assert np.mean(usages) > 90, "the third slice has nearly the whole cell"

    traffic = single("TrafficControl")
    largest = []
    for choice in (0, 3):
        traffic.reset(seed=1)
        largest.append(np.max([traffic.step(choice)[0] for _ in range(100)], axis=0))
    delay = [row[0] for row in traffic.quantities].index("delay of the call")
    assert largest[1][delay] < largest[0][delay] / 2, "a queue of its own and the pacer"

    energy = single("EnergySaving")
    energy.reset(seed=1)
    for _ in range(10):
        observation = energy.step(np.array([0, 0, 0, 1]))[0]
    powers, ues = observation.reshape(4, 6)[:, 4], observation.reshape(4, 6)[:, 1]
    assert powers[3] < 50 < powers[0] and ues[3] == 0 and ues.sum() == pytest.approx(16, abs=0.1)

    balancing = single("LoadBalancing")
    served = []
    for level in (0.0, 1.0):
        total = 0.0
        for seed in range(3):
            observation, _ = balancing.reset(seed=seed)
            for _ in range(20):
                # the cell with the most active UEs hands them over earlier
                crowd = observation.reshape(3, 5)[:, 1].argmax() if level else 0
                levels = np.full(3, level)
                levels[crowd] = -level
                observation, reward, _, _, _ = balancing.step(levels)
                total += reward
        served.append(total)
    assert served[1] > served[0]


def test_wrong_arguments_are_refused():
    env = single("Slicing")
    Invalid = ferric.errors.Invalid
    with pytest.raises(Invalid, match="reset before it"):
        env.step(np.zeros(3))
    env.reset(seed=1)
    for action in ([0.1, 0.2], [0.1, 0.2, 1.1], [0.1, 0.2, float("nan")], "abc", None, [[0.1, 0.2, 0.3]]):
        with pytest.raises(Invalid) as caught:
            env.step(action)
        assert caught.value.parameter == "action"
    for name, action in [("TrafficControl", 8), ("TrafficControl", 0.5), ("EnergySaving", [0, 0, 0, 2])]:
        other = single(name)
        other.reset(seed=1)
        with pytest.raises(Invalid):
            other.step(action)
    with pytest.raises(Invalid, match="step_ms"):
        single("Slicing", step_ms=0.5)
    with pytest.raises(Invalid, match="episode_steps"):
        single("Slicing", episode_steps=0)
    with pytest.raises(Invalid, match="render_mode"):
        single("Slicing", render_mode="human")
    with pytest.raises(Invalid, match="num_envs"):
        vector("Slicing", 0, threads=1)
    with pytest.raises(Invalid, match="threads"):
        vector("Slicing", 2, threads=0)
    with pytest.raises(Invalid, match="seed"):
        vector("Slicing", 2).reset(seed=[1])
    with pytest.raises(Invalid, match="kind"):
        ferric._ferric.Environment("nothing", step_ms=10, episode_steps=1)
    pair = vector("Slicing", 2)
    pair.reset(seed=1)
    with pytest.raises(Invalid, match="rows"):
        pair.step(np.zeros((3, 3)))
    before = pair.step(np.zeros((2, 3)))[4]["time_s"]
    with pytest.raises(Invalid):
        pair.step(np.array([[0.1, 0.1, 0.1], [0.1, 0.1, 2.0]]))
    assert (pair._environments.time_s == before).all(), "no environment steps if one action is wrong"


def test_scenarios_of_users(tmp_path):
    text = environments.SlicingEnv.scenario_text()
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("capacity_percent = 40", "capacity_percent = 30"))
    env = gymnasium.make("ferric/Slicing-v0", scenario=str(file))
    assert env.reset(seed=1)[0].reshape(3, 5)[0, 4] == pytest.approx(30)
    with pytest.raises(ferric.errors.Invalid, match="2 to 8 slices"):
        single("Slicing", scenario="[[cell]]\n")
    with pytest.raises(ferric.errors.Invalid, match="kind voip"):
        single("TrafficControl", scenario="[[cell]]\n")
    with pytest.raises(ferric.errors.Invalid, match="2 to 64 cells"):
        single("LoadBalancing", scenario="[[cell]]\n")
    with pytest.raises(ferric.errors.Invalid, match="a3_offset_db"):
        single("EnergySaving", scenario="[[cell]]\ncount = 2\n")
    with pytest.raises(ValueError, match="line 2"):
        single("Slicing", scenario="[[cell]]\nnonsense = 1\n")


def test_episode_ends_and_closed_environments_say_so():
    env = single("Slicing", episode_steps=2)
    env.reset(seed=1)
    assert not env.step(np.ones(3))[3]
    assert env.step(np.ones(3))[3]
    with pytest.raises(ferric.errors.Invalid, match="the episode has ended"):
        env.step(np.ones(3))
    pair = vector("Slicing", 2)
    for closed in (env, pair):
        closed.close()
        closed.close()
        with pytest.raises(ferric.errors.Closed):
            closed.reset(seed=1)


def test_environment_works_in_another_thread():
    env, expected = single("Slicing"), course(single("Slicing"), 3, 5)
    env.reset(seed=1)
    results = []
    thread = threading.Thread(target=lambda: results.append(course(env, 3, 5)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(results[0], expected)


def test_forked_child_steps_one_environment_but_no_vector():
    env, pair = single("Slicing"), vector("Slicing", 2, threads=2)
    expected = course(env, 3, 2)
    pair.reset(seed=1)
    child = os.fork()
    if child == 0:
        try:
            same = np.array_equal(course(env, 3, 2), expected)
            try:
                pair.step(np.zeros((2, 3)))
            except ferric.errors.Forked:
                del pair
                os._exit(0 if same else 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    pair.step(np.zeros((2, 3)))


def test_gymnasiums_processes_step_environments():
    env = gymnasium.make_vec("ferric/Slicing-v0", num_envs=2, vectorization_mode="async")
    assert env.reset(seed=1)[0].shape == (2, 15)
    env.step(env.action_space.sample())
    env.close()


def test_program_may_end_with_open_environments():
    code = """
import ferric.gym, numpy as np
env = ferric.gym.SlicingVectorEnv(4, threads=2)
env.reset(seed=1)
print(env.step(np.zeros((4, 3)))[1].shape)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and ended.stdout == "(4,)\n" and ended.stderr == "", ended.stderr


def test_without_gymnasium_the_import_says_what_to_install():
    code = "import sys; sys.modules['gymnasium'] = None; import ferric.gym"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install 'ferric[gym]'" in ended.stderr


def test_callback_that_raises_ends_the_training():
    def report(number, reward):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        agents.train("Slicing", rounds=2, episodes=1, episode_steps=5, report=report)
    # the environments of the training are freed: another one begins anew
    agents.train("Slicing", rounds=1, episodes=1, episode_steps=5)


@pytest.mark.parametrize(
    ("name", "rounds", "episodes", "steps"),
    [("Slicing", 4, 1, 300), ("TrafficControl", 10, 4, 50), ("EnergySaving", 6, 4, 40)],
)
def test_short_training_beats_the_baseline(name, rounds, episodes, steps):
    """Fixed seeds: other ones judge."""
    seeds = range(1000, 1004)
    policy = agents.train(name, seed=1, rounds=rounds, episodes=episodes, episode_steps=steps)
    learned = agents.evaluate(name, policy, seeds, episode_steps=steps)["reward"].mean()
    shipped = agents.evaluate(name, agents.baseline(name), seeds, episode_steps=steps)["reward"].mean()
    assert learned > shipped


def test_short_training_of_load_balancing_beats_the_baseline():
    seeds = range(1000, 1004)
    policy = agents.train("LoadBalancing", seed=1, rounds=2, episodes=1, episode_steps=15)
    learned = agents.evaluate("LoadBalancing", policy, seeds, episode_steps=15)["reward"].mean()
    shipped = agents.evaluate("LoadBalancing", agents.baseline("LoadBalancing"), seeds, episode_steps=15)
    assert learned > shipped["reward"].mean()


def test_training_is_repeatable():
    def curve():
        rewards = []
        agents.train("TrafficControl", seed=3, rounds=3, episodes=2, episode_steps=10, report=lambda _, r: rewards.append(r))
        return rewards

    assert curve() == curve()


@pytest.mark.parametrize("name", NAMES)
def test_baseline_leaves_the_scenario_as_it_is(name):
    env = vector(name, 1)
    observation, _ = env.reset(seed=1)
    settings = [
        at for at, row in enumerate(env.quantities) if row[0].endswith(("share", "bias", "sleep", "queue", "pacer", "CoDel"))
    ]
    after = env.step(agents.baseline(name)(observation))[0]
    np.testing.assert_allclose(after[0, settings], observation[0, settings], atol=0.11)


@pytest.mark.parametrize("name", NAMES)
def test_document_lists_the_quantities(name):
    text = DOCUMENT.read_text()
    assert f"ferric/{name}-v0" in text
    for quantity, unit, _, _ in single(name).quantities:
        words = quantity.split()
        # of the first slice or cell
        base = " ".join(words[2:]) if words[0] in ("slice", "cell") else quantity
        assert f"| {base} | {unit} |" in text.replace("`", ""), quantity
