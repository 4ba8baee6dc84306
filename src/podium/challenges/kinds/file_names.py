"""How the files of a declared challenge are called, and which cases they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, NoReturn, TypeAlias

from pydantic import BeforeValidator, WithJsonSchema, field_validator, model_validator

from podium.challenges.kinds.declarations import DeclaredTable, Misdeclared
from podium.challenges.kinds.patterns import Pattern
from podium.model import Case, InputError
from podium.model.errors import nearest

__all__ = ["FileNames"]

Patterns: TypeAlias = Annotated[
    tuple[Pattern, ...],
    BeforeValidator(lambda given: (given,) if isinstance(given, str | Pattern) else given),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]


class FileNames(DeclaredTable):
    """How files are called, with named parts: `{subject}_{visit}_seg.nii.gz`."""

    truth: Pattern
    """The truth of a case, seen from the folder of the truth."""
    prediction: Patterns
    """Its prediction, seen from the folder of a team; of several, the first is the usual one."""
    case: Pattern | None = None
    """What a case is called; by default the usual prediction without its ending."""
    cluster: Pattern | None = None
    """What cases are drawn with when they are resampled, such as `{subject}`; by default each by itself."""
    stratum: Pattern | None = None
    """What is resampled for itself, such as `{hospital}`; by default all together."""
    only: tuple[str, ...] = ()
    """The names of the cases that count; by default all that are there."""
    inputs: Patterns = ()
    """What algorithms are given of a case, as it is, seen from the folder of inputs: for `podium run` alone."""

    @field_validator("prediction")
    @classmethod
    def _is_called(cls, prediction: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
        if not prediction:
            raise Misdeclared("no name of a prediction is given", advice='Write for example "{case}.nii.gz"')
        return prediction

    @model_validator(mode="after")
    def _parts_are_known(self) -> FileNames:
        known = self.truth.parts
        if not known:
            raise Misdeclared(
                f"{self.truth} has no part that tells cases apart", "truth", advice='Write for example "{case}.nii.gz"'
            )
        named = {"prediction": self.prediction, "case": (self.case_name,), "cluster": (self.cluster,)}
        named |= {"stratum": (self.stratum,), "inputs": self.inputs}
        for key, patterns in named.items():
            for pattern in (pattern for pattern in patterns if pattern is not None):
                if unknown := pattern.lacks(known):
                    raise Misdeclared(
                        f"{{{unknown[0]}}} is no part of truth = {self.truth.text!r}",
                        key,
                        advice=f"Its parts are: {', '.join(known)}",
                    )
                if not pattern.parts:
                    self.refuse_constant(key, pattern, known)
                if key in ("prediction", "case", "inputs") and (
                    lost := [part for part in known if part not in pattern.parts]
                ):
                    raise Misdeclared(
                        f"{pattern} does not tell cases apart that differ in {{{lost[0]}}}",
                        key,
                        advice=f"Name every part of truth = {self.truth.text!r}",
                    )
        self.check_inputs()
        return self

    def check_inputs(self) -> None:
        """Refuse inputs that could be the truth, and answers that a folder of predictions cannot hold side by side."""
        for pattern in self.inputs:
            if self.truth.match(pattern.fill({part: part for part in pattern.parts})) is not None:
                problem, advice = f"{pattern} could be a truth, which no algorithm may see", "images/{case}.nii.gz"
                raise Misdeclared(problem, "inputs", advice=f'Name folders or endings that differ, as in "{advice}"')
        if self.inputs and not self.answers:
            raise Misdeclared(
                f"answers of algorithms lie in one folder, unlike {self.prediction[0]}",
                "inputs",
                advice="Add a name without folders to prediction",
            )

    @property
    def answers(self) -> tuple[Pattern, ...]:
        """How an algorithm may call its answer: like a prediction that lies in no folder."""
        return tuple(pattern for pattern in self.prediction if "/" not in pattern.text)

    @model_validator(mode="after")
    def _some_count(self) -> FileNames:
        if "only" in self.model_fields_set and not self.only:
            raise Misdeclared("no case counts", "only", advice="Name some, or leave it out for all")
        return self

    @staticmethod
    def refuse_constant(key: str, pattern: Pattern, known: Collection[str]) -> NoReturn:
        """Refuse what is the same for all cases, as where braces were forgotten."""
        own = pattern.text if pattern.text in known else next(iter(known))
        raise Misdeclared(
            f"{key} is {pattern.text!r} for all cases alike", key, advice=f'Write {key} = "{{{own}}}", with its braces'
        )

    @property
    def case_name(self) -> Pattern:
        """What a case is called."""
        return self.case or self.prediction[0].stem

    def cases(self, folder: Path) -> list[Case]:
        """Find the cases that count, by the files of the truth; refuse names that do not tell cases apart."""
        cases: dict[str, Case] = {}
        predicted: dict[str, str] = {}
        for parts, path in self.truth.files(folder):
            name = self.case_name.fill(parts)
            if name in cases:
                raise InputError(f"this and {cases[name].files[0].name} are both called {name}", path=path)
            self.check_row(name, path, parts)
            cases[name] = Case(name, (path,), tuple(pattern.fill(parts) for pattern in self.prediction))
            for expected in cases[name].expected:
                if wild := next((character for character in "*?[" if character in expected), None):
                    raise InputError(f"{wild!r} is in a name", path=path, advice="Rename the files of this case")
                if (other := predicted.setdefault(expected, name)) != name:
                    raise InputError(f"{expected} would be the prediction of {other} and of {name}", path=path)
        if not cases:
            raise InputError(f"no file is called like {self.truth}", path=folder, advice="Is this the truth?")
        if lost := [name for name in self.only if name not in cases]:
            raise InputError(f"there is no case {lost[0]!r}", path=folder, advice=nearest(lost[0], cases))
        return [cases[name] for name in sorted(self.only or cases)]

    def check_row(self, row: str, path: Path, parts: Mapping[str, str] | None = None) -> None:
        """Refuse a name that does not tell of which cluster and stratum a row is: later only its name does."""
        if self.cluster is None and self.stratum is None:
            return
        try:
            self.case_name.single_match(row, path)
        except InputError as error:
            if parts is None:
                raise
            between = next(text for text in ("-", "--", "+", "~", "=", "__") if text not in "".join(parts.values()))
            advice = f'Write case = "{between.join(f"{{{part}}}" for part in self.case_name.parts)}" in [files]'
            raise InputError(f"the case is called {row}, and {error.problem}", path=path, advice=advice) from None
