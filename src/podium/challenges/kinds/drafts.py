"""A first challenge.toml, with comments: valid at once, and a start for one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from podium.challenges.kinds.proposals import Proposal, look_at_label_maps
from podium.challenges.kinds.toml_files import DEFAULT_KIND, parse_challenge
from podium.challenges.kinds.toml_text import toml_key, toml_value
from podium.model import InputError
from podium.model.errors import nearest

__all__ = ["DRAFTED", "Draft", "draft_challenge", "plain_name"]


@dataclass(frozen=True)
class Draft:
    """A challenge.toml to be, and what a person should know about it."""

    text: str
    remarks: tuple[str, ...] = field(default=())


def plain_name(text: str) -> str:
    """Return a name that a challenge may have.

    Examples
    --------
    >>> plain_name("Brain lesions, 2027!")
    'brain-lesions-2027'
    """
    return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-_") or "my-challenge"


def draft_challenge(
    name: str,
    *,
    title: str = "",
    kind: str = DEFAULT_KIND,
    truth: Path | None = None,
    labels: Mapping[str, int] | None = None,
) -> Draft:
    """Return a challenge.toml with comments.

    Parameters
    ----------
    name, title
        Of the challenge; the title is the name unless given.
    kind
        What is predicted.
    truth
        A folder of truth to look at: patterns and labels follow from it.
    labels
        The number of each label; by default those of the truth.
    """
    if kind not in DRAFTED:
        raise InputError(f"there is no kind {kind!r}", advice=nearest(kind, DRAFTED))
    body, look = DRAFTED[kind]
    if truth is not None and look is None:
        raise InputError(f"nothing can be told of {kind} from a folder of truth yet", advice="Leave --truth out")
    proposal = look(truth) if truth is not None and look is not None else Proposal()
    if labels:
        proposal = Proposal(proposal.truth, proposal.prediction, proposal.cluster, proposal.cases, dict(labels))
    about = {"name": name, "title": title or name, "kind": kind}
    text = _HEAD + "".join(f"{key} = {toml_value(value)}\n" for key, value in about.items()) + body(proposal)
    parse_challenge(text)
    counted = (f"{proposal.cases} files are called like {proposal.truth}.",) if proposal.cases else ()
    return Draft(text, (*counted, *proposal.remarks))


_HEAD = """\
# A challenge in one page. What stands behind # is for you; delete a # to use the line.
#   podium challenges challenge.toml     what participants are told
#   podium demo challenge.toml           everything once, with made-up data

[challenge]
"""


def _lines(table: Mapping[str, object]) -> str:
    return "".join(f"{toml_key(name)} = {toml_value(value)}\n" for name, value in table.items())


def _files(proposal: Proposal) -> str:
    cluster = f"cluster = {toml_value(proposal.cluster)}" if proposal.cluster else ""
    known = re.findall(r"\{(\w+)\}", proposal.truth)[0]
    return f"""
[files]                       # {{{known}}} stands for what differs from file to file
truth = {toml_value(proposal.truth)}
prediction = {toml_value(proposal.prediction)}
{cluster or f'# cluster = "{{{known}}}"'}          # what is resampled together, such as all scans of a patient
"""


def _segmentation(proposal: Proposal) -> str:
    labels = proposal.labels or {"structure": 1}
    names = list(labels)
    regions = (
        f"[regions]                     # several labels as one\n{_lines(proposal.regions)}"
        if (proposal.regions)
        else f"# [regions]                   # several labels as one\n# whole = {toml_value(names)}\n"
    )
    targets = list(proposal.regions) or names
    return f"""{_files(proposal)}
[labels]                      # the number of each; 0 is background
{_lines(labels)}
{regions}
[[measure]]                   # `podium metrics` lists what can be measured
metric = "dice"
of = {toml_value(targets)}
failed = 0                    # what a case costs that is missing or cannot be used

[[measure]]
metric = "hausdorff_distance"
percentile = 95.0
of = {toml_value(targets)}
failed = "image diagonal"
# weight = 0.5                # counts half as much
{_RANKING}
# [eligibility]               # who is ranked
# at_least = {{ {toml_key(f"dice_{targets[0]}")} = 0.1 }}
{_REST}"""


_RANKING = """
[ranking]                     # each measure ranks the teams, and ranks are averaged; or "rank then mean",
scheme = "mean rank"          # "test then rank", "weighted mean"
# test = { alpha = 0.05, adjustment = "holm" }      # only significant differences count
"""

_REST = """
# [time]                      # seconds of each case, from timing.csv
# limit_seconds = 600.0

# [words]
# page = "https://example.org"
# summary = "What is asked for, and how places are made, in a paragraph."
# cluster = ["patient", "patients"]
"""

DRAFTED: Mapping[str, tuple[Callable[[Proposal], str], Callable[[Path], Proposal] | None]] = {
    "segmentation": (_segmentation, look_at_label_maps),
}
"""What writes the tables of each kind, and what looks at a folder of its truth."""
