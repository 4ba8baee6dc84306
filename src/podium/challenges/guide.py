"""What a participant must know of a challenge, from what it declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote
from typing import Any

from podium.challenges.kinds import DeclaredChallenge
from podium.model import Challenge, Measure
from podium.run.unpacking import Limits

__all__ = ["Section", "guide_to", "options_of"]


@dataclass(frozen=True)
class Section:
    """A heading, and lines; `verbatim` where these are not to be filled."""

    title: str
    lines: tuple[str, ...]
    verbatim: bool = False


def guide_to(challenge: Challenge, *, called: str) -> tuple[Section, ...]:
    """Return all that a participant must know, under headings: from what to send to commands.

    Parameters
    ----------
    challenge
        Any.
    called
        What commands call it: its name, or the path of its challenge.toml.
    """
    sections = (
        Section("What to send", tuple(_tree(challenge)), verbatim=True),
        Section("What is in it", challenge.contents),
        Section("What algorithms are given", tuple(_given(challenge))),
        Section("What is measured", tuple(_measured(challenge))),
        Section("How places are made", challenge.placing),
        Section("Limits", tuple(_limits(challenge))),
        Section("Options", tuple(f"{how}: {what}" for how, what in options_of(challenge))),
        Section("Commands", tuple(_commands(challenge, called)), verbatim=True),
    )
    return tuple(section for section in sections if section.lines)


def _tree(challenge: Challenge) -> Iterator[str]:
    declared = challenge.files.prediction if isinstance(challenge, DeclaredChallenge) else ()
    patterns = {pattern.anything: str(pattern) for pattern in declared}
    names = [patterns.get(name, name) for name in challenge.naming]
    rows: list[tuple[str, str]] = [("my-team/", "a folder, or my-team.zip or my-team.tar.gz of it")]
    if not names:
        rows.append(("  …", "as podium check --truth names it"))
    one_for_all = bool(challenge.single_files) or (bool(declared) and not declared[0].parts)
    what = f"one file with every {challenge.row_words[0]}" if one_for_all else f"one for each {challenge.row_words[0]}"
    rows += [(f"  {name}", what if place == 0 else "or this instead") for place, name in enumerate(names)]
    times = "seconds of each, with lines case,seconds"
    rows.append(("  timing.csv", times if challenge.counts_time else f"may be there: {times}"))
    rows += [(name, "or this file alone; * is the team") for name in challenge.single_files]
    width = max(len(name) for name, _ in rows) + 3
    return (f"{name:<{width}}{words}" for name, words in rows)


def _given(challenge: Challenge) -> Iterator[str]:
    if isinstance(challenge, DeclaredChallenge) and challenge.files.inputs:
        yield f"Of each case, and of no other: {', '.join(map(str, challenge.files.inputs))}."
        line = ", a table with a line for the case" if not challenge.files.answers[0].parts else ""
        yield f"An answer is called {' or '.join(map(str, challenge.files.answers))}{line}."


def _measured(challenge: Challenge) -> Iterator[str]:
    if isinstance(challenge, DeclaredChallenge):
        for quantity in challenge.quantities:
            measure = challenge.measure_of(quantity)
            pooled = challenge.pooled(quantity) and challenge.measures[0].price is not None
            price = challenge.measures[0].price if pooled and isinstance(quantity.failed, str) else measure.price
            yield _line(measure, quantity.options, "" if price is None else price.words)
        return
    for measure in challenge.measures:
        if measure.judges and not measure.optional:
            options = next(iter(measure.options.values()), {}) if len(measure.options) == 1 else {}
            options = options or _by_target(measure)
            yield _line(measure, options, "" if measure.price is None else measure.price.words)


def _by_target(measure: Measure) -> dict[str, Any]:
    keys = dict.fromkeys(key for own in measure.options.values() for key in own)
    return {key: {target: own[key] for target, own in measure.options.items() if key in own} for key in keys}


def _line(measure: Measure, options: Any, price: str) -> str:
    low, high = (f"{end:g}".replace("inf", "∞").replace("-", "−") for end in (measure.minimum, measure.maximum))
    unit = f" {measure.unit}" if measure.unit else ""
    targets = ", ".join(target.replace("_", " ") for target in measure.targets if target)
    words = [f"{measure.title}{f' of {targets}' if targets else ''}: {low} to {high}{unit}, {measure.direction.value}"]
    words += [f"{key.replace('_', ' ')} {_shown(value)}" for key, value in options.items()]
    words += [f"a failed case: {price}"] if price else []
    words += [] if measure.decides and measure.judges else ["shown, and not ranked"]
    return "; ".join(words) + "."


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_shown(own)} ({target.replace('_', ' ')})" for target, own in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _limits(challenge: Challenge) -> Iterator[str]:
    limits = Limits()
    yield (
        f"At most {limits.entries:,} files and folders, {limits.prediction_bytes / 2**30:g} GiB for a prediction, "
        f"{limits.unpacked_bytes / 2**30:g} GiB unpacked, unless the organiser says otherwise. No links."
    )
    if isinstance(challenge, DeclaredChallenge) and challenge.timing.limit_seconds is not None:
        row = challenge.row_words[0]
        yield f"At most {challenge.timing.limit_seconds:g} s for each {row} on average, by your timing.csv."


def options_of(challenge: Challenge) -> Iterator[tuple[str, str]]:
    """Yield the options of a challenge, as they are given on the command line, and what each means."""
    fields = type(challenge).model_fields
    if len(challenge.editions) > 1:
        yield f"--rules {' or '.join(challenge.editions)}", str(fields["edition"].description)
    for name in challenge.option_names():
        default = fields[name].get_default(call_default_factory=True)
        shown = f" (by default {default})" if default not in (None, "", ()) else ""
        yield f"--option {name}=…{shown}", " ".join((fields[name].description or "").split())


def _commands(challenge: Challenge, called: str) -> Iterator[str]:
    called = quote(called)
    yield f"podium check {called} my-team                  # would it be accepted?"
    yield f"podium check {called} my-team --truth TRUTH    # and is anything missing?"
    yield f"podium evaluate {called} --truth TRUTH --submissions TEAMS --out run"
    yield "podium report run"
    if challenge.has_demo:
        yield f"podium demo {called}                           # all of it, with made-up data"
    if challenge.interface is not None:
        yield f"podium run {called} --help                     # run and time an algorithm"
