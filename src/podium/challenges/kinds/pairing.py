"""Which prediction belongs to which reference: folders paired by the names of their files, with the rule in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TypeAlias

from podium.challenges.kinds.patterns import Pattern
from podium.io import SUFFIXES
from podium.model import InputError
from podium.model.errors import shortened

__all__ = ["LabelFiles", "Pairing", "pair_folders"]

_SEPARATOR = re.compile(r"[_\-–. /]+")
_MOST_TRIED = 4
_DEPTH = 2
_PICTURE = ".png"


@dataclass(frozen=True)
class LabelFiles:
    """The label maps in a folder: by what each is called without its ending, the endings that there are of it."""

    folder: Path
    endings: dict[str, tuple[str, ...]]

    @classmethod
    def within(cls, folder: Path, ending: str = "") -> LabelFiles:
        """Find the label maps of a folder, or where it has none, those of the folders in it.

        An ending, such as .nii.gz or _seg.nii.gz, leaves the others out. Pictures beside other label maps are previews.

        Raises
        ------
        InputError
            There are none.
        """
        if not folder.is_dir():
            what = "this is a file, and the other a folder" if folder.exists() else "there is no such folder"
            raise InputError(what, path=folder, advice="Give two folders, or two files")
        for depth in range(_DEPTH):
            names = sorted(
                path.relative_to(folder).as_posix()
                for path in folder.glob("/".join("*" * (depth + 1)))
                if path.is_file()
            )
            endings: dict[str, tuple[str, ...]] = {}
            for name in names:
                own = _ending_of(name)
                if own and name.endswith(ending) and not any(part.startswith(".") for part in name.split("/")):
                    stem = name.removesuffix(own)
                    endings[stem] = (*endings.get(stem, ()), own)
            others = {
                stem: maps
                for stem, every in endings.items()
                if (maps := tuple(one for one in every if one != _PICTURE))
            }
            if endings:
                return cls(folder, others or endings)
        kinds = Counter("".join(Path(path.name).suffixes[-2:]) for path in folder.iterdir() if path.is_file())
        there = f" (there are {shortened(sorted(kind or 'files without an ending' for kind in kinds), most=4)})"
        raise InputError(
            f"no label map {f'that ends in {ending} ' if ending else ''}is here{there if kinds else ''}",
            path=folder,
            advice=f"Label maps end in {', '.join(SUFFIXES)}",
        )

    def called(self, stem: str) -> str:
        """Return the name of the first file with a stem."""
        return stem + self.endings[stem][0]

    @property
    def kinds(self) -> Counter[str]:
        """Count the endings."""
        return Counter(ending for endings in self.endings.values() for ending in endings)


def _ending_of(name: str) -> str:
    """Return the ending of a label map; nothing for other files."""
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


@dataclass(frozen=True)
class _Affix:
    """What all names of a folder have before and after what tells cases apart."""

    before: str = ""
    after: str = ""

    def cores(self, stems: Sequence[str]) -> dict[str, str]:
        """Return the stems that have it, by what is left without it."""
        own = (stem for stem in stems if stem.startswith(self.before) and stem.endswith(self.after))
        cores = {stem[len(self.before) : len(stem) - len(self.after)]: stem for stem in own if len(stem) > len(self)}
        return {core: stem for core, stem in cores.items() if core}

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


@dataclass(frozen=True)
class Pairing:
    """Which files are pairs.

    Attributes
    ----------
    truth, prediction
        What references and predictions are called.
    case
        What a case is called.
    rule
        The same in words.
    pairs
        The file of the reference and of the prediction, by case.
    missing, extra
        References without a prediction, and predictions without a reference.
    """

    truth: Pattern
    prediction: tuple[Pattern, ...]
    case: Pattern
    rule: str
    pairs: dict[str, tuple[str, str]]
    missing: tuple[str, ...]
    extra: tuple[str, ...]


def pair_folders(references: LabelFiles, predictions: Sequence[LabelFiles]) -> list[Pairing]:
    """Pair a folder with others: by whole names, by names without their ending, or without what most begin or end with.

    The rule is taken under which there are most pairs; of several, the one that leaves out least.

    Raises
    ------
    InputError
        No names agree, or references have several endings.
    """
    if len(references.kinds) > 1:
        kinds = ", ".join(f"{count} {ending}" for ending, count in references.kinds.most_common())
        raise InputError(
            f"references have several endings ({kinds})", path=references.folder, advice="Say which: --ending .nii.gz"
        )
    own = list(references.endings)
    ways = ((one, [_best(one.cores(own), list(other.endings)) for other in predictions]) for one in _affixes(own))
    one, best = max(ways, key=lambda way: (min(map(_shared, way[1])), sum(map(_shared, way[1])), -_left_out(*way)))
    for two, files in zip(best, predictions, strict=True):
        if not _shared(two):
            raise InputError(
                f"no reference and prediction have a name in common: {references.called(own[0])} is in "
                f"{references.folder}, {files.called(next(iter(files.endings)))} in {files.folder}",
                advice="Name both alike, as case_1.nii.gz; only beginnings and endings such as _seg may differ; where "
                "other images lie beside the references, say which: --ending _seg.nii.gz",
            )
    return [_paired(references, files, one, *two) for two, files in zip(best, predictions, strict=True)]


_Way: TypeAlias = tuple[_Affix, frozenset[str]]


def _best(cores: Mapping[str, str], others: Sequence[str]) -> _Way:
    """Return what to leave out of the other names so that most of them are among the cores, and which."""
    ways = ((two, frozenset(cores.keys() & two.cores(others).keys())) for two in _affixes(others))
    return max(ways, key=lambda way: (_shared(way), -len(way[0])))


def _shared(way: _Way) -> int:
    return len(way[1])


def _left_out(one: _Affix, ways: Sequence[_Way]) -> int:
    return len(one) + sum(len(two) for two, _ in ways)


def _paired(references: LabelFiles, files: LabelFiles, one: _Affix, two: _Affix, pairs: frozenset[str]) -> Pairing:
    truths, guesses = one.cores(list(references.endings)), two.cores(list(files.endings))
    if len({"/" in core for core in truths}) > 1:
        raise InputError("some files lie in folders and some do not", path=references.folder)
    core = "{folder}/{case}" if "/" in next(iter(truths)) else "{case}"
    (ending,) = references.kinds
    endings = [kind for kind, _ in files.kinds.most_common()]
    try:
        truth = Pattern(f"{one.before}{core}{one.after}{ending}")
        patterns = tuple(Pattern(f"{two.before}{core}{two.after}{kind}") for kind in endings)
    except ValueError as error:
        raise InputError(str(error), path=references.folder) from None
    return Pairing(
        truth,
        patterns,
        Pattern(core.replace("/", "_")),
        _in_words(one, two, ending, endings),
        {
            name.replace("/", "_"): (references.called(truths[name]), files.called(guesses[name]))
            for name in sorted(pairs)
        },
        tuple(references.called(stem) for name, stem in truths.items() if name not in pairs),
        tuple(files.called(stem) for stem in files.endings if stem not in {guesses[name] for name in pairs}),
    )


def _affixes(stems: Sequence[str]) -> list[_Affix]:
    """Return what most names may have before and after what tells cases apart, nothing first."""
    least = max(2, len(stems) // 2 + 1) if len(stems) > 1 else 1
    before = Counter(stem[: cut.end()] for stem in stems for cut in _SEPARATOR.finditer(stem))
    after = Counter(stem[cut.start() :] for stem in stems for cut in _SEPARATOR.finditer(stem))
    return [_Affix(*both) for both in product(_usual(before, least), _usual(after, least))]


def _usual(counts: Counter[str], least: int) -> Iterator[str]:
    yield ""
    usual = [text for text, count in counts.items() if count >= least]
    yield from sorted(usual, key=len)[:_MOST_TRIED]


def _in_words(one: _Affix, two: _Affix, ending: str, endings: Sequence[str]) -> str:
    words = "by file name"
    if one != two:
        left = [f"{text!r}" for text in (one.before, one.after, two.before, two.after) if text]
        words = f"by file name without {' and '.join(dict.fromkeys(left))}"
    if list(endings) != [ending]:
        words += f", whatever the ending ({', '.join(dict.fromkeys([ending, *endings]))})"
    return words
