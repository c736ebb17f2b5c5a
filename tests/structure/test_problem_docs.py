from __future__ import annotations

import re

from config.problem_kinds import OTHER_PROBLEMS, PROBLEMS
from tests.structure.source import ROOT

ROW = re.compile(r"^\| `/problems/([a-z0-9-]+)` \| (\d{3}) \| ([^|]+) \|", re.M)


def test_docs_list_every_problem_type_and_no_other():
    documented = ROW.findall((ROOT / "docs" / "problems.md").read_text())
    known = {
        (kind.slug, str(kind.status), kind.title)
        for kind in (*PROBLEMS.values(), *OTHER_PROBLEMS)
    }

    assert set(documented) == known
    assert len(documented) == len(known)
