# Linkwright as a program in a container: docker build -t linkwright . && nvidia-smi topo -m |
# docker run -i --rm linkwright machine show -

FROM python:3.11-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
ARG RUST=1.95.0
RUN curl --proto '=https' --tlsv1.2 --fail --silent --show-error https://sh.rustup.rs \
    | sh -s -- -y --no-modify-path --profile minimal --default-toolchain "$RUST"
ENV PATH=/root/.cargo/bin:$PATH
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=build /wheels /wheels
# `--build-arg EXTRAS=` leaves out what a scheduler's prolog does not need.
ARG EXTRAS=[plot]
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)$EXTRAS" && rm -r /wheels
RUN useradd --create-home linkwright
USER linkwright
WORKDIR /home/linkwright
ENTRYPOINT ["linkwright"]
