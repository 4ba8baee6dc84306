"""A first challenge.toml, with comments: valid at once, and a start for one's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from unicodedata import combining, normalize

from podium.challenges.kinds.proposals import UNNAMED, Proposal, look_at_label_maps, look_at_table, look_at_tables
from podium.challenges.kinds.toml_files import DEFAULT_KIND, parse_challenge
from podium.challenges.kinds.toml_writing import toml_key, toml_value
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
    >>> plain_name("Läsionen im Hirn, 2027!")
    'lasionen-im-hirn-2027'
    """
    without_accents = "".join(letter for letter in normalize("NFKD", text.casefold()) if not combining(letter))
    return re.sub(r"[^a-z0-9_]+", "-", without_accents).strip("-_") or "my-challenge"


def draft_challenge(
    name: str,
    *,
    title: str = "",
    kind: str = DEFAULT_KIND,
    truth: str | Path | None = None,
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

    Examples
    --------
    >>> draft = draft_challenge("brain", labels={"tumor": 1})
    >>> parse_challenge(draft.text).labels
    {'tumor': 1}
    """
    if name != plain_name(name):
        raise InputError(
            f"a name has small letters, digits, - and _ only, not {name!r}",
            advice=f"Call it {plain_name(name)}; --title is for people",
        )
    if kind not in DRAFTED:
        raise InputError(f"there is no kind {kind!r}", advice=nearest(kind, DRAFTED))
    if labels and kind != DEFAULT_KIND:
        raise InputError(f"labels are for {DEFAULT_KIND}, and not for {kind}", advice="Leave --label out")
    if truth is not None and not Path(truth).is_dir():
        raise InputError("there is no such folder", path=truth, advice="Give the folder that holds the truth")
    body, look = DRAFTED[kind]
    proposal = look(Path(truth)) if truth is not None else Proposal()
    if labels:
        proposal = replace(proposal, labels=dict(labels), regions={})
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


def _files(proposal: Proposal, ending: str = "csv", part: str = "case") -> str:
    truth = proposal.truth or f"{{{part}}}.{ending}"
    known = re.findall(r"\{(\w+)\}", truth)[0]
    cluster = f"cluster = {toml_value(proposal.cluster)}" if proposal.cluster else f'# cluster = "{{{known}}}"'
    return f"""
[files]                       # {{{known}}} stands for what differs from file to file
truth = {toml_value(truth)}
prediction = {toml_value(proposal.prediction or truth)}
{cluster}          # what is resampled together, such as all scans of a patient
"""


def _one_table(proposal: Proposal) -> str:
    mark = "" if proposal.case else "# "
    return f"""
[files]                       # one table holds all cases: a first column with their names, then what is predicted
truth = {toml_value(proposal.truth or "truth.csv")}
prediction = "predictions.csv"
{mark}case = {toml_value(proposal.case or "{subject}_{visit}")}          # what names of cases are made of
{mark}cluster = "{{subject}}"     # what is resampled together, such as all visits of a patient
"""


def _segmentation(proposal: Proposal) -> str:
    labels = proposal.labels or {"structure": 1}
    names = list(labels)
    regions = (
        f"[regions]                     # several labels as one\n{_lines(proposal.regions)}"
        if (proposal.regions)
        else f"# [regions]                   # several labels as one\n# whole = {toml_value(names)}\n"
    )
    targets = [*proposal.regions, *(name for name in names if not UNNAMED.fullmatch(name))] or names
    return f"""{_files(proposal, "nii.gz")}
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


def _landmarks(proposal: Proposal) -> str:
    names = proposal.rows or ("apex", "base")
    failed = proposal.spread
    return f"""{_files(proposal)}
[points]                      # a table for each case: a line for each landmark, with its coordinates
names = {toml_value(names)}
axes = {toml_value(proposal.columns or ("x", "y", "z"))}
unit = "mm"

[[measure]]                   # `podium metrics` lists what can be measured
metric = "landmark_error"
failed = {failed:g}                  # what a landmark costs that is missing or cannot be used
# weight = {{ {", ".join(f"{toml_key(name)} = 1.0" for name in names)} }}
{_RANKING}
# [eligibility]               # who is ranked
# at_most = {{ {toml_key(f"landmark_error_{names[0]}")} = {failed / 2:g} }}
{_REST}"""


def _tracking(proposal: Proposal) -> str:
    ends = [column.rpartition("_") for column in proposal.columns if "_" in column]
    objects = list(dict.fromkeys(start for start, _, _ in ends)) or ["tip"]
    failed = proposal.spread
    return f"""{_files(proposal, part="video")}
[tracks]                      # a table for each video: a line for each frame, with columns such as {objects[0]}_x
objects = {toml_value(objects)}
axes = {toml_value(list(dict.fromkeys(axis for *_, axis in ends)) or ["x", "y"])}
unit = "px"

[[measure]]                   # `podium metrics` lists what can be measured
metric = "landmark_error"     # the mean distance over all frames
failed = {failed:g}                  # what a video costs that is missing or cannot be used
# weight = 2.0
{_RANKING}
# [eligibility]               # who is ranked
# at_most = {{ {toml_key(f"landmark_error_{objects[0]}")} = {failed / 2:g} }}
{_REST}"""


def _regression(proposal: Proposal) -> str:
    columns = proposal.columns or ("age",)
    failed = proposal.spread
    return f"""{_one_table(proposal)}
[table]
columns = {toml_value(columns)}
unit = ""

[[measure]]                   # `podium metrics` lists what can be measured
metric = "mean_absolute_error"
failed = {failed:g}                  # what a case costs that is missing or cannot be used

[[measure]]
metric = "bias"
decides = false               # shown, and not ranked
{_RANKING}
# [eligibility]               # who is ranked
# at_most = {{ {toml_key(f"mean_absolute_error_{columns[0]}")} = {failed / 2:g} }}
{_REST}"""


def _classification(proposal: Proposal) -> str:
    columns = proposal.columns or ("disease",)
    return f"""{_one_table(proposal)}
[classes]                     # 0 or 1 in the truth, a probability from 0 to 1 in predictions
columns = {toml_value(columns)}

[[measure]]                   # `podium metrics` lists what can be measured
metric = "area_under_roc"
failed = "wrong"              # a case that is missing counts as surely wrong
# weight = {{ {", ".join(f"{toml_key(name)} = 1.0" for name in columns)} }}

[[measure]]
metric = "expected_calibration_error"
decides = false               # shown, and not ranked
{_POOLED}
# [eligibility]               # who is ranked
# at_least = {{ {toml_key(f"area_under_roc_{columns[0]}")} = 0.5 }}
{_REST}"""


def _detection(proposal: Proposal) -> str:
    columns = [column for column in proposal.columns if column not in ("score", "radius")]
    boxes = bool(columns) and all(column.endswith(("1", "2")) for column in columns)
    axes = list(dict.fromkeys(column.rstrip("12") for column in columns)) if boxes else columns
    own_radius = "# " if boxes or "radius" in proposal.columns else ""
    reach = (
        "overlap = 0.5                 # the least intersection over union of a box that finds"
        if boxes
        else f"{own_radius}radius_mm = 5.0               # how near is found; else as the truth's column `radius` says"
    )
    return f"""{_files(proposal)}
[candidates]                  # a table for each case, a line for each finding; predictions have a column `score`
shape = "{"boxes" if boxes else "points"}"
axes = {toml_value(axes or ("x", "y", "z"))}
{reach}

[[measure]]                   # `podium metrics` lists what can be measured
metric = "froc_score"         # sensitivity at 1/8 to 8 false alarms a case
failed = "worst"              # nothing found, and as many false alarms as count
{_POOLED}
# [eligibility]               # who is ranked
# at_least = {{ froc_score = 0.1 }}
{_REST}"""


_POOLED = """
[ranking]                     # each measure ranks the teams, and ranks are averaged; or "weighted mean"
scheme = "mean rank"
"""

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

DRAFTED: Mapping[str, tuple[Callable[[Proposal], str], Callable[[Path], Proposal]]] = {
    "segmentation": (_segmentation, look_at_label_maps),
    "detection": (_detection, look_at_tables),
    "landmarks": (_landmarks, look_at_tables),
    "classification": (_classification, look_at_table),
    "regression": (_regression, look_at_table),
    "tracking": (_tracking, look_at_tables),
}
"""What writes the tables of each kind, and what looks at a folder of its truth."""
