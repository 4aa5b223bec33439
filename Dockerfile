# Builds the single executable for the machine's architecture.
FROM docker.io/library/node:26-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc LICENSE ./
RUN npm ci
COPY bin bin
COPY config config
COPY scripts/build-binary.ts scripts/bundle.ts scripts/
COPY src src
RUN npm run build:binary && mv dist/sterna-linux-* /usr/local/bin/sterna

FROM docker.io/library/debian:bookworm-slim
LABEL org.opencontainers.image.title="Sterna" \
  org.opencontainers.image.description="A self-hosted SMTP relay with an embedded email API" \
  org.opencontainers.image.licenses="MIT"
# libatomic is the only library of Node that the base lacks.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
  && useradd --uid 1000 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin sterna \
  && install --directory --owner sterna --group sterna --mode 700 /data
COPY --from=build /usr/local/bin/sterna /usr/local/bin/sterna
COPY --from=build /build/dist/sterna-licenses.txt /usr/share/doc/sterna/

ENV STERNA_DATA_DIR=/data
# What messages print in front of a command; set it where compose does not run it.
ENV STERNA_COMMAND="docker compose exec sterna sterna"
VOLUME /data
WORKDIR /data
# A number, so that Kubernetes can see that it is not root.
USER 1000:1000

# 8080 HTTP, 8443 HTTPS where http.tls_listen says so, 2587 and 2465 submission, 2525 what comes back
EXPOSE 8080 8443 2587 2465 2525
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["sterna", "health"]

ENTRYPOINT ["sterna"]
CMD ["serve"]
