"""What an organiser asks next is answered where it is asked, and nowhere else."""

import json

import numpy as np
import pytest

from podium.model import InputError
from podium.ranking.inference.questions import Questions
from podium.run import ranking_document_of, ranking_files

VALUES = np.random.default_rng(1).random((3, 20)) + 0.3 * np.arange(3)[:, None]
GROUPS = {f"c{case}": f"g{case % 2}" for case in range(20)}
EVERYTHING = Questions(plan=True, margin=0.1, groups=GROUPS, by="site")


def test_nothing_is_answered_that_nobody_asked(ranking_of):
    ranking = ranking_of(VALUES)
    assert ranking.answers == ()
    assert not {"plan", "margins", "subgroups"} & (set(ranking.tables) | set(ranking.document))


def test_everything_that_was_asked_is_in_tables_and_document(ranking_of):
    ranking = ranking_of(VALUES)
    usual = set(ranking_of(VALUES).tables)
    ranking.asked = EVERYTHING
    assert [answer.name for answer in ranking.answers] == ["plan", "margins", "subgroups"]
    assert set(ranking.tables) - usual == {"plan", "margins", "subgroups"}
    document = json.loads(json.dumps(ranking.document, allow_nan=False))
    for answer in ranking.answers:
        assert document[answer.name]["sentences"] == list(answer.sentences)
        assert answer.sentences
    assert {"plan.csv", "margins.csv", "subgroups.csv"} <= set(ranking_files(ranking))
    assert document["subgroups"]["by"] == "site"


def test_a_plan_and_subgroups_need_no_bootstrap_and_margins_do(ranking_of):
    ranking = ranking_of(VALUES, bootstrap=0)
    ranking.asked = Questions(plan=True, groups=GROUPS)
    assert set(ranking_files(ranking)) == {"plan.csv", "subgroups.csv"}
    assert {"plan", "subgroups", "entries"} <= set(ranking_document_of(ranking))
    ranking = ranking_of(VALUES, bootstrap=0)
    ranking.asked = Questions(margin=0.1)
    with pytest.raises(InputError, match="how sure a ranking is needs resamples"):
        ranking.answers  # noqa: B018


def test_a_ranking_answers_with_its_own_level_and_seed(ranking_of):
    ranking = ranking_of(VALUES, level=0.9, seed=5)
    assert (ranking.plan().level, ranking.plan().seed) == (0.9, 5)
    assert ranking.plan(chance=0.9).separations[0].wanted == 0.9
    assert ranking.margins(0.1).level == 0.9
    assert ranking.subgroups(GROUPS).seed == 5
