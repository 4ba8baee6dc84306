# An evaluation container for grand-challenge.org: reads /input/predictions.json, writes /output/metrics.json.
# Build it with the challenge's name, and with the truth in ./ground-truth:
#   docker build --build-arg CHALLENGE=trackrad2025 --tag podium-evaluation .
ARG BASE=python:3.11-slim
FROM ${BASE}

ARG CHALLENGE
ENV CHALLENGE=${CHALLENGE} PYTHONUNBUFFERED=1

RUN groupadd --system evaluator && useradd --system --gid evaluator --create-home evaluator
WORKDIR /opt/podium
COPY pyproject.toml constraints.txt hatch_build.py README.md LICENSE ./
COPY src ./src
RUN python -m pip install --no-cache-dir --constraint constraints.txt .

COPY --chown=evaluator ground-truth /opt/ml/input/data/ground_truth
USER evaluator
# Kernels are compiled while the image is built, not while a submission waits.
RUN podium demo "$CHALLENGE" --no-report --out /tmp/warm-up && rm -rf /tmp/warm-up

ENTRYPOINT ["/bin/sh", "-c", "exec podium evaluate \"$CHALLENGE\" --grand-challenge \"$@\"", "podium"]
