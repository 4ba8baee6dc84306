"""What a paper about a ranking needs: figures at column width, tables, a methods section, references."""

from podium.report.paper.assembling import write_paper

__all__ = ["write_paper"]
